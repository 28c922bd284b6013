"""What a page comes to, whatever it was."""

from __future__ import annotations

from typing import Literal

import attrs


__all__ = ["Document", "Encoding", "Format", "Page", "Scope"]

Format = Literal["markdown", "text", "html", "json", "raw"]
Scope = Literal["main", "page"]


@attrs.frozen(kw_only=True)
class Encoding:
    """How the characters were found; ``passed_over`` are declarations that do not fit."""

    name: str
    source: str
    passed_over: tuple[str, ...] = ()
    lossy: bool = False


@attrs.frozen
class Page:
    """One page of a paginated document: its number, and where its text starts."""

    number: int
    start: int


@attrs.frozen(kw_only=True)
class Document:
    """A page, ready to be shown.

    Attributes:
        kind: What it was.
        text: What it says, in the format that was asked for.
        headline: The heading that stands above ``text`` on the page, in the same format;
            None where the text holds its own.
        title, author, site, description, language: What the page says of itself.
        canonical: The address that it calls its own.
        published, modified: Dates, as the page says them or in ISO form.
        encoding: How its characters were found.
        scope: Whether ``text`` is the main content or the whole page.
        refresh: Where the page itself wants to lead, by ``<meta refresh>``.
        pages: Of a paginated document.
        notes: Short words on how far to trust the text.
    """

    kind: str
    text: str = attrs.field(repr=False)
    headline: str | None = None
    title: str | None = None
    author: str | None = None
    site: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    published: str | None = None
    modified: str | None = None
    encoding: Encoding | None = None
    scope: Scope = "page"
    refresh: str | None = None
    pages: tuple[Page, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """What is shown: the headline, and the text below it."""
        return self.text if not self.headline else f"{self.headline}\n\n{self.text}"
