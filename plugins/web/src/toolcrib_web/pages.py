"""An HTML page to a document: the right part of it, as Markdown, text or HTML."""

from __future__ import annotations

import re

from collections.abc import Mapping

import attrs

from lxml import html  # type: ignore[import-untyped,unused-ignore]

from .breaks import mend_breaks
from .documents import Document, Encoding, Format, Scope
from .headings import tidy_headings
from .maincontent import main_content
from .markdown import to_markdown
from .metadata import Metadata, metadata_of
from .sizes import cut, extent, flat
from .trees import absolute_links, base_of, parse, prune


__all__ = ["read_page"]

# Above this, finding the main content takes longer than anybody waits.
_LARGEST_MAIN = 3_000_000
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
    text, was_cut = cut(text)
    notes = ["page_cut"] if was_cut else []
    tree = parse(text)
    if tree is None:
        return Document(kind="html", text=flat(text), encoding=encoding, notes=tuple(notes))
    said = metadata_of(tree, url, headers)
    scripts = sum(1 for _ in tree.iter("script"))
    size = extent(tree)
    deep = size.too_deep
    if prune(tree) and not deep:
        notes.append("hidden_text_left_out")
    if deep:
        notes.append("too_deep_for_structure")
    else:
        mend_breaks(tree)
        tidy_headings(tree, url)
    absolute_links(tree, base_of(tree, url))
    main = None
    large = len(text) > _LARGEST_MAIN or size.too_large
    if scope == "main" and not deep and not large:
        main = main_content(tree, url, said.title or "")
    found: Scope = "page" if main is None else "main"
    if scope == "main" and main is None:
        notes.append("whole_page")
    source = str(html.tostring(tree, encoding="unicode")) if main is None else main.source
    shown = _shown(source, form, plain=flat(text) if deep else None)
    above = None if main is None else main.headline
    headline = None if above is None else _shown(above, form, plain=None)
    if scripts and len(shown) < _LITTLE and form != "html":
        notes.append("little_text_page_may_need_a_browser")
    document = _document(shown, said, encoding, found, notes)
    return attrs.evolve(document, headline=headline)


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


def _shown(source: str, form: Format, *, plain: str | None) -> str:
    """Return what is shown of HTML; ``plain`` is its text where no converter can follow it."""
    if form == "html":
        return source
    text = to_markdown(source) if plain is None else plain
    return _unmarked(text) if form == "text" else text


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
