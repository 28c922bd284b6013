"""What happens to a page while one operation runs, and until it has come to rest."""

from __future__ import annotations

import asyncio
import time

from typing import Any, Literal

import attrs

from toolcrib import ArtifactLink


__all__ = ["Happening", "Moment", "way_to"]

Kind = Literal["navigated", "moved", "blocked", "dialog", "popup", "download", "ended", "note"]

_MOST = 40
_FILES = 8


@attrs.frozen(kw_only=True)
class Happening:
    """One thing that happened.

    Attributes:
        kind: ``navigated`` a new document; ``moved`` the same one under another address;
            ``blocked`` a navigation that was not let through; ``ended`` one that led to
            no document; ``popup``, ``dialog``, ``download``, ``note``.
        text: The same in words, page text in it already harmless.
        origin: Of a blocked navigation or popup: which origin it wanted.
        url: Where to.
        page: Of a popup that stayed: its id.
        artifact: Of a download that was kept.
    """

    kind: Kind
    text: str
    origin: str = ""
    url: str = ""
    page: str = ""
    artifact: ArtifactLink | None = None


class Moment:
    """One operation's look at what its page does.

    Attributes:
        started: When, on the monotonic clock.
        accept: Whether a dialog that comes up is accepted; it is dismissed otherwise.
        files: Whether files are being uploaded, so that the page may ask for them.
        dialog_text: What is typed into a prompt that is accepted.
        happened: What happened, in order.
        downloads: Downloads that began.
        committed: Whether a new document came.
    """

    def __init__(
        self, *, accept: bool = False, dialog_text: str | None = None, files: bool = False
    ) -> None:
        self.started = time.monotonic()
        self.accept = accept
        self.files = files
        self.dialog_text = dialog_text
        self.happened: list[Happening] = []
        self.downloads: list[Any] = []
        self.committed = False
        self._going = False
        self._windows = 0
        self._saving = 0
        self._changed = asyncio.Event()

    def tell(self, happening: Happening) -> None:
        """Note what happened; of very much only the first things."""
        if len(self.happened) < _MOST or happening.kind == "blocked":
            self.happened.append(happening)
        elif len(self.happened) == _MOST:
            words = "more happened, of which this does not tell"
            self.happened.append(Happening(kind="note", text=words))
        self._changed.set()

    def blocked(self) -> Happening | None:
        """Return the first navigation or popup that was not let through, or None."""
        return next((h for h in self.happened if h.kind == "blocked"), None)

    # -- what the page tells of its navigations --------------------------------------

    def going(self) -> None:
        """A navigation was asked for."""
        self._going = True

    def arrived(self) -> None:
        """A new document came."""
        self._going, self.committed = False, True
        self._changed.set()

    def stopped(self) -> bool:
        """Loading ended; tell whether a navigation had been asked for and led nowhere."""
        was, self._going = self._going, False
        self._changed.set()
        return was

    def opening(self) -> None:
        """A window was asked for."""
        self._windows += 1

    def opened(self) -> None:
        """A window came, or was refused."""
        self._windows = max(0, self._windows - 1)
        self._changed.set()

    def saving(self) -> None:
        """A download was announced."""
        self._saving += 1

    def saved(self, download: Any) -> bool:
        """A download began; tell whether it is one of those that are kept."""
        self._saving = max(0, self._saving - 1)
        self._changed.set()
        if len(self.downloads) >= _FILES:
            words = f"more than {_FILES} files were downloaded; no more are kept"
            if not any(h.text == words for h in self.happened):
                self.tell(Happening(kind="note", text=words))
            return False
        self.downloads.append(download)
        return True

    @property
    def restless(self) -> bool:
        """Whether something was asked for and did not come yet."""
        return self._going or self._windows > 0 or self._saving > 0

    def give_up(self) -> None:
        """Wait no longer for what was asked for and did not come."""
        self._going = False
        self._windows = self._saving = 0

    async def rest(self, seconds: float) -> bool:
        """Wait until nothing is under way any more; False if time is up first."""
        try:
            async with asyncio.timeout(seconds):
                while self.restless:
                    self._changed.clear()
                    if self.restless:
                        await self._changed.wait()
        except TimeoutError:
            return False
        return True


def way_to(blocked: Happening) -> str:
    """Say how to get to what was not let through, if there is a way."""
    if not blocked.origin or not blocked.url.startswith("http"):
        return " There is no way there."
    return (
        f" To go there, call browser.navigate with {blocked.url[:500]}, or name "
        f"{blocked.origin} in origins the next time; either is judged anew."
    )
