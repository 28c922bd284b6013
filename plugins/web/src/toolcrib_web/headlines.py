"""A page's headline: the heading above its content, which extractors hold apart from it.

It is not guessed at by size or place. What counts is that it stands above the first block of
the content, that it names no other page, and that the page's title says the same; where no
heading does, the nearest one of the first level is taken.
"""

from __future__ import annotations

import copy

from typing import Any

from .headings import HEADINGS
from .missing import BLOCKS, leads_away
from .trees import squeezed


__all__ = ["headline"]


def headline(tree: Any, body: Any, url: str, title: str) -> Any | None:
    """Return the heading that stands above a page's content and is not part of it.

    Args:
        tree: The page.
        body: Its content, made of the page's own elements.
        url: Of the page.
        title: What the page calls itself; may be empty.
    """
    above = [h for h in _above(tree, body) if not leads_away(h, url.partition("#")[0])]
    said = [h for h in above if _folded(squeezed(h)) in _folded(title)]
    first = [h for h in above if h.tag == "h1"]
    # Of those that say as much, the nearest.
    found = max(reversed(said), key=lambda h: len(squeezed(h)), default=None)
    if found is None:
        found = first[-1] if first else None
    if found is None or any(squeezed(h) == squeezed(found) for h in body.iter(*HEADINGS)):
        return None
    found = copy.deepcopy(found)
    found.tail = None
    return found


def _above(tree: Any, body: Any) -> list[Any]:
    """Return the headings that come before the first block of the content."""
    blocks = {squeezed(each) for each in body.iter(*BLOCKS) if each.tag not in HEADINGS}
    blocks.discard("")
    above: list[Any] = []
    for each in tree.iter(*BLOCKS):
        if each.tag in HEADINGS:
            if _folded(squeezed(each)):
                above.append(each)
        elif squeezed(each) in blocks:
            return above
    return []


def _folded(text: str) -> str:
    """Return a text's letters and digits, case aside: titles differ in dashes and quotes."""
    return "".join(character for character in text.casefold() if character.isalnum())
