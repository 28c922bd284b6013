"""Ranges of whole numbers, ends included: of characters, and of lines."""

from __future__ import annotations

from collections.abc import Iterable


__all__ = ["Ranges", "merge"]

Ranges = tuple[tuple[int, int], ...]


def merge(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return sorted ranges, those that overlap or touch as one."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out)
