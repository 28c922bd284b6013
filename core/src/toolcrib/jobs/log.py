"""Output of a job on disk: appended, read by offset, bounded, counted to the byte.

It is kept in pieces, each a file named by the offset of its first byte. Too much drops
the oldest piece, so what was dropped is exactly what the first name says. One process
writes; any number read, also after it died.
"""

from __future__ import annotations

import contextlib
import os

from pathlib import Path


__all__ = ["JobLog"]

_PIECES = 8


class JobLog:
    """The output of one job.

    Args:
        folder: Where its pieces are.
        limit: Bytes kept, more or less one piece.
    """

    def __init__(self, folder: Path, limit: int = 1 << 20) -> None:
        self._folder = folder
        self._piece = max(limit // _PIECES, 1)
        self._limit = limit
        self._size: int | None = None
        self._file: int | None = None
        self._left = 0

    def write(self, data: bytes) -> None:
        """Add output; the oldest gives way where there is too much."""
        if self._size is None:
            self._size = self.size
        while data:
            if self._file is None:
                self._open()
            part = data[: self._left]
            written = os.write(self._file, part)  # type: ignore[arg-type]
            self._size += written
            self._left -= written
            data = data[written:]
            if self._left <= 0:
                self.close()

    def skip(self, size: int) -> None:
        """Count output that was dropped before anything was written."""
        self._size = self.size + size

    def _open(self) -> None:
        self._drop()
        name = self._folder / f"out-{self._size:020}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(name, flags, 0o600)
        self._left = self._piece

    def _drop(self) -> None:
        pieces = self._pieces()
        while len(pieces) > 1 and (self._size or 0) - pieces[1] >= self._limit:
            with contextlib.suppress(FileNotFoundError):
                (self._folder / f"out-{pieces[0]:020}").unlink()
            pieces = pieces[1:]

    def close(self) -> None:
        """Close the file that is written."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _pieces(self) -> list[int]:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - names only
        except FileNotFoundError:
            return []
        return sorted(int(n[4:]) for n in names if n.startswith("out-") and n[4:].isdigit())

    @property
    def kept_from(self) -> int:
        """Offset of the oldest byte that is kept."""
        pieces = self._pieces()
        return pieces[0] if pieces else 0

    @property
    def size(self) -> int:
        """Bytes written in all."""
        if self._size is not None:
            return self._size
        pieces = self._pieces()
        if not pieces:
            return 0
        return pieces[-1] + (self._folder / f"out-{pieces[-1]:020}").stat().st_size

    def read(self, offset: int, size: int) -> bytes:
        """Return output from an offset; what was dropped is passed over."""
        pieces = self._pieces()
        found = bytearray()
        for number, start in enumerate(pieces):
            following = pieces[number + 1] if number + 1 < len(pieces) else None
            if len(found) >= size:
                break
            if following is not None and following <= offset:
                continue
            # A reader that was overtaken finds the piece gone; it is dropped, then.
            with (
                contextlib.suppress(FileNotFoundError),
                (self._folder / f"out-{start:020}").open("rb") as file,
            ):
                file.seek(max(offset - start, 0))
                found += file.read(size - len(found))
        return bytes(found)
