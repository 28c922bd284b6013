"""How much of a page is read: bounds that are counted, before work is spent on it.

A page is read in a thread that nothing can stop, so its work is bounded by what it holds:
characters, tags, the attributes of one tag (a parser compares each with all before it), and
elements, of which the search for the main content wants far fewer.
"""

from __future__ import annotations

import html
import re

from typing import Any

import attrs

from lxml import etree  # type: ignore[import-untyped,unused-ignore]


__all__ = ["MOST_ELEMENTS", "MOST_TAGS", "Extent", "cut", "extent", "flat"]

_LARGEST = 24_000_000
#: Opening and closing tags that are read of a page.
MOST_TAGS = 1_000_000
#: Elements of a page whose main content is looked for; larger ones are shown whole.
MOST_ELEMENTS = 30_000
_MOST_ATTRIBUTES = 1_000
_MOST_STEPS = 1_000_000
_DEEPEST = 400
_SHALLOW = _MOST_STEPS // MOST_ELEMENTS
_BELOW = etree.XPath("boolean(" + "/*" * (_SHALLOW + 1) + ")")
_COUNT = etree.XPath("count(//*)")
_CROWDED = 40  # steps for each element

# One attribute, and one tag, as the HTML standard takes them apart. Whatever begins like a
# tag matches, and no match is read twice, so that this costs no more than the text's length.
_ATTRIBUTE = r"""[\s/]*+=?[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+)?)?"""
_TAG = re.compile(
    r"<(?:(?P<name>script|style|textarea|title)\b"
    r"[^<]*+(?:<(?!/(?P=name))[^<]*+)*+"
    r"|!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+)"
    rf"|[a-z][^\s/>]*+(?:{_ATTRIBUTE}){{0,{_MOST_ATTRIBUTES}}}+(?P<more>(?:{_ATTRIBUTE})++)?)",
    re.IGNORECASE,
)
_RAW = re.compile(
    r"<(script|style|template|noscript)\b.*?(?:</\1|\Z)|<!--(?:-?>|.*?(?:--!?>|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_TAGS = re.compile(r"""<[a-z/!?](?:[^<>"']|"[^"]*+"|'[^']*+')*+>?""", re.IGNORECASE)


def cut(text: str) -> tuple[str, bool]:
    """Return as much of a page's source as is read, and whether anything was left out."""
    whole = len(text)
    text = text[:_LARGEST]
    if text.count("<") > MOST_TAGS:
        text = text[: _place(text, MOST_TAGS)]
    out: list[str] = []
    at = 0
    for tag in _TAG.finditer(text):
        if tag["more"]:
            out.append(text[at : tag.start("more")])
            at = tag.end()
    text = "".join([*out, text[at:]])
    return text, len(text) < whole


def _place(text: str, number: int) -> int:
    """Return where a tag begins, by its number."""
    for count, match in enumerate(re.finditer("<", text)):
        if count == number:
            return match.start()
    return len(text)


@attrs.frozen(kw_only=True)
class Extent:
    """How large a tree is.

    Attributes:
        elements: How many elements it has.
        deepest: How deep the deepest one is.
        steps: The depths of all of them together, which is what looking at every element's
            text or ancestors costs.
    """

    elements: int
    deepest: int
    steps: int

    @property
    def too_deep(self) -> bool:
        """Whether elements are nested deeper than converters can follow.

        Text within quotations and lists is written with marks for each of them, so that many
        elements at a great depth count as well.
        """
        crowded = self.steps > _MOST_STEPS and self.steps > _CROWDED * self.elements
        return self.deepest > _DEEPEST or crowded

    @property
    def too_large(self) -> bool:
        """Whether finding the main content would be too much work."""
        return self.elements > MOST_ELEMENTS or self.steps > _MOST_STEPS


def extent(tree: Any) -> Extent:
    """Measure a tree; of a shallow one, as most are, bounds are as good and cost no walk."""
    if not _BELOW(tree):
        count = int(_COUNT(tree))
        return Extent(elements=count, deepest=_SHALLOW, steps=count * _SHALLOW)
    elements = depth = deepest = steps = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        if event == "end":
            depth -= 1
            continue
        depth += 1
        elements += 1
        steps += depth
        deepest = max(deepest, depth)
    return Extent(elements=elements, deepest=deepest, steps=steps)


def flat(text: str) -> str:
    """Return the texts of a page's source, one a line, without making a tree of it."""
    bare = _TAGS.sub("\n", _RAW.sub("\n", text))
    lines = (" ".join(html.unescape(line).split()) for line in bare.split("\n"))
    return "\n".join(line for line in lines if line)
