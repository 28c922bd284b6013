"""HTML as a tree: parsed within bounds, its links made whole, what nobody sees taken out."""

from __future__ import annotations

import re

from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import etree, html  # type: ignore[import-untyped,unused-ignore]


__all__ = ["absolute_links", "base_of", "parse", "prune", "squeezed", "text_of"]

# Everything below them is code, or is not shown to a person who reads the page.
_UNSEEN = frozenset({
    *("script", "style", "template", "noscript", "iframe", "object", "embed", "applet"),
    *("svg", "canvas", "audio", "video", "map", "dialog", "frameset", "datalist"),
})  # fmt: skip
_FRAME = frozenset({"html", "head", "body"})
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$)|(?:left|top|text-indent)\s*:\s*-\d{4,}",
    re.IGNORECASE,
)
_LINKS = (("a", "href"), ("img", "src"), ("area", "href"))
# Addresses that are whole as they are, and paths that only lack the host.
_WHOLE = re.compile(r"https?://[\w.-]+(?::\d+)?(?=[/?#]|$)")
_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
_ROOTED = re.compile(r"/(?!/)(?!.*/\.)")


def parse(text: str) -> Any | None:
    """Return the tree of a page, or None if there is none."""
    # The parser is given bytes, so that no declaration in the text counts any more.
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    data = text.encode("utf-8", "replace").replace(b"\0", b"")
    try:
        tree = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError, MemoryError):
        return None
    return tree if tree is not None else None


def prune(tree: Any) -> int:
    """Take out what a reader does not see; return how many hidden texts that were."""
    hidden = 0
    unseen: list[Any] = []
    # Nothing below what is taken out is looked at: hidden elements may be nested as deep as
    # a page is long.
    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        tag = element.tag
        if not isinstance(tag, str) or tag in _FRAME:
            continue
        if tag in _UNSEEN:
            unseen.append(element)
            walk.skip_subtree()
        elif element.attrib and _is_hidden(element):
            hidden += bool((element.text_content() or "").strip())
            unseen.append(element)
            walk.skip_subtree()
    for element in unseen:
        _drop(element)
    return hidden


def _is_hidden(element: Any) -> bool:
    if "hidden" in element.attrib and element.get("hidden") != "until-found":
        return True
    style = element.get("style")
    if style is not None and _HIDDEN.search(style):
        return True
    return bool(element.tag == "input" and element.get("type") == "hidden")


def _drop(element: Any) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def base_of(tree: Any, url: str) -> str:
    """Return the address that relative ones on the page start from."""
    for element in tree.iter("base"):
        href = (element.get("href") or "").strip()
        if href:
            try:
                found = urljoin(url, href)
            except ValueError:
                return url
            # A page may not turn its links into files or code.
            return found if urlsplit(found).scheme in {"http", "https"} else url
    return url


def absolute_links(tree: Any, base: str) -> None:
    """Make every link whole; those that only a browser could follow lose their address."""
    origin = _origin(base)
    for tag, name in _LINKS:
        for element in tree.iter(tag):
            value = element.get(name)
            if tag == "a":
                element.attrib.pop("title", None)  # it repeats the address, mostly
            if value is None:
                continue
            # As browsers do: what breaks a line is no part of an address.
            whole = _whole(value.strip().translate(_BREAKS), base, origin)
            if whole is not None:
                element.set(name, whole)
            elif tag == "img":
                element.attrib.pop(name)
            else:
                del element.attrib[name]


def _whole(value: str, base: str, origin: str) -> str | None:
    """Return the whole address of a link, or None if a program may not follow it."""
    # Most links need no parser, which is where the time went.
    if not _ODD.search(value):
        if _WHOLE.match(value):
            return value
        if value.startswith("#"):
            return base.partition("#")[0] + value
        if origin and _ROOTED.match(value):
            return origin + value
    try:
        whole = urljoin(base, value)
        scheme = urlsplit(whole).scheme.lower()
    except ValueError:
        return None
    return whole if scheme in {"http", "https", "mailto", "tel"} else None


def _origin(base: str) -> str:
    match = _WHOLE.match(base)
    return "" if match is None else match[0]


def text_of(element: Any) -> str:
    """Return an element's text with each run of white space as one space."""
    return " ".join("".join(element.itertext()).split())


def squeezed(element: Any) -> str:
    """Return an element's text without any white space: the same before and after."""
    return "".join("".join(element.itertext()).split())
