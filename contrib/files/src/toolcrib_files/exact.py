"""Edits by exact text: found once, told where, and nothing else is touched."""

from __future__ import annotations

import difflib
import re

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import attrs

from .faults import Fault
from .texts import newline_at, visible


__all__ = ["Edit", "Span", "apply", "line_number"]

# Atomic: a CRLF is one line end and never two.
_ENDS = r"(?>\r\n|\n|\r)"
_ANY_END = re.compile(r"\r\n|\n|\r")
_LONE_FEED = re.compile(r"(?<!\r)\n")
_MOST_LISTED = 10
_MOST_COMPARED = 20_000


@attrs.frozen(kw_only=True)
class Edit:
    r"""One replacement.

    Attributes:
        old: The text to replace, as it stands in the file; ``\n`` finds any line end.
        new: What stands there afterwards, verbatim; ``\n`` takes the file's line end.
        replace_all: Whether every place is meant.
        count: How many places are meant; another number refuses the edit.
    """

    old: Annotated[str, "Text that stands in the file"]
    new: Annotated[str, "Text to put in its place, verbatim"]
    replace_all: Annotated[bool, "Whether to replace every place"] = False
    count: Annotated[int | None, "How many places there must be"] = None


@attrs.frozen
class Span:
    """A place of the original text and what takes its place."""

    start: int
    end: int
    new: str
    edit: int


def line_number(text: str, position: int) -> int:
    """Return the number of the line that a position is in, from 1."""
    ends = text.count("\n", 0, position)
    if ends == 0 and "\n" not in text:
        ends = text.count("\r", 0, position)
    return ends + 1


def apply(text: str, edits: Sequence[Edit]) -> tuple[str, tuple[Span, ...]]:
    """Return the text after all edits, and the places they replaced, in order.

    All edits are sought in the original text, so their order does not matter and none
    can match what another one wrote. Either all apply or none does.
    """
    spans = [span for number, edit in enumerate(edits) for span in _spans(text, edit, number)]
    spans.sort(key=lambda span: (span.start, span.end))
    for one, two in pairwise(spans):
        if two.start < one.end:
            message = (
                f"Edits {one.edit + 1} and {two.edit + 1} overlap on line"
                f" {line_number(text, two.start)}. Join them into one edit. Nothing was"
                " changed."
            )
            raise Fault(
                message,
                kind="invalid",
                code="files.overlapping",
                pointer=f"/edits/{two.edit}/old",
            )
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += (text[position : span.start], span.new)
        position = span.end
    return "".join([*parts, text[position:]]), tuple(spans)


def _spans(text: str, edit: Edit, number: int) -> list[Span]:
    pointer = f"/edits/{number}"
    if not edit.old:
        message = "The text to replace is empty. To make or fill a file use files.write."
        raise Fault(
            message, kind="invalid", code="files.empty_search", pointer=f"{pointer}/old"
        )
    if edit.old == edit.new:
        message = "Old and new text are the same, so nothing would change."
        raise Fault(message, kind="invalid", code="files.no_change", pointer=f"{pointer}/new")
    found, overlaps = _find(text, edit.old)
    _require_count(text, edit, found, pointer, overlaps=overlaps)
    return [Span(s, e, _styled(text, s, e, edit.new), number) for s, e in found]


def _find(text: str, old: str) -> tuple[list[tuple[int, int]], bool]:
    """Return every place of the text, and whether some of them overlap."""
    pattern = re.compile(_ENDS.join(map(re.escape, _ANY_END.split(old))))
    found: list[tuple[int, int]] = []
    overlaps = False
    position = 0
    while match := pattern.search(text, position):
        if text[match.start() - 1 : match.start() + 1] == "\r\n" and match[0][0] == "\n":
            position = match.start() + 1  # the second half of a line end is no place
            continue
        overlaps |= bool(found) and match.start() < found[-1][1]
        found.append(match.span())
        position = match.start() + 1
    return found, overlaps


def _require_count(
    text: str, edit: Edit, found: list[tuple[int, int]], pointer: str, *, overlaps: bool
) -> None:
    where = ", ".join(str(line_number(text, start)) for start, _ in found[:_MOST_LISTED])
    if len(found) > _MOST_LISTED:
        where += ", …"
    if not found:
        message = "The text to replace is not in the file. " + _nearest(text, edit.old)
        raise Fault(message, kind="not_found", code="files.no_match", pointer=f"{pointer}/old")
    if edit.count is not None and len(found) != edit.count:
        message = (
            f"The text stands at {len(found)} places (lines {where}), not {edit.count}."
            " Nothing was changed. Correct the count or give more surrounding text."
        )
        raise Fault(
            message, kind="invalid", code="files.count_mismatch", pointer=f"{pointer}/count"
        )
    if overlaps:
        message = (
            f"Places of the text overlap (lines {where}), so what to replace is not clear."
            " Nothing was changed. Give more surrounding text."
        )
        raise Fault(message, kind="invalid", code="files.ambiguous", pointer=f"{pointer}/old")
    if len(found) > 1 and not edit.replace_all and edit.count is None:
        message = (
            f"The text stands at {len(found)} places (lines {where}). Nothing was changed."
            " Give more surrounding text, or set replace_all, or count to that number."
        )
        raise Fault(message, kind="invalid", code="files.ambiguous", pointer=f"{pointer}/old")


def _styled(text: str, start: int, end: int, new: str) -> str:
    """Give each new line the end of the line that stood there, or of its neighbours."""
    if "\n" not in new:
        return new
    ends = _ANY_END.findall(text, start, end)
    around = ends[-1] if ends else newline_at(text, start, end)
    return _LONE_FEED.sub(lambda _: ends.pop(0) if ends else around, new)


def _nearest(text: str, old: str) -> str:
    """Say which lines are most like what was sought, and in what they differ."""
    lines = [part.rstrip("\r") for part in text.split("\n")]
    wanted = _ANY_END.split(old.strip("\r\n"))
    if len(lines) > _MOST_COMPARED or len(old) > _MOST_COMPARED:
        return "Read the part in question again with files.read and copy it exactly."
    scored = _scored(lines, wanted)
    if not scored:
        return "No line is like it. Read the file again with files.read and copy exactly."
    told = []
    for _, index in scored[:3]:
        there = lines[index : index + len(wanted)]
        reason = _difference(there, wanted)
        shown = visible(there[0].strip()[:160])
        told.append(f"line {index + 1} ({reason}): {shown}")
    return "Most like it: " + "; ".join(told) + ". Copy the text exactly as it stands."


def _scored(lines: list[str], wanted: list[str]) -> list[tuple[float, int]]:
    pivot = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    matcher = difflib.SequenceMatcher(None, "", wanted[pivot].strip()[:400], autojunk=False)
    scored: list[tuple[float, int]] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        matcher.set_seq1(line.strip()[:400])
        # The two cheap bounds spare nearly every line the full comparison.
        if matcher.real_quick_ratio() > 0.6 and matcher.quick_ratio() > 0.6:
            ratio = matcher.ratio()
            if ratio > 0.6:
                scored.append((ratio, max(0, index - pivot)))
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


def _difference(there: list[str], wanted: list[str]) -> str:
    one, two = "\n".join(there), "\n".join(wanted)
    if one == two:
        return "only its line ends or the text around differ"
    if re.sub(r"\s+", "", one) == re.sub(r"\s+", "", two):
        return "only blanks differ"
    if one.translate(_QUOTES) == two.translate(_QUOTES):
        return "only quotation marks differ"
    if any("\udc80" <= char <= "\udcff" for char in one):
        return "it holds bytes that are no text"
    return "similar"
