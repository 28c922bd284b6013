"""An answer's body to a document, by what it is."""

from __future__ import annotations

import json

from collections.abc import Mapping
from functools import cached_property

import attrs

from .charsets import decode
from .documents import Document, Encoding, Format, Scope
from .pages import read_page
from .pdfs import ReadError, read_pdf
from .sniffing import Sniffed, sniff


__all__ = ["Material", "ReadError", "read"]

_MARKUP = frozenset({"html", "feed"})
_LARGEST_JSON = 16_000_000


@attrs.frozen(kw_only=True)
class Material:
    """What is read: a body, what it is, and where it came from."""

    data: bytes = attrs.field(repr=False)
    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict)

    @cached_property
    def sniffed(self) -> Sniffed:
        """What the body is."""
        return sniff(self.data, self.headers.get("content-type"))


def read(material: Material, form: Format, scope: Scope) -> Document | None:
    """Return what a body says in the format that is wanted; None if it says nothing in text.

    Raises:
        ReadError: it cannot be read as what it is, or not as what is wanted.
    """
    what = material.sniffed
    if what.kind == "empty":
        return Document(kind="empty", text="")
    if what.kind == "pdf" and form != "raw":
        return _noted(read_pdf(material.data), what)
    if what.kind in {"image", "binary", "pdf"}:
        return None
    xml = "xml" in what.media_type
    found = decode(material.data, what.charset, markup=what.kind in _MARKUP or xml)
    encoding = Encoding(
        name=found.encoding,
        source=found.source,
        passed_over=found.passed_over,
        lossy=found.lossy,
    )
    return _noted(_text(found.text, what, material, encoding, form=form, scope=scope), what)


def _text(
    text: str,
    what: Sniffed,
    material: Material,
    encoding: Encoding,
    *,
    form: Format,
    scope: Scope,
) -> Document:
    if form == "json":
        return _json(text, encoding, required=True)
    if form == "raw":
        return Document(kind=what.kind, text=text, encoding=encoding)
    if what.kind == "feed" and form != "html":
        from .feeds import is_entity_bomb, read_feed

        feed = None if is_entity_bomb(text) else read_feed(text, material.url, encoding)
        if feed is not None:
            return feed
    if what.kind == "html":
        return read_page(
            text,
            material.url,
            encoding=encoding,
            form=form,
            scope=scope,
            headers=material.headers,
        )
    if what.kind == "json":
        return _json(text, encoding, required=False)
    return Document(kind="text", text=text, encoding=encoding)


def _json(text: str, encoding: Encoding, *, required: bool) -> Document:
    """Return JSON, indented; what is none stays as it is, or cannot be read."""
    try:
        if len(text) > _LARGEST_JSON:
            return Document(kind="json", text=text, encoding=encoding)
        shown = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError) as error:
        if required:
            words = f"The body is no JSON: {str(error)[:200]}. Ask for another format."
            raise ReadError(words) from error
        return Document(kind="text", text=text, encoding=encoding)
    return Document(kind="json", text=shown, encoding=encoding)


def _noted(document: Document, what: Sniffed) -> Document:
    notes = list(document.notes)
    if what.contradicts is not None:
        notes.append("type_contradicts_header")
    encoding = document.encoding
    if encoding is not None and encoding.lossy:
        notes.append("lossy")
    if encoding is not None and encoding.source == "guess":
        notes.append("encoding_guessed")
    return attrs.evolve(document, notes=tuple(notes))
