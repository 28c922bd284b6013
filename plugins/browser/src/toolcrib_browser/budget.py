"""Which part of a tree is shown: a region, down to a depth, within so many bytes.

What is left out is said where it was: every cut is a line that tells how much stands
there and how to see it.
"""

from __future__ import annotations

import attrs

from .outline import Node, Outline


__all__ = ["Shown", "show"]


@attrs.frozen
class Shown:
    """A text of a tree.

    Attributes:
        text: Lines, indented by two blanks a level.
        lines: How many nodes it has.
        left_out: How many nodes it lacks.
        refs: The refs that can be read in it.
    """

    text: str
    lines: int
    left_out: int
    refs: frozenset[str]


def show(
    outline: Outline, *, most: int, depth: int | None = None, region: str | None = None
) -> Shown:
    """Return a tree's text of at most so many bytes.

    Whole levels are taken first, as many as fit; what is left of the budget goes to the
    nodes below them in document order.

    Raises:
        KeyError: there is no such region.
    """
    first, last = 0, len(outline.nodes)
    if region is not None:
        first = outline.refs[region]
        last = outline.below(first)
    nodes = outline.nodes[first:last]
    if not nodes:
        return Shown("", 0, 0, frozenset())
    base = min(node.depth for node in nodes)
    lines = [node.line() for node in nodes]
    sizes = [
        len(line.encode()) + 2 * (node.depth - base) + 1
        for line, node in zip(lines, nodes, strict=True)
    ]
    deepest = max(node.depth for node in nodes) - base
    limit = deepest if depth is None else min(depth - 1, deepest)
    kept = _kept(nodes, sizes, base, limit, most)
    return _written(nodes, lines, kept, base)


def _kept(nodes: list[Node], sizes: list[int], base: int, limit: int, most: int) -> list[bool]:
    """Choose the nodes that are shown."""
    wanted = [node.depth - base <= limit for node in nodes]
    if sum(size for size, w in zip(sizes, wanted, strict=True) if w) <= most:
        return wanted
    room = most - max(200, most // 20)  # for the lines that tell of what is left out
    levels = [0] * (limit + 1)
    for node, size, want in zip(nodes, sizes, wanted, strict=True):
        if want:
            levels[node.depth - base] += size
    whole, used = -1, 0
    while whole < limit and used + levels[whole + 1] <= room * 2 // 3:
        whole += 1
        used += levels[whole]
    room -= used
    # Of the levels below, in document order, and only where all that is above is shown.
    kept: list[bool] = []
    closed = limit + 1  # depth at and below which nothing is open
    for node, size, want in zip(nodes, sizes, wanted, strict=True):
        level = node.depth - base
        if level <= closed:
            closed = limit + 1
        keep = want and level < closed
        if keep and level > whole:
            keep = size <= room
            room -= size if keep else 0
        if not keep and level <= whole + 1:
            closed = level
        elif not keep:
            closed = min(closed, level)
        kept.append(keep)
    return kept


def _written(nodes: list[Node], lines: list[str], kept: list[bool], base: int) -> Shown:
    out: list[str] = []
    refs: set[str] = set()
    shown = missing = run = 0
    run_depth = 0
    above: list[Node] = []
    for node, line, keep in zip(nodes, lines, kept, strict=True):
        level = node.depth - base
        if keep:
            if run:
                out.append(_gap(run, run_depth, above))
                run = 0
            del above[level:]
            above.append(node)
            out.append("  " * level + line)
            shown += 1
            if node.ref:
                refs.add(node.ref)
        else:
            run_depth = level if not run else min(run_depth, level)
            run += 1
            missing += 1
    if run:
        out.append(_gap(run, run_depth, above))
    return Shown("\n".join(out), shown, missing, frozenset(refs))


def _gap(count: int, level: int, above: list[Node]) -> str:
    """Say how much is missing, and the nearest region that holds it."""
    holder = next((n.ref for n in reversed(above[:level]) if n.ref), "")
    how = f", see region {holder}" if holder else ""
    return "  " * level + f"… {count:,} more{how}"
