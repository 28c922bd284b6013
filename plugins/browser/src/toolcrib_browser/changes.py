"""What is different between two looks at a page."""

from __future__ import annotations

import difflib

from collections import Counter
from collections.abc import Sequence

import attrs

from .outline import Outline


__all__ = ["Changes", "changes"]

#: Above this many lines that differ, comparing them costs more than showing the page.
_MOST = 1500
#: Above this many pairs of equal lines, finding which moved could take for ever.
_PAIRS = 20_000


@attrs.frozen
class Changes:
    """What differs.

    Attributes:
        text: The lines that came and went; empty if none.
        refs: The refs that can be read in it.
    """

    text: str = ""
    refs: frozenset[str] = frozenset()


def changes(before: Outline, after: Outline, *, most: int) -> Changes | None:
    """Return what came and went, or None if it is mostly new.

    Args:
        before: The tree as it was.
        after: The tree as it is.
        most: Bytes of the answer above which showing the page is better.
    """
    old, new = before.steady(), after.steady()
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    if not gone and not came:
        return Changes()
    if len(gone) > _MOST or len(came) > _MOST:
        return None
    holders = _holders(after)
    out: list[str] = []
    refs: set[str] = set()
    for first, last, start, stop in _differences(gone, came):
        out += [f"gone  {line}" for line in gone[first:last]]
        holder = ""
        for place in range(head + start, head + stop):
            if holders[place] != holder:
                holder = holders[place]
                out.append(f"in {holder}:" if holder else "at the top:")
            out.append(f"new   {new[place]}")
            refs |= {holder, after.nodes[place].ref}
    text = "\n".join(out)
    if len(text.encode()) > most or len(out) > max(12, len(new)):
        return None
    return Changes(text, frozenset(refs - {""}))


def _holders(outline: Outline) -> list[str]:
    """Return for each node the ref of the nearest one above that has one."""
    found: list[str] = []
    above: list[tuple[int, str]] = []
    for node in outline.nodes:
        while above and above[-1][0] >= node.depth:
            above.pop()
        holder = above[-1][1] if above else ""
        found.append(holder)
        above.append((node.depth, node.ref or holder))
    return found


def _differences(
    gone: Sequence[str], came: Sequence[str]
) -> Sequence[tuple[int, int, int, int]]:
    """Return which lines of the one stand where which of the other do not."""
    here, there = Counter(gone), Counter(came)
    if sum(count * there[line] for line, count in here.items()) > _PAIRS:
        return [(0, len(gone), 0, len(came))]
    matcher = difflib.SequenceMatcher(None, gone, came, autojunk=False)
    return [(a, b, c, d) for word, a, b, c, d in matcher.get_opcodes() if word != "equal"]
