"""Output of any length in memory of a fixed size: its head, its tail, and exact counts."""

from __future__ import annotations

import attrs


__all__ = ["Captured", "Recorder"]


@attrs.frozen
class Captured:
    """What is left of one stream.

    Attributes:
        head, tail: First and last bytes; all of it, in ``head``, if nothing is missing.
        total: Bytes that were written in all.
    """

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def dropped(self) -> int:
        """How many bytes are missing between head and tail."""
        return self.total - len(self.head) - len(self.tail)

    @property
    def data(self) -> bytes:
        """Head and tail, with nothing between."""
        return self.head + self.tail

    def text(self) -> str:
        """Return it as text; what is not UTF-8 shows as U+FFFD, what is missing as a note."""
        if not self.dropped:
            return self.data.decode("utf-8", "replace")
        head = _without_last_part(self.head)
        tail = _without_first_part(self.tail)
        gone = self.total - len(head) - len(tail)
        note = f"\n[… {gone} of {self.total} bytes left out …]\n"
        return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")


def _without_last_part(data: bytes) -> bytes:
    """Drop the beginning of a character whose rest is missing."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
    return data


def _without_first_part(data: bytes) -> bytes:
    """Drop the rest of a character whose beginning is missing."""
    start = 0
    while start < min(3, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]


class Recorder:
    """Takes output as it comes and keeps no more than its limit."""

    def __init__(self, limit: int) -> None:
        if limit < 0:
            text = "a limit of bytes is not negative"
            raise ValueError(text)
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def write(self, data: bytes) -> None:
        """Add output."""
        self._total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail += data[-self._tail_limit :] if self._tail_limit else b""
        # Let the tail grow to twice its size, so that trimming costs nothing on average.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def captured(self) -> Captured:
        """Return what is left."""
        tail = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        if len(self._head) + len(tail) == self._total:
            return Captured(bytes(self._head) + tail, b"", self._total)
        return Captured(bytes(self._head), tail, self._total)
