"""A long page in parts: windows that end at sensible places, sections, and finding."""

from __future__ import annotations

import hashlib
import re

import attrs


__all__ = ["Found", "Section", "Window", "find", "outline", "section", "window"]

_HEADING = re.compile(r"(?m)^(#{1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r"(?m)^[ \t]*(```|~~~)")
_CURSOR = re.compile(r"(\d{1,9})-([0-9a-f]{12})", re.ASCII)


@attrs.frozen
class Window:
    """A part of a text.

    Attributes:
        text: What is shown.
        start, end, total: Where it stands, in characters.
        cursor: To go on with, or None at the end.
    """

    text: str = attrs.field(repr=False)
    start: int
    end: int
    total: int
    cursor: str | None


@attrs.frozen
class Section:
    """A heading: its level, its words, and where its text stands."""

    level: int
    title: str
    start: int
    end: int


@attrs.frozen
class Found:
    """Where a text was found: its place, and what stands around it."""

    start: int
    text: str


def digest(text: str) -> str:
    """Return what a cursor remembers of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def place(cursor: str) -> tuple[int, str] | None:
    """Return where a cursor points, and into which text; None if it is none."""
    match = _CURSOR.fullmatch(cursor.strip())
    return None if match is None else (int(match[1]), match[2])


def window(text: str, start: int, most: int, *, end: int | None = None) -> Window:
    """Return a part of a text that begins at a place and ends where a thought does."""
    last = len(text) if end is None else min(end, len(text))
    start = min(max(start, 0), last)
    stop = min(start + most, last)
    if stop < last:
        stop = _good_end(text, start, stop)
    cursor = None if stop >= last else f"{stop}-{digest(text)}"
    return Window(text[start:stop], start, stop, len(text), cursor)


def _good_end(text: str, start: int, stop: int) -> int:
    """Return the last paragraph, line or word end in the last third of a window."""
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start + (stop - start) * 2 // 3, stop)
        if found > start:
            return found + len(mark)
    return stop


def outline(text: str) -> list[Section]:
    """Return the headings of a Markdown text, each with the extent of its section."""
    fences = [m.start() for m in _FENCE.finditer(text)]
    spans = list(zip(fences[::2], [*fences[1::2], len(text)], strict=False))
    heads = [
        match
        for match in _HEADING.finditer(text)
        if not any(begin <= match.start() < end for begin, end in spans)
    ]
    found: list[Section] = []
    for position, match in enumerate(heads):
        level = len(match[1])
        after = (m.start() for m in heads[position + 1 :] if len(m[1]) <= level)
        found.append(Section(level, _words(match[2]), match.start(), next(after, len(text))))
    return found


def section(text: str, wanted: str) -> Section | list[Section]:
    """Return the section that a heading names, or those that the name could mean."""
    sections = outline(text)
    plain = _folded(wanted)
    exact = [s for s in sections if _folded(s.title) == plain]
    if exact:
        return exact[0]
    close = [s for s in sections if plain and plain in _folded(s.title)]
    return close[0] if len(close) == 1 else close


def find(
    text: str, wanted: str, *, most: int = 20, around: int = 160
) -> tuple[list[Found], int]:
    """Return the first places of a text, letter case aside, and how many there are."""
    pattern = re.compile(r"\s+".join(map(re.escape, wanted.split())), re.IGNORECASE)
    if not pattern.pattern:
        return [], 0
    found: list[Found] = []
    count = 0
    for match in pattern.finditer(text):
        count += 1
        if len(found) < most:
            begin, end = max(0, match.start() - around), min(len(text), match.end() + around)
            head = "…" if begin else ""
            tail = "…" if end < len(text) else ""
            found.append(Found(match.start(), head + text[begin:end].strip() + tail))
    return found, count


def _words(title: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]", r"\1", title).strip(" #")[:200]


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
