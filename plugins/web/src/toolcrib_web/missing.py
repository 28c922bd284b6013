"""What an extractor lost of a page's content: headings, code and tables between its blocks."""

from __future__ import annotations

import copy

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any

import attrs

from .headings import HEADINGS
from .trees import squeezed, text_of


__all__ = ["BLOCKS", "Missing", "leads_away"]

#: What content is made of.
BLOCKS = ("table", "ul", "ol", "pre", "blockquote", "figure", "dl", "p", *HEADINGS)
_WRAPPERS = frozenset({"header", "hgroup", "summary", "section"})
_SECTIONS = frozenset({"div", "section", "li", "dd"})
_TEXTS = frozenset({"p", "ul", "ol", "blockquote"})
_LISTS = frozenset({"ul", "ol"})
# A link that stands alone is in no block, or in one that is nothing else.
_LINKED = ("a", "div")
_LONGEST_HEADING = 200


class Missing:
    """Puts what was lost between two blocks that were found back into its place.

    Args:
        tree: The page.
        texts: The text of each of its blocks, squeezed, in the order of the page.
        body: What was found of it, made of the page's own elements.
        url: Of the page.
        lead: Whether the heading above the first block that was found is put back too.
    """

    def __init__(
        self, tree: Any, texts: Mapping[Any, str], body: Any, url: str, *, lead: bool
    ) -> None:
        self._lead = lead
        self._tree = tree
        self._texts = texts
        self._body = body
        self._page = url.partition("#")[0]
        self._blocks: defaultdict[str, deque[Any]] = defaultdict(deque)
        self._heads: Counter[tuple[str, str]] = Counter()
        for each in body.iter(*BLOCKS):
            text = squeezed(each)
            if each.tag in HEADINGS:
                self._heads[each.tag, text] += 1
            elif text:
                self._blocks[text].append(each)
        self._whole = squeezed(body)
        self._anchor: Any = None
        # What holds blocks that were found: with the last of them, and whether one is passed.
        self._holders: dict[Any, Any] = {}
        self._begun: set[Any] = set()
        self._pending = _Pending()

    def add(self) -> None:
        """Go through the page up to the last block that was found."""
        last: Any = None
        for each, text in self._texts.items():
            if text in self._blocks:
                last = each
                self._holders[each.getparent()] = each
        for element in self._tree.iter(*BLOCKS, *_LINKED):
            if last is None:
                return
            known = self._texts.get(element)
            if known is None and self._is_between(element):
                known = squeezed(element)
            if known:
                self._pass(element, known)
            if element is last:
                return

    def _pass(self, element: Any, text: str) -> None:
        holder = element.getparent()
        if self._holders.get(holder) is element:
            # Whatever follows in there is below all of the content.
            del self._holders[holder]
        if element.tag in HEADINGS:
            self._heading(element, text)
        else:
            self._block(element, text)

    def _heading(self, element: Any, text: str) -> None:
        if self._heads[element.tag, text] > 0:
            self._heads[element.tag, text] -= 1
            self._pending.passed(element, text)
        elif len(text) <= _LONGEST_HEADING and not leads_away(element, self._page):
            self._pending.heading(element)

    def _block(self, element: Any, text: str) -> None:
        known = self._blocks.get(text)
        # A text may stand on the page more often than in its content: the first are meant.
        block = known.popleft() if known else None
        if known is None and self._anchor is not None and self._is_lost(element, text):
            block = _copied(element)
            _top(self._anchor, self._body).addnext(block)
            self._whole += text
        if block is None:
            self._pending.lost(element)
            return
        if known is not None:
            self._begun.add(element.getparent())
        if self._anchor is None:
            self._pending.keep_last()
        if self._anchor is not None or self._lead:
            self._pending.give(element, _top(block, self._body))
        self._anchor = block
        self._pending.clear()

    def _is_between(self, element: Any) -> bool:
        """Tell whether an element stands by itself between two blocks that were found."""
        around = element.getparent()
        if around not in self._holders or around not in self._begun:
            return False
        if element.tag in _LISTS or element.tag == "a":
            return True
        # A box with a name of its own is as often an advertisement.
        plain = not element.attrib and next(element.iter(*BLOCKS), None) is None
        return plain and squeezed(element) == "".join(map(squeezed, element.iter("a")))

    def _is_lost(self, element: Any, text: str) -> bool:
        """Tell whether a block is content by its nature: code, and tables of data."""
        if text in self._whole:
            return False
        if element.tag in _LISTS or element.tag in _LINKED:
            return self._is_between(element) and next(element.iter("a"), None) is not None
        if element.tag not in {"pre", "table"}:
            return False
        if element.tag == "pre":
            return True
        if element.find(".//table") is not None:
            return False
        rows = [row for row in element.iter("tr") if len(row) > 1]
        links = sum(len(text_of(a)) for a in element.iter("a"))
        return len(rows) > 1 and links < len(text_of(element)) * 0.5


def leads_away(heading: Any, page: str) -> bool:
    """Tell whether a heading is the name of another page, as in lists of articles."""
    away = [
        a for a in heading.iter("a") if (href := a.get("href")) and not _is_here(href, page)
    ]
    return sum(len(squeezed(a)) for a in away) > len(squeezed(heading)) / 2


def _is_here(href: str, page: str) -> bool:
    return href.startswith("#") or href.partition("#")[0] == page


@attrs.frozen(eq=False)
class _Waiting:
    element: Any
    holder: Any
    below: int  # how many headings that were found came before it


class _Pending:
    """Headings that wait for a block of theirs; without one they are none of ours.

    A text that is no content ends the wait, but for sections that hold one heading only,
    as generated documentation makes them: whatever follows in there is below it, and what
    was lost of a small one is part of it.
    """

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._found: list[tuple[str, str]] = []
        self._own: dict[Any, bool] = {}

    def clear(self) -> None:
        self._waiting, self._found = [], []

    def heading(self, element: Any) -> None:
        """Take a heading that was not found."""
        self._waiting.append(_Waiting(element, _holder(element), len(self._found)))

    def keep_last(self) -> None:
        """Of what came before the first block, keep the nearest heading only."""
        self._waiting = self._waiting[-1:]

    def passed(self, element: Any, text: str) -> None:
        """Take a heading that was found: what contains it goes on."""
        self._keep(element)
        if self._waiting:
            self._found.append((element.tag, text))
        else:
            self.clear()

    def lost(self, element: Any) -> None:
        """Take a text that was not found."""
        self._keep(element)
        if self._waiting and element.tag in _TEXTS:
            holder = self._waiting[-1].holder
            self._waiting.append(_Waiting(element, holder, len(self._found)))

    def give(self, element: Any, block: Any) -> None:
        """Put what waits above a block that was found, and above the headings before it."""
        holders = set(element.iterancestors())
        ready = [each for each in self._waiting if each.holder in holders]
        if not ready:
            return
        places = [block]
        for tag, text in reversed(self._found):
            before = places[-1].getprevious()
            if before is None or before.tag != tag or squeezed(before) != text:
                break
            places.append(before)
        for each in ready:
            number = min(len(self._found) - each.below, len(places) - 1)
            places[number].addprevious(_copied(each.element))

    def _keep(self, element: Any) -> None:
        """Keep the sections of their own that contain an element."""
        above = set(element.iterancestors()) if self._waiting else set()
        self._waiting = [
            each
            for each in self._waiting
            if each.holder in above and self._is_section(each.element, each.holder)
        ]

    def _is_section(self, element: Any, holder: Any) -> bool:
        if element.tag not in HEADINGS:
            return True
        known = self._own.get(element)
        if known is None:
            others = (e for e in holder.iter(*HEADINGS) if e is not element)
            known = element.tag > "h2" and holder.tag in _SECTIONS
            known = known and all(each.tag > element.tag for each in others)
            self._own[element] = known
        return known


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


def _top(element: Any, body: Any) -> Any:
    while element.getparent() is not None and element.getparent() is not body:
        element = element.getparent()
    return element
