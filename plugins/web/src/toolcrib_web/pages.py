"""An HTML page to a document: the right part of it, as Markdown, text or HTML."""

from __future__ import annotations

import re

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from lxml import html  # type: ignore[import-untyped,unused-ignore]

from .breaks import mend_breaks
from .documents import Document, Encoding, Format, Scope
from .headings import tidy_headings
from .maincontent import main_html
from .markdown import to_markdown
from .metadata import Metadata, metadata_of
from .trees import absolute_links, base_of, parse, prune, too_deep


__all__ = ["read_page"]

# Above this, finding the main content takes longer than anybody waits.
_LARGEST_MAIN = 3_000_000
_LARGEST = 24_000_000
_LITTLE = 200


def read_page(
    text: str,
    url: str,
    *,
    encoding: Encoding,
    form: Format,
    scope: Scope,
    headers: Mapping[str, str],
) -> Document:
    """Return what a page says.

    Args:
        text: Its source.
        url: Where it came from.
        encoding: How its characters were found.
        form: What is wanted of it.
        scope: Main content, or the whole page.
        headers: Of the answer.
    """
    notes: list[str] = []
    if len(text) > _LARGEST:
        text, notes = text[:_LARGEST], ["page_cut"]
    tree = parse(text)
    if tree is None:
        return _plain(text, encoding, notes)
    said = metadata_of(tree, url, headers)
    scripts = sum(1 for _ in tree.iter("script"))
    if prune(tree):
        notes.append("hidden_text_left_out")
    deep = too_deep(tree)
    if not deep:
        mend_breaks(tree)
        tidy_headings(tree, url)
    absolute_links(tree, base_of(tree, url))
    source: str | None = None
    if scope == "main" and not deep and len(text) <= _LARGEST_MAIN:
        source = main_html(tree, url)
    found: Scope = "page" if source is None else "main"
    if scope == "main" and source is None:
        notes.append("whole_page")
    if source is None:
        source = str(html.tostring(tree, encoding="unicode"))
    shown = _shown(source, form, whole=text if deep else None)
    if scripts and len(shown) < _LITTLE and form != "html":
        notes.append("little_text_page_may_need_a_browser")
    return _document(shown, said, encoding, found, notes)


def _document(
    text: str, said: Metadata, encoding: Encoding, scope: Scope, notes: list[str]
) -> Document:
    return Document(
        kind="html",
        text=text,
        title=said.title,
        author=said.author,
        site=said.site,
        description=said.description,
        language=said.language,
        canonical=said.canonical,
        published=said.published,
        modified=said.modified,
        refresh=said.refresh,
        encoding=encoding,
        scope=scope,
        notes=tuple(notes),
    )


def _shown(source: str, form: Format, *, whole: str | None) -> str:
    """Return what is shown of HTML; ``whole`` is all of it where no tree can hold it."""
    if form == "html":
        return source
    text = to_markdown(source) if whole is None else _lines(whole)
    return _unmarked(text) if form == "text" else text


def _plain(text: str, encoding: Encoding, notes: list[str]) -> Document:
    return Document(kind="html", text=_lines(text), encoding=encoding, notes=tuple(notes))


# Each of these is read once from where it begins to where it cannot go on, and no beginning
# lies inside of another one: a page of nothing but openings costs no more than its length.
_LABEL = r"\[((?:[^\[\]\\]|\\.)*+)\]"
_ADDRESS = r"(?:<[^<>]*+>|[^()<\s]*+(?:\([^()]*+\)[^()\s]*+)?)"
_TITLE = r'(?: "[^"]*+")?'
_MARKS = (
    (re.compile(rf"!{_LABEL}\({_ADDRESS}{_TITLE}\)"), r"\1"),
    (re.compile(rf"(?<!\\){_LABEL}\({_ADDRESS}{_TITLE}\)"), r"\1"),
    (re.compile(r"(?m)^#{1,6} "), ""),
)
_OPENS = re.compile(r"(\*\*|__|~~)(?=\S)")
_CLOSES = {mark: re.compile(rf"(?<=\S){re.escape(mark)}") for mark in ("**", "__", "~~")}


def _unmarked(text: str) -> str:
    """Return Markdown as plain text: links, images, headings and emphasis lose their marks."""
    for pattern, by in _MARKS:
        text = pattern.sub(by, text)
    return "\n".join(map(_unstressed, text.split("\n")))


def _unstressed(line: str) -> str:
    """Return a line without the marks of emphasis."""
    out: list[str] = []
    at = look = 0
    open_ended: set[str] = set()
    while found := _OPENS.search(line, look):
        look = found.end()
        if found[0] in open_ended:
            continue
        end = _CLOSES[found[0]].search(line, look + 1)
        if end is None:
            # Nothing closes it, so nothing closes what opens later either.
            open_ended.add(found[0])
            continue
        out += [line[at : found.start()], line[found.end() : end.start()]]
        at = look = end.end()
    return "".join([*out, line[at:]])


class _Texts(HTMLParser):
    """Collects text without a tree, for pages that are nested too deeply for one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in {"script", "style", "template", "noscript"}:
            self._silent += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style", "template", "noscript"}:
            self._silent = max(0, self._silent - 1)

    def handle_data(self, data: str) -> None:
        if not self._silent and data.strip():
            self.found.append(" ".join(data.split()))


def _lines(source: str) -> str:
    parser = _Texts()
    parser.feed(source[:4_000_000])
    return "\n".join(parser.found)
