"""Headings as a reader sees them: without the links to themselves, and not folded away.

Generated documentation puts marks such as ``§`` and ``¶`` into its headings, and folds
sections behind their headings. Whoever reads the tree takes both for something else: the
mark for text, and what a section is folded behind for a heading of its own.
"""

from __future__ import annotations

from typing import Any

from .trees import text_of


__all__ = ["HEADINGS", "tidy_headings"]

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def tidy_headings(tree: Any, url: str) -> None:
    """Take out what stands in headings for a pointer only, and unfold what is folded.

    Args:
        tree: The page; its links are as it wrote them.
        url: Its address.
    """
    page = url.partition("#")[0]
    for link in list(tree.iter("a")):
        if _is_mark(link, page):
            link.drop_tree()
    for heading in list(tree.iter(*HEADINGS)):
        for button in list(heading.iter("button")):
            button.drop_tree()
    for summary in list(tree.iter("summary")):
        if next(summary.iter(*HEADINGS), None) is not None:
            summary.drop_tag()
        else:
            summary.tag = "p"
    for details in tree.iter("details"):
        details.tag = "div"


def _is_mark(link: Any, page: str) -> bool:
    """Tell whether a link leads to its own page under a sign, or under nothing."""
    where, hash_, _ = (link.get("href") or "").strip().partition("#")
    if not hash_ or where not in {"", page} or any(c.isalnum() for c in text_of(link)):
        return False
    return next(link.iter("img"), None) is None or any(
        each.tag in HEADINGS for each in link.iterancestors()
    )
