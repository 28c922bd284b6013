"""Sets of characters, so that both search engines are given the very same ones."""

from __future__ import annotations

from collections.abc import Iterable

from .ranges import Ranges, merge


__all__ = ["DIGITS", "SPACES", "WORDS", "complement", "fold", "render"]

LAST = 0x10FFFF
# What stands for a byte that is no text, and the ends of lines, are in no set: nothing
# but the line itself is searched, and a byte is no character.
_NEVER: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0xD800, 0xDFFF))
_MOST_FOLDED = 4096

DIGITS: Ranges = ((0x30, 0x39),)
WORDS: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACES: Ranges = ((0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20))


def complement(ranges: Iterable[tuple[int, int]], *, never: Ranges = _NEVER) -> Ranges:
    """Return every character that is in none of the ranges and may be matched."""
    out: list[tuple[int, int]] = []
    at = 0
    for low, high in merge([*ranges, *never]):
        if at < low:
            out.append((at, low - 1))
        at = high + 1
    if at <= LAST:
        out.append((at, LAST))
    return tuple(out)


def fold(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Add the other case of every letter; very wide ranges stay as they are."""
    out: list[tuple[int, int]] = []
    for low, high in ranges:
        out.append((low, high))
        if high - low <= _MOST_FOLDED:
            for code in range(low, high + 1):
                out += [(other, other) for other in _cases(code)]
        else:
            out += [(c, c) for c in map(ord, _ASCII) for o in _cases(c) if low <= o <= high]
    return merge(out)


_ASCII = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _cases(code: int) -> list[int]:
    if 0xD800 <= code <= 0xDFFF:
        return []
    char = chr(code)
    return [ord(other) for other in {char.lower(), char.upper()} if len(other) == 1]


def render(ranges: Ranges, *, rust: bool) -> str:
    """Write ranges as a set in the syntax of one of the two engines."""
    if not ranges:
        return r"[^\x{0}-\x{10FFFF}]" if rust else r"[^\x00-\U0010ffff]"
    negated = ""
    if not rust and ranges[-1][1] == LAST and ranges != ((0, LAST),):
        # Compiling a set up to the last character takes re a hundred times as long.
        ranges, negated = complement(ranges, never=()), "^"
    parts = []
    for low, high in ranges:
        parts.append(_char(low, rust=rust))
        if high > low:
            parts.append("-" + _char(high, rust=rust))
    return f"[{negated}{''.join(parts)}]"


def _char(code: int, *, rust: bool) -> str:
    if chr(code).isascii() and chr(code).isalnum():
        return chr(code)
    return f"\\x{{{code:X}}}" if rust else f"\\U{code:08x}"
