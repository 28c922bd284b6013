"""Which files are searched: found, judged and opened once, read by that handle only."""

from __future__ import annotations

import codecs
import os
import stat

from collections.abc import Callable, Iterator

import attrs

from .faults import from_os
from .folders import Folder
from .globs import compile_glob
from .places import Place
from .reading import LARGEST, open_regular, read_descriptor
from .texts import SNIFF, Decoded, decode, is_binary
from .walking import Entry, Include, Reason, Skipped, Walk


__all__ = ["Candidate", "Candidates"]

LARGE = 8 * 1024 * 1024
# Enough to keep a started program busy, far below the usual limit of open files.
_BATCH = 128


@attrs.frozen
class Candidate:
    """A file held open from the moment it was judged.

    Attributes:
        entry: What the walk said of it.
        descriptor: Open for reading.
        plain: Whether its bytes are searched as UTF-8 with line feeds.
    """

    entry: Entry
    descriptor: int
    plain: bool

    def text(self) -> Decoded:
        """Return the text to search, whose lines end with a line feed."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        data = read_descriptor(self.descriptor, self.entry.path)
        if self.plain:
            return Decoded(text=data.decode("utf-8", "surrogateescape"))
        decoded = decode(data)
        if "\n" not in decoded.text:
            return attrs.evolve(decoded, text=decoded.text.replace("\r", "\n"))
        return decoded


class Candidates:
    """The files that a search looks into, in order.

    Attributes:
        skipped: What was left out so far.
    """

    def __init__(
        self,
        place: Place,
        glob: str | None,
        include: frozenset[Include],
        stop: Callable[[], None],
        barred: Callable[[str], bool],
    ) -> None:
        self.skipped = Skipped()
        self._place = place
        self._include = include
        self._stop = stop
        self._barred = barred
        self._glob = compile_glob(glob, anywhere=True, pointer="/glob") if glob else None
        self._folder: Folder | None = None

    def batches(self, wanted: Callable[[Entry], bool]) -> Iterator[list[Candidate]]:
        """Yield open files in batches; who takes a batch closes its files."""
        batch: list[Candidate] = []
        try:
            for candidate in self._each(wanted):
                batch.append(candidate)
                if len(batch) == _BATCH:
                    full, batch = batch, []
                    yield full
            if batch:
                full, batch = batch, []
                yield full
        finally:
            for candidate in batch:
                os.close(candidate.descriptor)
            if self._folder is not None:
                self._folder.close()

    def _each(self, wanted: Callable[[Entry], bool]) -> Iterator[Candidate]:
        place = self._place
        if (entry := self._named()) is not None:
            if wanted(entry):
                yield self._open_named(entry)
            return
        walk = Walk(
            place,
            self._include,
            skipped=self.skipped,
            stop=self._stop,
            barred=self._barred,
        )
        cut = 0 if place.relative == "." else len(place.relative) + 1
        for entry in walk:
            if self._glob is not None and not self._glob.fullmatch(entry.path[cut:]):
                continue
            if not wanted(entry):
                continue
            if reason := self._reason(entry):
                self.skipped.add(reason, entry.path)
            elif candidate := self._open(entry):
                yield candidate

    def _named(self) -> Entry | None:
        """Return the entry if the path names a file."""
        place = self._place
        if place.path in ("/", place.root):
            return None
        try:
            with Folder.open(place.parent) as folder:
                found = folder.stat(place.name)
        except OSError as error:
            raise from_os(error, place.shown) from None
        if stat.S_ISDIR(found.st_mode):
            return None
        return Entry(place.relative, "file", found.st_size, found.st_mtime_ns)

    def _open_named(self, entry: Entry) -> Candidate:
        try:
            with Folder.open(self._place.parent) as folder:
                descriptor = open_regular(folder, self._place.name, self._place.shown)
        except OSError as error:
            raise from_os(error, self._place.shown) from None
        head = os.pread(descriptor, SNIFF, 0)
        return Candidate(entry, descriptor, is_binary(head) or _is_plain(head))

    def _reason(self, entry: Entry) -> Reason | None:
        if entry.kind == "link":
            return "link"
        if entry.kind != "file":
            return "special"
        if entry.size > (LARGEST if "large" in self._include else LARGE):
            return "large"
        return None

    def _open(self, entry: Entry) -> Candidate | None:
        path = os.path.join(self._place.root, entry.path)
        parent, name = os.path.split(path)
        try:
            if self._folder is None or self._folder.path != parent:
                if self._folder is not None:
                    self._folder.close()
                    self._folder = None
                self._folder = Folder.open(parent)
            descriptor = self._folder.open_file(name)
        except OSError:
            self.skipped.add("unreadable", entry.path)
            return None
        reason: Reason | None = None
        plain = True
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                reason = "special"
            elif not is_binary(head := os.pread(descriptor, SNIFF, 0)):
                plain = _is_plain(head)
            elif "binary" not in self._include:
                reason = "binary"
        except OSError:
            reason = "unreadable"
        if reason is None:
            return Candidate(entry, descriptor, plain)
        os.close(descriptor)
        self.skipped.add(reason, entry.path)
        return None


def _is_plain(head: bytes) -> bool:
    """Tell whether a file starts as UTF-8 without a mark, and has line feeds if any."""
    if head.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    if b"\0" in head or (b"\r" in head and b"\n" not in head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
