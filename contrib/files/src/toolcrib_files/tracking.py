"""What one session has seen of each file: a digest, and which lines."""

from __future__ import annotations

import threading

import attrs

from .faults import Fault
from .places import Place
from .ranges import merge
from .reading import Bytes, Window
from .texts import count_lines, digest


__all__ = ["Seen", "Tracker"]


@attrs.frozen
class Seen:
    """What was seen of a file.

    Attributes:
        digest: Of the whole file at that time.
        total: How many lines it had.
        ranges: Lines that were seen whole, sorted, first and last.
    """

    digest: str
    total: int
    ranges: tuple[tuple[int, int], ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every line was seen."""
        return self.total == 0 or self.ranges == ((1, self.total),)

    def unseen(self) -> str:
        """Say which lines were not seen."""
        gaps = []
        at = 1
        for low, high in (*self.ranges, (self.total + 1, self.total + 1)):
            if at < low:
                gaps.append(f"{at}-{low - 1}" if low - 1 > at else str(at))
            at = high + 1
        return ", ".join(gaps[:5]) + (", …" if len(gaps) > 5 else "")


class Tracker:
    """What a session has seen, by canonical path: two spellings are one file.

    Time stamps play no part: a file changed if and only if its bytes did.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        # Handlers of one session run in threads beside each other.
        self._lock = threading.Lock()

    def get(self, place: Place) -> Seen | None:
        """Return what was seen of a file, or None."""
        with self._lock:
            return self._seen.get(place.path)

    def saw(self, place: Place, what: Window | Bytes) -> None:
        """Record a reading, after it succeeded; readings of the same bytes add up."""
        if isinstance(what, Bytes):
            self._put(place, Seen(what.digest, 0))
            return
        clipped = set(what.clipped)
        shown = [n for n, _ in what.lines if n not in clipped]
        with self._lock:
            before = self._seen.get(place.path)
            ranges = before.ranges if before and before.digest == what.digest else ()
            joined = merge([*ranges, *((n, n) for n in shown)])
            self._seen[place.path] = Seen(what.digest, what.total, joined)

    def wrote(self, place: Place, data: bytes, text: str) -> None:
        """Record bytes that a call wrote as a whole; they count as seen."""
        total = count_lines(text)
        self._put(place, Seen(digest(data), total, ((1, total),) if total else ()))

    def edited(self, place: Place, data: bytes, text: str) -> None:
        """Record an edit: who had seen all knows all; else the lines are known no more."""
        before = self.get(place)
        total = count_lines(text)
        whole = before is not None and before.whole and total > 0
        self._put(place, Seen(digest(data), total, ((1, total),) if whole else ()))

    def forget(self, place: Place) -> None:
        """Forget a file that is gone."""
        with self._lock:
            self._seen.pop(place.path, None)

    def _put(self, place: Place, seen: Seen) -> None:
        with self._lock:
            self._seen[place.path] = seen

    def require_unchanged(
        self, place: Place, now: str, *, expected: str | None = None, pointer: str = "/path"
    ) -> None:
        """Refuse if a file is not what this session, or the caller, last saw."""
        seen = self.get(place)
        wanted = expected or (seen.digest if seen else None)
        if wanted is not None and wanted != now:
            text = (
                f"{place.shown} changed since it was read: its content differs. Nothing was"
                " written. Read it again with files.read and make the change anew."
            )
            raise Fault(text, kind="refused", code="files.changed", pointer=pointer)

    def require_whole(self, place: Place, what: str, *, pointer: str = "/path") -> None:
        """Refuse to lose content that this session has not seen."""
        seen = self.get(place)
        if seen is None:
            earlier = "" if pointer != "/path" else ", or pass an earlier read's expect_digest"
            text = (
                f"{place.shown} exists, and this session has not read it. Read it with"
                f" files.read before {what}, or change a part with files.edit{earlier}."
            )
        elif not seen.whole:
            text = (
                f"Of {place.shown} these lines were not read whole: {seen.unseen()}. Read"
                f" them with files.read before {what}, or change a part with files.edit."
            )
        else:
            return
        raise Fault(text, kind="refused", code="files.unread", pointer=pointer)
