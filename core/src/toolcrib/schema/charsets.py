"""Sets of characters as sorted, disjoint ranges of code points."""

from __future__ import annotations


__all__ = ["DIGIT", "DOT", "SPACE", "WORD", "Ranges", "complement", "emit", "mask", "union"]

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF


def union(*sets: Ranges) -> Ranges:
    """Return every character of several sets."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for ranges in sets for pair in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return every character that a set does not hold."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in union(ranges):
        if start < low:
            result.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        result.append((start, _LAST))
    return tuple(result)


def mask(ranges: Ranges) -> int:
    """Return a set as bits: one for each ASCII character, one for all others together."""
    bits = 0
    for low, high in ranges:
        top = min(high, 127)
        if low <= top:
            bits |= ((1 << (top - low + 1)) - 1) << low
        if high > 127:
            bits |= 1 << 128
    return bits


def _escape(point: int) -> str:
    character = chr(point)
    if character.isascii() and character.isalnum():
        return character
    return f"\\x{point:02x}" if point < 0x100 else f"\\U{point:08x}"


def emit(ranges: Ranges) -> str:
    """Write a set for Python's :mod:`re`; nothing is left bare that it could misread."""
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escape(ranges[0][0])
    inner = "".join(
        _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}"
        for low, high in ranges
    )
    return f"[{inner}]"


DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
DOT = complement(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
