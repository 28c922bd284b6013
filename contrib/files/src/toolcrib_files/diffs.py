"""Unified diffs, for people who are asked and for results."""

from __future__ import annotations

import difflib

from .texts import Line, lines_of, visible


__all__ = ["changed_lines", "unified"]

_MOST_LINES = 20_000
_MARKS = {"\r\n": "␍", "\r": "␍", "\n": "", "": ""}


def unified(before: str | None, after: str | None, name: str, new_name: str = "") -> str:
    """Return a unified diff; None stands for no file.

    A line end other than a line feed shows as a mark where it differs.
    """
    old = lines_of(before) if before is not None else []
    new = lines_of(after) if after is not None else []
    if len(old) + len(new) > _MOST_LINES:
        return (
            f"--- {name}\n+++ {new_name or name}\n({len(old)} lines become {len(new)} lines)\n"
        )
    marked = {line.end for line in (*old, *new)} - {""} != {"\n"}
    lines = difflib.unified_diff(
        [_shown(line, marked=marked) for line in old],
        [_shown(line, marked=marked) for line in new],
        "/dev/null" if before is None else name,
        "/dev/null" if after is None else (new_name or name),
        lineterm="",
    )
    text = "\n".join(lines)
    return text + "\n" if text else ""


def _shown(line: Line, *, marked: bool) -> str:
    end = _MARKS[line.end] if marked else ""
    tail = "" if line.end else "\n\\ No newline at end of file"
    return visible(line.text) + end + tail


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) + len(new) > _MOST_LINES:
        return len(new), len(old)
    added = removed = 0
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            removed += i2 - i1
            added += j2 - j1
    return added, removed
