"""Places in a text: lines and columns for people, lines and units for servers.

A column counts characters (code points). What a unit is was agreed with the server:
``é😀x`` has three characters, four units of UTF-16 and seven of UTF-8.
"""

from __future__ import annotations

import re

from typing import Any


__all__ = [
    "ENCODINGS",
    "at_units",
    "column_of",
    "line_starts",
    "offset_of",
    "split_lines",
    "units_of",
]

# In the order in which they are offered. A column of UTF-8 is what most servers hold.
ENCODINGS = ("utf-8", "utf-16", "utf-32")
_ENDS = re.compile(r"\r\n|\n|\r")


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; only the protocol's three ends count."""
    return _ENDS.split(text)


def _width(char: str, encoding: str) -> int:
    if encoding == "utf-16":
        return 2 if char > "\uffff" else 1
    return len(char.encode("utf-8", "surrogatepass"))


def column_of(line: str, units: int, encoding: str) -> int:
    """Return how many characters of a line lie before a number of units.

    A place inside of a character counts as the place before it, one behind the line as
    its end.
    """
    if units <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    column = 0
    for char in line:
        units -= _width(char, encoding)
        if units < 0:
            return column
        column += 1
    return column


def units_of(line: str, column: int, encoding: str) -> int:
    """Return how many units the first characters of a line take."""
    column = min(max(column, 0), len(line))
    if encoding == "utf-32" or line.isascii():
        return column
    return sum(_width(char, encoding) for char in line[:column])


def at_units(position: Any, lines: list[str], encoding: str) -> tuple[int, int]:
    """Return line and column, both from 0, of a server's position in a text.

    Raises:
        ValueError: it is no position.
    """
    try:
        line, units = position["line"], position["character"]
    except (TypeError, KeyError):
        text = f"{position!r} is no position"
        raise ValueError(text) from None
    if not isinstance(line, int) or not isinstance(units, int) or line < 0:
        text = f"{position!r} is no position"
        raise ValueError(text)
    if line >= len(lines):
        # Behind the end: servers name a line that is not there to mean all of the text.
        return len(lines) - 1, len(lines[-1])
    return line, column_of(lines[line], units, encoding)


def offset_of(text: str, starts: list[int], line: int, column: int) -> int:
    """Return the offset of a line and column in the whole text."""
    return min(starts[line] + column, len(text))


def line_starts(text: str) -> list[int]:
    """Return the offset of each line."""
    return [0, *(match.end() for match in _ENDS.finditer(text))]
