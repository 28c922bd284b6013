"""Messages in a stream of bytes: headers, a length, JSON."""

from __future__ import annotations

import json
import re

from typing import Any


__all__ = ["LARGEST", "BrokenFrame", "Frames", "encode"]

LARGEST = 64 * 1024 * 1024
_LONGEST_HEADER = 16 * 1024
_END = b"\r\n\r\n"


class BrokenFrame(Exception):  # noqa: N818 - it says what was met
    """Raised when the stream cannot be read any further."""


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_READ = json.JSONDecoder().raw_decode
# The whole header, as nearly every server writes it.
_HEADER = re.compile(rb"Content-Length: (\d{1,12})\r\n\r\n")


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as it is sent."""
    body = _JSON.encode(message).encode("utf-8", "backslashreplace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Takes bytes as they arrive and gives whole messages."""

    def __init__(self, *, largest: int = LARGEST) -> None:
        self._buffer = bytearray()
        self._largest = largest
        self._needed = -1

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Return the messages that are complete now.

        Raises:
            BrokenFrame: no header, a message that is too large, or no JSON object.
        """
        buffer = self._buffer
        buffer += data
        found: list[dict[str, Any]] = []
        while True:
            if self._needed < 0 and not (buffer and self._header()):
                return found
            if len(buffer) < self._needed:
                return found
            body = buffer[: self._needed]
            del buffer[: self._needed]
            self._needed = -1
            found.append(_message(body))

    def _header(self) -> bool:
        buffer = self._buffer
        plain = _HEADER.match(buffer)
        if plain is not None:
            self._needed = _length(plain[1], self._largest)
            del buffer[: plain.end()]
            return True
        end = buffer.find(_END)
        if end < 0:
            if len(buffer) > _LONGEST_HEADER:
                text = (
                    f"no header in {len(buffer)} bytes, which start with {bytes(buffer[:60])!r}"
                )
                raise BrokenFrame(text)
            return False
        head = bytes(buffer[:end])
        del buffer[: end + len(_END)]
        # Lines that are no header are noise of the program; only the length is needed.
        for line in head.replace(b"\r\n", b"\n").split(b"\n"):
            name, colon, value = line.partition(b":")
            if colon and name.strip().lower() == b"content-length":
                self._needed = _length(value, self._largest)
                return True
        text = f"a header without a length: {head[:120]!r}"
        raise BrokenFrame(text)


def _length(value: bytes, largest: int) -> int:
    try:
        length = int(value)
    except ValueError:
        text = f"a length that is no number: {value[:40]!r}"
        raise BrokenFrame(text) from None
    if not 0 <= length <= largest:
        text = f"a message of {length:,} bytes; at most {largest:,} are taken"
        raise BrokenFrame(text)
    return length


def _message(body: bytearray) -> dict[str, Any]:
    try:
        # The protocol's bytes are UTF-8, so nothing need be guessed.
        text = body.decode("utf-8", "surrogatepass").strip()
        message, end = _READ(text)
    except (ValueError, RecursionError) as error:
        text = f"a message that is no JSON: {error}"
        raise BrokenFrame(text) from None
    if end != len(text):
        text = f"a message that goes on after its end: {text[end : end + 40]!r}"
        raise BrokenFrame(text)
    if not isinstance(message, dict):
        text = f"a message that is a {type(message).__name__}"
        raise BrokenFrame(text)
    return message
