"""One page: its identity, what it may become, and what was last seen of it."""

from __future__ import annotations

import asyncio
import contextlib

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import attrs

from .guarding import Ear
from .marks import cleaned, quoted
from .moments import Happening, Moment
from .origins import BLANK, origin_of, shown_url
from .outline import Outline


if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Dialog, Frame, Page


__all__ = ["Look", "PageHungError", "Tab"]

T = TypeVar("T")
_KEPT_LOOKS = 24
_KEPT_NODES = 60_000
_ANSWER = 10.0
_DOCUMENTS = {"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}


class PageHungError(Exception):
    """Raised when a page does not answer any more: its code runs without end."""


@attrs.frozen(kw_only=True)
class Look:
    """What was seen of a page at one moment.

    Attributes:
        id: Names it in later calls.
        generation: Which document of the page it was.
        frames: How many documents its frames had had by then.
        outline: The whole tree.
        refs: The refs that the caller was shown.
        url, origin, title: Of the page.
    """

    id: str
    generation: int
    frames: int
    outline: Outline
    refs: frozenset[str]
    url: str
    origin: str
    title: str


class Tab:
    """A page of a session.

    Args:
        id: Its id, never used for another page.
        page: Playwright's page.
        admits: Asked whether operators let pages have an origin at all.

    Attributes:
        allowed: Origins that the page may navigate to.
        generation: Number of its document; a new document is a new number.
        frames: How many documents frames of it have had.
        whole: Whether Playwright's own memory of refs is of the whole page.
        turned: Set when a new document comes.
        looks: What was seen of it, the latest last.
        ear: What hears the guards of presses on it.
        watched: Whether its navigations are paused and judged by now.
        dead: Why it can no longer be used; empty while it can.
    """

    def __init__(self, id: str, page: Page, admits: Callable[[str], bool]) -> None:  # noqa: A002
        self.id = id
        self.page = page
        self.ear = Ear(page)
        self.allowed: frozenset[str] = frozenset()
        self.generation = 0
        self.looks: OrderedDict[str, Look] = OrderedDict()
        self.whole = False
        self.turned = asyncio.Event()
        self.frames = 0
        self.dead = ""
        self.moment: Moment | None = None
        self.opener = ""
        self.cdp: CDPSession | None = None
        self.watched = False
        self.target = ""
        self._admits = admits
        self._moved: WeakKeyDictionary[Frame, int] = WeakKeyDictionary()
        self._tasks: set[asyncio.Future[Any]] = set()

    async def attach(self, session: CDPSession) -> None:
        """Watch the page's navigations, and let through what it may become."""
        self.cdp = session
        found = await session.send("Target.getTargetInfo")
        self.target = found["targetInfo"]["targetId"]
        session.on("Fetch.requestPaused", lambda event: self._soon(self._paused(event)))
        for name in (
            "frameRequestedNavigation",
            "frameStartedNavigating",
            "frameNavigated",
            "navigatedWithinDocument",
            "frameStoppedLoading",
            "windowOpen",
            "downloadWillBegin",
        ):
            session.on(f"Page.{name}", getattr(self, f"_{name}"))
        await session.send("Fetch.enable", {"patterns": [_DOCUMENTS]})
        self.watched = True
        session.on("Log.entryAdded", self._logged)
        await session.send("Page.enable")
        # What is fetched ahead is shown later without asking anybody.
        with contextlib.suppress(Exception):  # not every browser knows the word
            await session.send("Page.setPrerenderingAllowed", {"isAllowed": False})
        await session.send("Log.enable")
        page = self.page
        page.on("dialog", lambda dialog: self._soon(self._dialog(dialog)))
        page.on("download", self._download)
        page.on("filechooser", self._asked_for_files)
        page.on("crash", lambda _: self.end("its process crashed"))
        page.on("framenavigated", self._frame)

    # -- what it is ------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Its address."""
        return str(self.page.url)

    @property
    def origin(self) -> str:
        """Its origin; empty for a page that has none."""
        try:
            return origin_of(self.page.url)
        except ValueError:
            # A blank page that a page opened is of that page's origin.
            return self.opener if self.page.url == BLANK else ""

    def may_become(self, url: str) -> str:
        """Return an address's origin if the page may navigate there, else nothing."""
        if url == BLANK:
            return self.origin or BLANK
        # A blob has the origin of who made it, and no address that a rule could judge.
        if not url.startswith(("http://", "https://")):
            return ""
        try:
            origin = origin_of(url)
        except ValueError:
            return ""
        return origin if origin in self.allowed and self._admits(origin) else ""

    def end(self, reason: str) -> None:
        """Note that it can no longer be used, and why."""
        self.dead = self.dead or reason
        if self.moment is not None:
            self.moment.stopped()

    @property
    def last(self) -> Look | None:
        """What was last seen of it."""
        return next(reversed(self.looks.values()), None)

    def keep(self, look: Look) -> None:
        """Remember what was seen."""
        self.looks[look.id] = look
        held = sum(len(each.outline.nodes) for each in self.looks.values())
        while len(self.looks) > _KEPT_LOOKS or (held > _KEPT_NODES and len(self.looks) > 2):
            _, gone = self.looks.popitem(last=False)
            held -= len(gone.outline.nodes)

    async def ask(self, question: Awaitable[T], seconds: float = _ANSWER) -> T:
        """Wait for an answer of the page, but not for ever.

        Raises:
            PageHungError: it does not answer.
        """
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await question
        except TimeoutError as error:
            if not limit.expired():
                raise  # one of the question's own
            raise PageHungError(self.id) from error

    async def close(self) -> None:
        """Close it, whatever it is doing."""
        self.end("it was closed")
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.page.close(), 2.0)
            return
        if self.cdp is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.cdp.send("Page.crash"), 1.0)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.page.close(), 2.0)

    # -- what the browser tells ------------------------------------------------------

    def _soon(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, happening: Happening) -> None:
        if self.moment is not None:
            self.moment.tell(happening)

    async def _paused(self, event: dict[str, Any]) -> None:
        """Let a document be fetched, or not: a new origin is a new decision."""
        session, number = self.cdp, event["requestId"]
        assert session is not None  # noqa: S101 - it is what told of the event
        url = event["request"]["url"]
        if event["frameId"] != self.target or self.may_become(url):
            await session.send("Fetch.continueRequest", {"requestId": number})
            return
        self.refuse(url)
        # "Aborted" leaves the page as it is, instead of showing a page of errors.
        await session.send("Fetch.failRequest", {"requestId": number, "errorReason": "Aborted"})

    def refuse(self, url: str) -> None:
        """Tell that a navigation was stopped."""
        try:
            origin = origin_of(url)
        except ValueError:
            origin = ""
        words = f"a navigation to {shown_url(url)} was stopped: it is another origin"
        self._tell(Happening(kind="blocked", text=words, origin=origin, url=url))

    def _is_main(self, event: dict[str, Any]) -> bool:
        return bool(event.get("frameId") == self.target)

    def _frameRequestedNavigation(self, event: dict[str, Any]) -> None:  # noqa: N802
        here = event.get("disposition", "currentTab") == "currentTab"
        if here and self._is_main(event) and self.moment is not None:
            self.moment.going()

    def _frameStartedNavigating(self, event: dict[str, Any]) -> None:  # noqa: N802
        same = event.get("navigationType") in {"sameDocument", "historySameDocument"}
        if not same and self._is_main(event) and self.moment is not None:
            self.moment.going()

    def _frameNavigated(self, event: dict[str, Any]) -> None:  # noqa: N802
        frame = event["frame"]
        if frame.get("parentId") is not None:
            return
        self.generation += 1
        self.turned.set()
        self.whole = False
        url, lost = frame["url"], frame.get("unreachableUrl")
        if lost:
            words = f"{shown_url(lost)} could not be reached; the browser shows an error"
            self._tell(Happening(kind="ended", text=words, url=lost))
        elif url != BLANK and not self.may_become(url):
            # Of a window that went on before its navigations were judged, or no address.
            page = url.startswith(("http://", "https://"))
            why = "another origin" if page else "no address"
            words = f"the page went to {shown_url(url, 40)}, which is {why}, and was emptied"
            self._tell(Happening(kind="blocked", text=words, url=url))
            self._soon(self.page.goto(BLANK))
            return
        else:
            words = f"the page went to {shown_url(url)}"
            self._tell(Happening(kind="navigated", text=words, url=url))
        if self.moment is not None:
            self.moment.arrived()

    def _navigatedWithinDocument(self, event: dict[str, Any]) -> None:  # noqa: N802
        if self._is_main(event):
            words = f"the address became {shown_url(event['url'])}, in the same document"
            self._tell(Happening(kind="moved", text=words, url=event["url"]))

    def _frameStoppedLoading(self, event: dict[str, Any]) -> None:  # noqa: N802
        if not self._is_main(event) or self.moment is None:
            return
        if self.moment.stopped() and not (self.moment.blocked() or self.moment.downloads):
            words = "a navigation led to no document (no content, or it was cancelled)"
            self._tell(Happening(kind="ended", text=words))

    def _windowOpen(self, event: dict[str, Any]) -> None:  # noqa: N802
        url = event.get("url", "")
        if url.partition(":")[0] in {"http", "https", "about", "blob", ""}:
            if self.moment is not None:
                self.moment.opening()
            return
        # The browser opens no such window, and says nothing more of it.
        words = f"a window to {shown_url(url, 40)} was not opened: it is no address of a page"
        self._tell(Happening(kind="note", text=words))

    def _logged(self, event: dict[str, Any]) -> None:
        """Tell of a navigation that the browser itself forbids a page."""
        text = event["entry"].get("text", "")
        if event["entry"].get("source") == "security" and text.startswith("Not allowed"):
            self._tell(Happening(kind="note", text=f"the browser said {quoted(text)}"))

    def _downloadWillBegin(self, event: dict[str, Any]) -> None:  # noqa: N802
        if self.moment is not None and event.get("frameId") == self.target:
            self.moment.saving()

    def _download(self, download: Any) -> None:
        # Nobody asked for it, or not for so many: it is not kept.
        if self.moment is None or not self.moment.saved(download):
            self._soon(download.cancel())

    def _asked_for_files(self, _: Any) -> None:
        if self.moment is not None and not self.moment.files:
            words = "the page asked for a file and got none; give files with upload"
            self._tell(Happening(kind="note", text=words))

    def _frame(self, frame: Frame) -> None:
        if frame.parent_frame is not None:
            self.frames += 1
            self._moved[frame] = self.frames

    def moved_since(self, frame: Frame | None, count: int) -> bool:
        """Tell whether a frame, or one around it, got another document since a look."""
        while frame is not None:
            if self._moved.get(frame, 0) > count:
                return True
            frame = frame.parent_frame
        return False

    async def _dialog(self, dialog: Dialog) -> None:
        moment = self.moment
        accept = moment is not None and moment.accept
        if accept and moment is not None:
            await dialog.accept(moment.dialog_text)
        else:
            await dialog.dismiss()
        said = quoted(dialog.message) if dialog.message else "without words"
        kind = cleaned(dialog.type, 20)
        done = "accepted" if accept else "dismissed"
        self._tell(Happening(kind="dialog", text=f"a dialog ({kind}) {said} was {done}"))


async def _quietly(work: Awaitable[Any]) -> None:
    """Do something for a page that may be gone by now."""
    with contextlib.suppress(Exception):
        await work
