"""The main content of a page: found by trafilatura, put back into the page's own structure.

trafilatura tells best which texts are content, and loses on the way what they were: the
language of code, the numbers of lists, cells of tables. So its blocks are looked up in
the page by their text, and where they are found, the page's own element is taken.
"""

from __future__ import annotations

import copy

from typing import Any

import attrs

from lxml import etree, html  # type: ignore[import-untyped,unused-ignore]

from .headings import HEADINGS
from .headlines import headline
from .missing import BLOCKS, Missing
from .trees import squeezed, text_of


__all__ = ["Main", "main_content"]

_SHORTEST = 200
# Fewer bytes than this are looked for again, less strictly.
_LITTLE = 400
# Of so short a page nothing is worth finding: all of it is shown but what stands around it.
_SMALL = 300
# A page with no more text than this many times its content is hardly anything else.
_MOSTLY = 1.4
_AROUND = ("nav", "footer", "aside")


@attrs.frozen(kw_only=True)
class Main:
    """The main content of a page.

    Attributes:
        source: Its HTML.
        headline: The heading above it, as HTML; None where it holds its own, or has none.
    """

    source: str = attrs.field(repr=False)
    headline: str | None = None


def main_content(tree: Any, url: str, title: str) -> Main | None:
    """Return a page's main content, or None if it has none to speak of.

    Args:
        tree: The page.
        url: Its address.
        title: What it calls itself; may be empty.
    """
    small = _own(tree) if len(text_of(tree)) <= 4 * _SMALL else None
    if small is not None and len(text_of(small)) <= _SMALL:
        return Main(source=_written(small))
    found = _extracted(tree, url, precise=True)
    if found is None or len(text_of(found).encode()) < _LITTLE:
        found = _extracted(tree, url, precise=False)
    body = None if found is None else found.find("body")
    if body is None:
        return None
    if len(text_of(body)) < _SHORTEST and len(text_of(tree)) > 4 * _SHORTEST:
        return None
    originals = _Originals(tree, url)
    own = _own(tree)
    mostly = own is not None and len(text_of(own)) <= _MOSTLY * len(text_of(body))
    if mostly and originals.flattened(body):
        return Main(source=_written(own))
    originals.restore(body, lead=mostly)
    above = headline(tree, body, url, title)
    return Main(source=_written(body), headline=None if above is None else _written(above))


def _own(tree: Any) -> Any | None:
    """Return a copy of a page's body without menus and the like; None if nothing is left."""
    body = tree.find("body")
    if body is None:
        return None
    own = copy.deepcopy(body)
    for element in list(own.iter(*_AROUND)):
        element.drop_tree()
    return own if text_of(own) else None


def _written(body: Any) -> str:
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
        self._url = url
        # First by what it is as well: examples have many headings, of different levels.
        self._by_text: dict[tuple[str, str], Any] = {}
        self._inline: set[str] = set()
        self._pre: dict[str, Any] = {}
        self._tree = tree
        self._texts = {element: squeezed(element) for element in tree.iter(*BLOCKS)}
        for element, text in self._texts.items():
            if text:
                self._by_text.setdefault((element.tag, text), element)
                self._by_text.setdefault((_family(element.tag), text), element)
        for element in tree.iter("pre"):
            self._pre.setdefault(squeezed(element), element)
        self._inline = {
            squeezed(each)
            for each in tree.iter("code", "kbd", "samp", "tt")
            if not any(True for _ in each.iterancestors("pre"))
        }

    def flattened(self, body: Any) -> bool:
        """Tell whether a paragraph was made of several elements, which are lost in it."""
        return any(
            "\n" in (each.text or "").strip()
            and len(each) == 0
            and self._original("p", squeezed(each)) is None
            for each in body.iter("p")
        )

    def _original(self, tag: str, text: str) -> Any | None:
        found = self._by_text.get((tag, text))
        return self._by_text.get((_family(tag), text)) if found is None else found

    def restore(self, body: Any, *, lead: bool) -> None:
        """Put the page's own elements in the place of what was made of them.

        Args:
            body: What was found.
            lead: Whether the heading above all of it is wanted too.
        """
        for element in list(body.iter(*BLOCKS, "code")):
            if element.getparent() is None or _gone(element, body):
                continue
            text = squeezed(element)
            original = self._original(element.tag, text)
            if original is not None:
                _replace(element, copy.deepcopy(original))
            elif element.tag == "pre" and text in self._pre:
                _replace(element, copy.deepcopy(self._pre[text]))
            elif element.tag == "pre" and (text in self._inline or _is_inline(element)):
                element.tag = "code"
        Missing(self._tree, self._texts, body, self._url, lead=lead).add()


def _family(tag: str) -> str:
    """Return what a tag may have been before: lists, and texts with or without a heading."""
    if tag in {"ul", "ol"}:
        return "list"
    return "text" if tag == "p" or tag in HEADINGS else tag


def _is_inline(element: Any) -> bool:
    parent = element.getparent()
    inside = parent is not None and parent.tag in {"p", "li", "td", "th", "h1", "h2", "h3", "a"}
    return inside and "\n" not in (element.text or "").strip()


def _gone(element: Any, body: Any) -> bool:
    return element is not body and not any(a is body for a in element.iterancestors())


def _replace(old: Any, new: Any) -> None:
    new.tail = old.tail
    old.getparent().replace(old, new)
