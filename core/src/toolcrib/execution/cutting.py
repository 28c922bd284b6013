"""Shorten text to its head and tail, at line ends where possible, never inside a character."""

from __future__ import annotations

import unicodedata

import attrs


__all__ = ["Cut", "cut_text"]

_JOINER = "\u200d"
_VIRAMA = 9  # canonical combining class
# A cluster longer than this is an attack on the reader; it may be cut.
_LONGEST_CLUSTER = 64
_HANGUL_LEADS = ((0x1100, 0x115F), (0xA960, 0xA97C))
_HANGUL_TAILS = ((0x1160, 0x11FF), (0xD7B0, 0xD7FB))
_HANGUL_WHOLE = ((0xAC00, 0xD7A3),)
# Skin tones, and the tags of which some flags are made.
_EXTENDERS = ((0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
_FLAG_LETTERS = ((0x1F1E6, 0x1F1FF),)


@attrs.frozen
class Cut:
    """A text that was shortened, and exactly by how much.

    ``dropped`` counts characters of the original, ``lines`` the line ends among them.
    """

    text: str
    total: int
    dropped: int = 0
    lines: int = 0


def cut_text(text: str, limit: int, *, more: str = "", inline: bool = False) -> Cut:
    """Return a text of at most ``limit`` characters: head, a note on what is gone, tail.

    Lines are kept whole unless a single one is longer than its half of the room.
    Without room for the note nothing but a part of the note is left.

    Args:
        text: What may be too long.
        limit: Most characters of the result.
        more: What the note says besides, such as where the whole is.
        inline: Whether the note stands inside a line.
    """
    total = len(text)
    if total <= limit:
        return Cut(text, total)
    room = limit - len(_note(total, total, total, more, inline=inline))
    if room < 2:
        note = _note(total, total, text.count("\n"), more, inline=True)
        return Cut(note[: max(limit, 0)], total, total, text.count("\n"))
    half = room // 2
    head = _head_end(text, half)
    tail = _tail_start(text, total - (room - head), half)
    dropped, lines = tail - head, text.count("\n", head, tail)
    note = _note(dropped, total, lines, more, inline=inline or not lines)
    if not note.startswith("[") and head and text[head - 1] == "\n":
        note = note[1:]
    return Cut(text[:head] + note + text[tail:], total, dropped, lines)


def _note(dropped: int, total: int, lines: int, more: str, *, inline: bool) -> str:
    # Without thousands marks a program can read the numbers, too.
    of_lines = f", {lines} lines" if lines and not inline else ""
    note = f"[… {dropped} of {total} characters{of_lines} left out{more} …]"
    return note if inline else f"\n{note}\n"


def _head_end(text: str, room: int) -> int:
    start = text.rfind("\n", 0, room) + 1
    end = text.find("\n", room)
    if end < 0:
        end = len(text)
    if start and end - start <= room:
        return start
    return _back(text, room)


def _tail_start(text: str, at: int, room: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    if start == at:
        return at
    end = text.find("\n", at)
    if 0 <= end < len(text) - 1 and end - start <= room:
        return end + 1
    return _forward(text, at)


def _back(text: str, at: int) -> int:
    for place in range(at, max(at - _LONGEST_CLUSTER, 0), -1):
        if not _joined(text, place):
            return place
    return at - 1 if _pair(text, at) else at


def _forward(text: str, at: int) -> int:
    for place in range(at, min(at + _LONGEST_CLUSTER, len(text))):
        if not _joined(text, place):
            return place
    return at + 1 if _pair(text, at) else at


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and after a place belong together."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        # The common case: only a line end of two characters joins here.
        return (before == "\r" and after == "\n") or before == _JOINER
    if _JOINER in (before, after) or _pair(text, at):
        return True
    if unicodedata.category(after)[0] == "M" or _within(after, _EXTENDERS):
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if _within(after, _HANGUL_TAILS):
        return True
    if _within(before, _HANGUL_LEADS):
        return _within(after, _HANGUL_LEADS) or _within(after, _HANGUL_WHOLE)
    return _within(after, _FLAG_LETTERS) and _splits_flag(text, at)


def _pair(text: str, at: int) -> bool:
    return (
        0 < at < len(text)
        and "\ud800" <= text[at - 1] <= "\udbff"
        and "\udc00" <= text[at] <= "\udfff"
    )


def _splits_flag(text: str, at: int) -> bool:
    count = 0
    while count < at and _within(text[at - 1 - count], _FLAG_LETTERS):
        count += 1
    return count % 2 == 1


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in ranges)
