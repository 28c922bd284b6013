"""Text and bytes: encodings, and what line ends are around a place."""

from __future__ import annotations

import codecs
import hashlib
import re

from collections.abc import Iterator

import attrs

from .faults import Fault


__all__ = [
    "Decoded",
    "Line",
    "Newline",
    "count_lines",
    "decode",
    "digest",
    "encode",
    "is_binary",
    "lines_of",
    "newline_at",
    "visible",
]

Newline = str

SNIFF = 8192
_PRINTABLE = frozenset(b"\t\n\r") | frozenset(range(0x20, 0x7F))

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it starts with that one's mark
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_END = re.compile(r"\r\n|\n|\r")
_BROKEN = re.compile("[\udc80-\udcff]")
_MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@attrs.frozen(kw_only=True)
class Decoded:
    """Text with all that is needed to give back the very same bytes.

    Attributes:
        text: The text; bytes that are no text stand as lone surrogates.
        encoding: A codec name.
        mark: The byte order mark that stood before the text.
        lossy: Whether some bytes are no text in this encoding.
        guessed: Whether the encoding is a guess from the bytes.
    """

    text: str = attrs.field(repr=False)
    encoding: str = "utf-8"
    mark: bytes = b""
    lossy: bool = False
    guessed: bool = False


def is_binary(data: bytes) -> bool:
    """Tell from the first bytes whether a file is no text."""
    head = data[:SNIFF]
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return False
    return b"\0" in head and _wide(head) is None


def _is_wide(body: bytes) -> bool:
    """Tell whether what follows a mark is UTF-16, and not text after two stray bytes."""
    ascii_bytes = sum(byte in _PRINTABLE for byte in body[:SNIFF])
    return b"\0" in body or ascii_bytes < 0.8 * len(body[:SNIFF]) or not body


def _wide(head: bytes) -> str | None:
    """Return UTF-16 without a mark if every other byte says so."""
    even, odd = head[0::2], head[1::2]
    if len(odd) < 4 or len(head) % 2:
        head = head[: len(head) // 2 * 2]
    for encoding, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        zeros = high.count(0)
        if zeros >= 4 and zeros >= 0.9 * len(high) and low.count(0) == 0:
            return encoding
    return None


def decode(data: bytes) -> Decoded:
    """Decode the whole of a text file so that encoding it gives the same bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (encoding == "utf-8" or _is_wide(data[len(mark) :])):
            return _exact(data, encoding, mark)
    try:
        if b"\0" not in data[:SNIFF]:
            return Decoded(text=data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    if wide := _wide(data[:SNIFF]):
        return _exact(data, wide, b"")
    if legacy := _legacy(data):
        return legacy
    return Decoded(text=data.decode("utf-8", "surrogateescape"), lossy=not _valid(data))


def _valid(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _exact(data: bytes, encoding: str, mark: bytes) -> Decoded:
    handler = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    body = data[len(mark) :]
    try:
        text = body.decode(encoding, handler)
    except UnicodeError:
        text = ""
    if text.encode(encoding, handler) != body:
        # A cut-off last unit and the like: only single bytes give it back exactly.
        return Decoded(text=data.decode("utf-8", "surrogateescape"), lossy=True)
    lossy = any("\ud800" <= char <= "\udfff" for char in text) if not text.isascii() else False
    return Decoded(text=text, encoding=encoding, mark=mark, lossy=lossy)


def _legacy(data: bytes) -> Decoded | None:
    """Guess a one-byte or Asian encoding, if the bytes speak for one clearly.

    A few stray bytes in a file that is else ASCII or UTF-8 are damage, not an encoding.
    """
    high = [byte for byte in data[:65536] if byte >= 0x80]
    if len(high) < 3 or _MULTIBYTE.search(data):
        return None
    from charset_normalizer import from_bytes  # noqa: PLC0415 - slow to load, rarely needed

    best = from_bytes(data[:65536]).best()
    if best is None or best.encoding.startswith("utf"):
        return None
    try:
        text = data.decode(best.encoding)
        exact = text.encode(best.encoding) == data
    except UnicodeError:
        return None
    letters = sum(char.isalpha() for char in text if ord(char) >= 0x80)
    others = sum(ord(char) >= 0x80 for char in text)
    if not exact or letters < 0.6 * others:
        return None
    return Decoded(text=text, encoding=best.encoding, guessed=True)


def encode(text: str, like: Decoded) -> bytes:
    """Encode text as the file was encoded, mark included."""
    handler = "surrogateescape" if like.encoding == "utf-8" else "surrogatepass"
    if like.guessed:
        handler = "strict"
    try:
        return like.mark + text.encode(like.encoding, handler)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        message = (
            f"The character {bad!a} cannot be written in {like.encoding}, the encoding of"
            " this file. Write it without that character."
        )
        raise Fault(message, kind="invalid", code="files.unencodable") from None


def visible(text: str) -> str:
    """Return text in which bytes that are no text show as U+FFFD."""
    return text if text.isascii() else _BROKEN.sub("\ufffd", text)


@attrs.frozen
class Line:
    """One line and its end, which is empty only for a last line without one."""

    text: str
    end: Newline = "\n"


def _alone(text: str) -> bool:
    """Whether single carriage returns are this text's line ends."""
    return "\n" not in text and "\r" in text


def lines_of(text: str) -> list[Line]:
    """Split into lines. A lone carriage return ends a line only where no line feed is."""
    return list(_lines(text, "\r" if _alone(text) else "\n"))


def _lines(text: str, end: str) -> Iterator[Line]:
    parts = text.split(end)
    last = parts.pop()
    for part in parts:
        if end == "\n" and part.endswith("\r"):
            yield Line(part[:-1], "\r\n")
        else:
            yield Line(part, end)
    if last:
        yield Line(last, "")


def count_lines(text: str) -> int:
    """Return how many lines a text has."""
    end = "\r" if _alone(text) else "\n"
    return text.count(end) + (not text.endswith(end) and text != "")


def newline_at(text: str, start: int, end: int) -> Newline:
    """Return the line end in use at a place: in it, before it, after it, else a line feed."""
    if found := _END.search(text, start, end):
        return found[0]
    before = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start))
    if before >= 0:
        return "\r\n" if text[before - 1 : before + 1] == "\r\n" else text[before]
    if found := _END.search(text, end):
        return found[0]
    return "\n"
