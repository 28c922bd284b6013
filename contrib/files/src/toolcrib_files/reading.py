"""Windows into files: ranges with continuation, never more than was asked for."""

from __future__ import annotations

import base64
import hashlib
import os
import stat

import attrs

from .faults import Fault, from_os
from .folders import Folder
from .outputs import counted
from .places import Place
from .texts import Decoded, Line, decode, digest, is_binary, lines_of, visible


__all__ = [
    "LARGEST",
    "Bytes",
    "Window",
    "load",
    "media_type",
    "open_regular",
    "read",
    "read_descriptor",
]

LARGEST = 64 * 1024 * 1024
LARGEST_IMAGE = 5 * 1024 * 1024
LARGEST_DOCUMENT = 10 * 1024 * 1024
LARGEST_OTHER = 256 * 1024
LONGEST_LINE = 2000
MOST_CHARACTERS = 50_000

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
)


@attrs.frozen(kw_only=True)
class Bytes:
    """What a file that is no text holds.

    Attributes:
        media_type: Told from the first bytes, never from the name.
        size, digest: Of the whole file.
        data: Base64 text, or None if the file is too large to hand over.
    """

    media_type: str
    size: int
    digest: str
    data: str | None = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class Window:
    """A range of a file's lines.

    Attributes:
        lines: ``(number, text)``, clipped where too long.
        start, end: First and last line number; end is below start if there is none.
        total: How many lines the file has.
        next_start: Where to go on, or None at the end of the file.
        clipped: Numbers of lines of which only a part is here.
        encoding, guessed, lossy: How bytes became text.
        newline: ``lf``, ``crlf``, ``cr``, ``mixed`` or ``none``.
        final_newline: Whether the last line ends with a line end.
        size, digest: Of the whole file.
    """

    lines: tuple[tuple[int, str], ...] = attrs.field(repr=False)
    start: int
    end: int
    total: int
    next_start: int | None
    clipped: tuple[int, ...]
    encoding: str
    guessed: bool
    lossy: bool
    newline: str
    final_newline: bool
    size: int
    digest: str


def open_regular(folder: Folder, name: str, shown: str) -> int:
    """Open a file for reading; what is no regular file is refused unread."""
    try:
        descriptor = folder.open_file(name)
    except OSError as error:
        raise from_os(error, shown) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        text = f"{shown} is a folder. List it with files.list or search it with files.glob."
        raise Fault(text, kind="invalid", code="files.is_folder", pointer="/path")
    text = f"{shown} is a pipe, socket or device, not a file. Only files can be read."
    raise Fault(text, kind="refused", code="files.not_regular", pointer="/path")


def load(place: Place, *, largest: int = LARGEST) -> bytes:
    """Return the bytes of a file, reached by handle."""
    try:
        with Folder.open(place.parent) as folder:
            descriptor = open_regular(folder, place.name, place.shown)
    except OSError as error:
        raise from_os(error, place.shown) from None
    try:
        return read_descriptor(descriptor, place.shown, largest=largest)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, shown: str, *, largest: int = LARGEST) -> bytes:
    """Return all bytes behind a descriptor; too many are refused."""
    size = os.fstat(descriptor).st_size
    chunks = []
    left = largest + 1
    if size <= largest:
        while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
    if size > largest or left <= 0:
        text = (
            f"{shown} has {size:,} bytes, more than the {largest:,} that can be taken as a"
            " whole. Find the lines you need with files.grep and include=['large']."
        )
        raise Fault(text, kind="refused", code="files.too_large", pointer="/path")
    return b"".join(chunks)


def read(
    place: Place,
    *,
    start: int = 1,
    limit: int = 2000,
    column: int = 1,
    most: int = MOST_CHARACTERS,
) -> Window | Bytes:
    """Read lines of a text file, or the whole of another one.

    Args:
        place: The file.
        start: First line, from 1; below zero counts from the end.
        limit: Most lines.
        column: First character of each line, from 1; to go on in long lines.
        most: Most characters of all lines together.
    """
    if place.path == place.root:
        text = "The path is the workspace folder itself. List it with files.list."
        raise Fault(text, kind="invalid", code="files.is_folder", pointer="/path")
    data = load(place)
    if is_binary(data):
        return _bytes(data)
    decoded = decode(data)
    lines = lines_of(decoded.text)
    first = max(1, len(lines) + 1 + start) if start < 0 else start
    if first > max(1, len(lines)):
        text = (
            f"{place.shown} has {counted(len(lines), 'line')}, so there is no line {first}."
            " Choose a smaller start."
        )
        raise Fault(text, kind="invalid", code="files.past_end", pointer="/start")
    return _window(data, decoded, lines, first=first, limit=limit, column=column, most=most)


def _window(
    data: bytes,
    decoded: Decoded,
    lines: list[Line],
    *,
    first: int,
    limit: int,
    column: int,
    most: int,
) -> Window:
    shown: list[tuple[int, str]] = []
    clipped: list[int] = []
    for number in range(first, min(len(lines), first + limit - 1) + 1):
        whole = visible(lines[number - 1].text)
        text = whole[column - 1 : column - 1 + LONGEST_LINE]
        most -= len(text) + 8
        if most < 0 and shown:
            break
        if len(text) < len(whole):
            clipped.append(number)
        shown.append((number, text))
    end = first + len(shown) - 1
    return Window(
        lines=tuple(shown),
        start=first,
        end=end,
        total=len(lines),
        next_start=end + 1 if end < len(lines) else None,
        clipped=tuple(clipped),
        encoding=decoded.encoding,
        guessed=decoded.guessed,
        lossy=decoded.lossy,
        newline=_newline(lines),
        final_newline=bool(lines) and lines[-1].end != "",
        size=len(data),
        digest=digest(data),
    )


def _newline(lines: list[Line]) -> str:
    ends = {line.end for line in lines} - {""}
    if not ends:
        return "none"
    return {"\n": "lf", "\r\n": "crlf", "\r": "cr"}[ends.pop()] if len(ends) == 1 else "mixed"


def media_type(head: bytes) -> str:
    """Tell the media type from the first bytes."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "audio/wav"
    for magic, media in _MAGIC:
        if head.startswith(magic):
            return media
    return "application/octet-stream"


def _bytes(data: bytes) -> Bytes:
    media = media_type(data)
    largest = LARGEST_OTHER
    if media.startswith("image/"):
        largest = LARGEST_IMAGE
    elif media in {"application/pdf", "audio/wav"}:
        largest = LARGEST_DOCUMENT
    return Bytes(
        media_type=media,
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        data=base64.b64encode(data).decode("ascii") if len(data) <= largest else None,
    )
