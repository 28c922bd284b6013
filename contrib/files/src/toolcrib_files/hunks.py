"""Hunks applied to the text of one file: in order, each behind the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from .faults import Fault
from .patch_grammar import Hunk
from .texts import Line, lines_of


__all__ = ["Applied", "apply"]

_Key = Callable[[str], str]
# Strict first. Only blanks are forgiven, and the file's own blanks stay.
_WAYS: tuple[tuple[str, _Key], ...] = (
    ("exact", lambda text: text),
    ("trailing_blanks_ignored", str.rstrip),
    ("blanks_around_ignored", str.strip),
)
_MOST_LISTED = 10


@attrs.frozen
class Applied:
    """The new text, and in which ways lines were found that were not exact."""

    text: str
    ways: tuple[str, ...]


def apply(text: str, hunks: Sequence[Hunk], shown: str) -> Applied:
    """Return the text after all hunks; none can match what another one wrote."""
    lines = lines_of(text)
    out: list[Line] = []
    ways: list[str] = []
    cursor = 0
    for hunk in hunks:
        start, way = _place(lines, hunk, cursor, shown)
        old = [line for sign, line in hunk.lines if sign != "+"]
        out += lines[cursor:start]
        out += _rewritten(lines, start, hunk)
        cursor = start + len(old)
        ways += [] if way == "exact" else [way]
    out += lines[cursor:]
    return Applied(_joined(lines, out), tuple(dict.fromkeys(ways)))


def _joined(before: list[Line], after: list[Line]) -> str:
    """Join lines; the last one ends as the last one of the file did."""
    style = _style(before, len(before))
    for index, line in enumerate(after[:-1]):
        if not line.end:
            after[index] = Line(line.text, style)
    if after and before:
        last_end = before[-1].end
        ends = after[-1].end or style
        after[-1] = Line(after[-1].text, ends if last_end else "")
    return "".join(line.text + line.end for line in after)


def _style(lines: list[Line], index: int) -> str:
    """Return the line end in use just before an index, else after it."""
    for line in [*reversed(lines[:index]), *lines[index:]]:
        if line.end:
            return line.end
    return "\n"


def _rewritten(lines: list[Line], start: int, hunk: Hunk) -> list[Line]:
    """Return the hunk's new lines; lines that stay are the file's own."""
    out: list[Line] = []
    index = start
    removed: list[str] = []
    for sign, text in hunk.lines:
        if sign == " ":
            out.append(lines[index])
            index += 1
            removed.clear()
        elif sign == "-":
            removed.append(lines[index].end)
            index += 1
        else:
            end = removed.pop(0) if removed else ""
            out.append(Line(text, end or _style(lines, index)))
    return out


def _place(lines: list[Line], hunk: Hunk, cursor: int, shown: str) -> tuple[int, str]:
    """Return where a hunk starts and in which way its lines were found."""
    for position, locator in enumerate(hunk.locators):
        cursor = _behind(lines, locator, cursor, hunk, shown, first=cursor == position == 0)
    old = [text for sign, text in hunk.lines if sign != "+"]
    if not old:
        at = len(lines) if hunk.at_end or not hunk.locators else cursor
        return at, "exact"
    for way, key in _WAYS:
        found = _starts(lines, old, cursor, key)
        if hunk.at_end:
            found = [start for start in found if start + len(old) == len(lines)]
        if len(found) > 1 and not hunk.locators:
            raise _ambiguous(hunk, shown, found, "its lines stand")
        if found:
            return found[0], way
    where = f"behind line {cursor}" if cursor else "in the file"
    first = next((text for text in old if text.strip()), old[0])
    message = (
        f"Patch line {hunk.number}: the lines of this hunk do not stand together {where} of"
        f" {shown}{' at its end' if hunk.at_end else ''}; the first one sought is"
        f" {first[:120]!r}. Nothing was changed. Read the file again with files.read and"
        " copy its lines exactly; hunks follow the order of the file."
    )
    raise Fault(message, kind="not_found", code="files.no_match", pointer="/patch")


def _starts(lines: list[Line], old: list[str], cursor: int, key: _Key) -> list[int]:
    wanted = [key(text) for text in old]
    there = [key(line.text) for line in lines]
    size = len(wanted)
    return [
        start
        for start in range(cursor, len(there) - size + 1)
        if there[start] == wanted[0] and there[start : start + size] == wanted
    ]


def _behind(
    lines: list[Line], locator: str, cursor: int, hunk: Hunk, shown: str, *, first: bool
) -> int:
    """Return the index behind the line that a locator names."""
    for _, key in _WAYS:
        found = _starts(lines, [locator], cursor, key)
        if len(found) > 1 and first:
            raise _ambiguous(hunk, shown, found, f"the line {locator[:80]!r} stands")
        if found:
            return found[0] + 1
    message = (
        f"Patch line {hunk.number}: the line {locator[:120]!r} does not stand"
        f" {f'behind line {cursor}' if cursor else 'in the file'} of {shown}. Nothing was"
        " changed. Copy the line exactly from files.read."
    )
    raise Fault(message, kind="not_found", code="files.no_match", pointer="/patch")


def _ambiguous(hunk: Hunk, shown: str, found: list[int], what: str) -> Fault:
    where = ", ".join(str(start + 1) for start in found[:_MOST_LISTED])
    if len(found) > _MOST_LISTED:
        where += ", …"
    message = (
        f"Patch line {hunk.number}: {what} at {len(found)} places of {shown} (lines"
        f" {where}). Nothing was changed. Add lines that stay, or put a line '@@ …' with a"
        " line of the file above it."
    )
    return Fault(message, kind="invalid", code="files.ambiguous", pointer="/patch")
