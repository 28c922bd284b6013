"""Files as texts, read once for as long as they stay the same."""

from __future__ import annotations

import hashlib
import os
import stat
import time

from collections import OrderedDict
from functools import cached_property

import attrs

from toolcrib import Failed, NotFound

from .positions import split_lines


__all__ = ["LARGEST_FILE", "Snapshot", "Texts", "digest_of", "read_bytes"]

LARGEST_FILE = 10 * 1024 * 1024
_BOM = "\ufeff"
# Clocks of file systems tick slowly: within this time two changes may bear one stamp.
_RACY = 100_000_000
_KEPT = 512
_KEPT_BYTES = 64 * 1024 * 1024


def digest_of(data: bytes) -> str:
    """Return the digest of some content."""
    return hashlib.sha256(data).hexdigest()


class Snapshot:
    """The content of a file at one time.

    Attributes:
        path: The file.
        data: Its bytes.
        text: Its text, without a byte order mark.
        bom: Whether there is one.
    """

    def __init__(self, path: str, data: bytes, text: str) -> None:
        self.path = path
        self.data = data
        self.bom = text.startswith(_BOM)
        self.text = text.removeprefix(_BOM)

    @classmethod
    def of(cls, path: str, data: bytes) -> Snapshot:
        """Make one of bytes.

        Raises:
            Failed: they are no UTF-8; servers are told text and would see another one.
        """
        try:
            return cls(path, data, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            text = f"{path} is no UTF-8 text (byte {error.start}), so no server can read it."
            raise Failed(text, code="lsp.not_text") from None

    @cached_property
    def digest(self) -> str:
        """Of the bytes."""
        return digest_of(self.data)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return split_lines(self.text)

    def encode(self, text: str) -> bytes:
        """Return a new text as bytes, in the form that the file has."""
        return ((_BOM if self.bom else "") + text).encode("utf-8", "surrogatepass")


def read_bytes(path: str) -> bytes:
    """Return a file's bytes; a link in the last place is not followed.

    Raises:
        NotFound: there is no such file any more.
        Failed: it cannot be read, is no ordinary file, or is too large.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        text = f"{path} does not exist any more."
        raise NotFound(text, code="lsp.not_found") from None
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}."
        raise Failed(text, code="lsp.unreadable") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            text = f"{path} is no ordinary file."
            raise Failed(text, code="lsp.unreadable")
        if found.st_size > LARGEST_FILE:
            text = f"{path} has {found.st_size:,} bytes; at most {LARGEST_FILE:,} are read."
            raise Failed(text, code="lsp.too_large")
        return file.read()


_Key = tuple[int, int, int, int]


@attrs.frozen
class _Known:
    """A content, what a look at its file told, and whether any other one tells otherwise."""

    snapshot: Snapshot
    key: _Key | None
    sure: bool


class Texts:
    """Remembers contents by path, and notices every change.

    A time of modification can be set; the time of the last change of status cannot, so
    both are compared. What changed a moment before it was read is read again.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._bytes = 0

    def now(self, path: str, found: os.stat_result | None = None) -> Snapshot:
        """Return the content of a file as it is now.

        The same content gives the same object again.

        Args:
            path: The file.
            found: What a look at it has just told, if there was one.

        Raises:
            ToolFailure: as :func:`read_bytes` and :meth:`Snapshot.of`.
        """
        known = self._known.get(path)
        key = _key(path) if found is None else _key_of(found)
        if known is not None and known.sure and known.key == key:
            self._known.move_to_end(path)
            return known.snapshot
        before = time.time_ns()
        try:
            data = read_bytes(path)
        except (NotFound, Failed):
            self.forget(path)
            raise
        # None: it was made between the two looks.
        sure = key is not None and before - max(key[:2]) > _RACY
        if known is not None and known.snapshot.data == data:
            self._known[path] = _Known(known.snapshot, key, sure)
            self._known.move_to_end(path)
            return known.snapshot
        made = Snapshot.of(path, data)
        self.forget(path)
        self._keep(path, _Known(made, key, sure))
        return made

    def forget(self, path: str) -> None:
        """Let go of a file."""
        known = self._known.pop(path, None)
        if known is not None:
            self._bytes -= len(known.snapshot.data)

    def _keep(self, path: str, known: _Known) -> None:
        self._known[path] = known
        self._bytes += len(known.snapshot.data)
        while len(self._known) > _KEPT or self._bytes > _KEPT_BYTES:
            oldest = next(iter(self._known))
            if oldest == path:
                break
            self.forget(oldest)


def _key(path: str) -> _Key | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return _key_of(found)


def _key_of(found: os.stat_result) -> _Key:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
