"""What is different between two looks at a page."""

from __future__ import annotations

import difflib

from .outline import Outline


__all__ = ["changes"]

#: Above this many lines that differ, comparing them costs more than showing the page.
_MOST = 1500


def changes(before: Outline, after: Outline, *, most: int) -> str | None:
    """Return the lines that came and went; empty if none, None if it is mostly new.

    Args:
        before: The tree as it was.
        after: The tree as it is.
        most: Bytes of the answer above which showing the page is better.
    """
    old = [node.line(focus=False) for node in before.nodes]
    new = [node.line(focus=False) for node in after.nodes]
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    if not gone and not came:
        return ""
    if len(gone) > _MOST or len(came) > _MOST:
        return None
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, gone, came, autojunk=False)
    for word, first, last, start, stop in matcher.get_opcodes():
        if word == "equal":
            continue
        out += [f"gone  {line}" for line in gone[first:last]]
        holder = ""
        for place in range(head + start, head + stop):
            found = next((n.ref for n in after.parents(place) if n.ref), "")
            if found != holder:
                holder = found
                out.append(f"in {holder}:" if holder else "at the top:")
            out.append(f"new   {new[place]}")
    text = "\n".join(out)
    if len(text.encode()) > most or len(out) > max(12, len(new)):
        return None
    return text
