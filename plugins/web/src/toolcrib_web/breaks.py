"""Paragraphs that a page makes of pairs of line breaks, made into real ones.

Whoever reads the tree sees one text with links in it otherwise, and takes it apart at the
wrong places.
"""

from __future__ import annotations

from typing import Any

from lxml import etree  # type: ignore[import-untyped,unused-ignore]


__all__ = ["mend_breaks"]

_CONTAINERS = frozenset({"div", "article", "section", "main", "body", "td", "center", "font"})
_BLOCKS = frozenset({
    *("p", "div", "article", "section", "main", "table", "ul", "ol", "dl", "pre", "figure"),
    *("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "form", "header", "footer"),
    *("nav", "aside", "address", "fieldset", "details", "center", "iframe", "script", "style"),
})  # fmt: skip


def mend_breaks(tree: Any) -> None:
    """Make a paragraph of each run of text that two line breaks end."""
    parents: dict[int, Any] = {}
    for each in tree.iter("br"):
        after, parent = each.getnext(), each.getparent()
        pair = after is not None and after.tag == "br" and not (each.tail or "").strip()
        if pair and parent is not None and parent.tag in _CONTAINERS:
            parents[id(parent)] = parent
    for parent in parents.values():
        _mend(parent)


class _Runs:
    """The content of one element, taken apart and put together anew."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._open: Any = None

    def text(self, text: str | None) -> None:
        if not text or (self._open is None and not text.strip()):
            return
        paragraph = self._paragraph()
        if len(paragraph):
            paragraph[-1].tail = (paragraph[-1].tail or "") + text
        else:
            paragraph.text = (paragraph.text or "") + text

    def inline(self, element: Any) -> None:
        self._paragraph().append(element)

    def block(self, element: Any) -> None:
        self.end()
        self._parent.append(element)

    def end(self) -> None:
        self._open = None

    def _paragraph(self) -> Any:
        if self._open is None:
            self._open = etree.SubElement(self._parent, "p")
        return self._open


def _mend(parent: Any) -> None:
    children, first = list(parent), parent.text
    for child in children:
        parent.remove(child)
    parent.text = None
    runs = _Runs(parent)
    runs.text(first)
    skip = False
    for child, following in zip(children, [*children[1:], None], strict=True):
        tail, child.tail = child.tail, None
        if child.tag in _BLOCKS:
            runs.block(child)
        elif child.tag != "br":
            runs.inline(child)
        elif following is not None and following.tag == "br" and not (tail or "").strip():
            runs.end()
            skip = True
        elif skip:
            skip = False
        else:
            runs.inline(child)
        if child.tag != "br":
            skip = False
        runs.text(tail)
