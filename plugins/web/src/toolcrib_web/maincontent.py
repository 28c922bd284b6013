"""The main content of a page: found by trafilatura, put back into the page's own structure.

trafilatura tells best which texts are content, and loses on the way what they were: the
language of code, the numbers of lists, cells of tables. So its blocks are looked up in
the page by their text, and where they are found, the page's own element is taken.
"""

from __future__ import annotations

import copy

from collections import Counter
from typing import Any

from lxml import etree, html  # type: ignore[import-untyped,unused-ignore]

from .trees import text_of


__all__ = ["main_html"]

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_RESTORED = ("table", "ul", "ol", "pre", "blockquote", "figure", "dl", "p", *_HEADINGS)
_BLOCKS = frozenset(_RESTORED)
_SHORTEST = 200
# Fewer bytes than this are looked for again, less strictly.
_WRAPPERS = frozenset({"header", "hgroup", "summary", "section"})
_LITTLE = 400
_LONGEST_HEADING = 200


def main_html(tree: Any, url: str) -> str | None:
    """Return the HTML of a page's main content, or None if it has none to speak of."""
    found = _extracted(tree, url, precise=True)
    if found is None or len(text_of(found).encode()) < _LITTLE:
        found = _extracted(tree, url, precise=False)
    body = None if found is None else found.find("body")
    if body is None:
        return None
    if len(text_of(body)) < _SHORTEST and len(text_of(tree)) > 4 * _SHORTEST:
        return None
    _Originals(tree, url).restore(body)
    return str(html.tostring(body, encoding="unicode"))


def _extracted(tree: Any, url: str, *, precise: bool) -> Any | None:
    from trafilatura import extract

    # The library changes what it is given.
    text = extract(
        copy.deepcopy(tree),
        url=url,
        output_format="html",
        # Pictures and emphasis would sway what is taken for content; both come back with
        # the page's own elements.
        favor_precision=precise,
        include_comments=False,
        include_formatting=False,
        include_images=False,
        include_links=True,
        include_tables=True,
    )
    if not text:
        return None
    # It is well-formed XML. A parser of HTML would end a paragraph at the code within it.
    return etree.fromstring(text, etree.XMLParser(recover=True, resolve_entities=False))


class _Originals:
    """The page's own elements, by their text."""

    def __init__(self, tree: Any, url: str) -> None:
        self._page = url.partition("#")[0]
        self._by_text: dict[tuple[str, str], Any] = {}
        self._inline: set[str] = set()
        self._pre: dict[str, Any] = {}
        self._tree = tree
        for element in tree.iter(*_RESTORED):
            key = (_family(element.tag), _squeezed(element))
            if key[1]:
                self._by_text.setdefault(key, element)
        for element in tree.iter("pre"):
            self._pre.setdefault(_squeezed(element), element)
        self._inline = {
            _squeezed(each)
            for each in tree.iter("code", "kbd", "samp", "tt")
            if not any(True for _ in each.iterancestors("pre"))
        }

    def restore(self, body: Any) -> None:
        """Put the page's own elements in the place of what was made of them."""
        for element in list(body.iter(*_RESTORED, "code")):
            if element.getparent() is None or _gone(element, body):
                continue
            text = _squeezed(element)
            original = self._by_text.get((_family(element.tag), text))
            if original is not None:
                _replace(element, copy.deepcopy(original))
            elif element.tag == "pre" and text in self._pre:
                _replace(element, copy.deepcopy(self._pre[text]))
            elif element.tag == "pre" and (text in self._inline or _is_inline(element)):
                element.tag = "code"
        self._add_missing(body)

    def _add_missing(self, body: Any) -> None:
        """Add what was lost between two blocks that were found: code, tables, headings."""
        texts = [(each, _squeezed(each)) for each in body.iter(*_BLOCKS)]
        have = {text: each for each, text in texts if each.tag not in _HEADINGS}
        heads = Counter(text for each, text in texts if each.tag in _HEADINGS)
        whole = _squeezed(body)
        order = [(e, _squeezed(e)) for e in self._tree.iter(*_BLOCKS)]
        last = max(
            (i for i, (_, text) in enumerate(order) if text and text in have), default=-1
        )
        anchor: Any = None
        pending: list[Any] = []
        for element, text in order[: last + 1]:
            if element.tag in _HEADINGS:
                if heads[text] > 0:
                    heads[text] -= 1
                    pending = []
                elif 0 < len(text) <= _LONGEST_HEADING and not self._leads_away(element):
                    pending.append(element)
                continue
            block = have.get(text) if text else None
            if block is None and anchor is not None and self._is_lost(element, whole):
                block = _copied(element)
                _top(anchor, body).addnext(block)
                whole += text
            if block is None:
                pending = [] if text else pending
                continue
            # A heading belongs to the block that comes next; without one it is none of ours.
            if anchor is not None:
                above = set(element.iterancestors())
                for heading in pending:
                    if _holder(heading) in above:
                        _top(block, body).addprevious(_copied(heading))
            anchor, pending = block, []

    def _leads_away(self, heading: Any) -> bool:
        """Tell whether a heading is the name of another page, as in lists of articles."""
        away = [a for a in heading.iter("a") if a.get("href")]
        linked = sum(len(_squeezed(a)) for a in away if not self._is_here(a.get("href")))
        return linked > len(_squeezed(heading)) / 2

    def _is_here(self, href: str) -> bool:
        return href.startswith("#") or href.partition("#")[0] == self._page

    @staticmethod
    def _is_lost(element: Any, whole: str) -> bool:
        text = _squeezed(element)
        if not text or text in whole:
            return False
        if element.tag == "pre":
            return True
        if element.tag != "table" or element.find(".//table") is not None:
            return False
        rows = [row for row in element.iter("tr") if len(row) > 1]
        links = sum(len(text_of(a)) for a in element.iter("a"))
        return len(rows) > 1 and links < len(text_of(element)) * 0.5


def _holder(heading: Any) -> Any:
    """Return what a heading is the heading of: the element around its wrappers."""
    holder = heading.getparent()
    while holder is not None and holder.tag in _WRAPPERS:
        holder = holder.getparent()
    return holder


def _copied(element: Any) -> Any:
    copied = copy.deepcopy(element)
    copied.tail = None
    return copied


def _family(tag: str) -> str:
    """Return what a tag may have been before: lists, and texts with or without a heading."""
    if tag in {"ul", "ol"}:
        return "list"
    return "text" if tag == "p" or tag in _HEADINGS else tag


def _squeezed(element: Any) -> str:
    """Return an element's text without any white space: the same before and after."""
    return "".join("".join(element.itertext()).split())


def _is_inline(element: Any) -> bool:
    parent = element.getparent()
    inside = parent is not None and parent.tag in {"p", "li", "td", "th", "h1", "h2", "h3", "a"}
    return inside and "\n" not in (element.text or "").strip()


def _gone(element: Any, body: Any) -> bool:
    return element is not body and not any(a is body for a in element.iterancestors())


def _top(element: Any, body: Any) -> Any:
    while element.getparent() is not None and element.getparent() is not body:
        element = element.getparent()
    return element


def _replace(old: Any, new: Any) -> None:
    new.tail = old.tail
    old.getparent().replace(old, new)
