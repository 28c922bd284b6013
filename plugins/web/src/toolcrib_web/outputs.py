"""What the tools give back, for programs; the text for the model stands beside it."""

from __future__ import annotations

from typing import Any

import attrs


__all__ = ["FetchResult", "HopFact", "SearchHit", "SearchResults", "Tried", "plain"]


@attrs.frozen(kw_only=True)
class HopFact:
    """A redirect: its status, where it stood, where it leads."""

    status: int
    url: str
    location: str


@attrs.frozen(kw_only=True)
class FetchResult:
    """What was fetched.

    Attributes:
        url: Where the answer came from in the end.
        requested_url: What was asked for.
        status: As the server sent it.
        redirects: Those that were followed, in order.
        redirect_to: Where one leads that was not followed.
        kind, media_type, charset: What it is.
        title, author, site, description, language, canonical_url, published, modified:
            What the page says of itself.
        refresh_to: Where the page wants a browser to go on to.
        size: Bytes of the body after decompression.
        complete: Whether the whole body came.
        start, end, total: Which characters of the text are shown.
        cursor: To go on with; null at the end.
        sections: Headings, the first hundred.
        pages: Number of pages that were read of a paginated document.
        cache_age: Seconds for which the answer was stored; null if it came just now.
        artifact: Digest of the stored body, where it was stored.
        http_version: Protocol.
    """

    url: str
    requested_url: str
    status: int
    redirects: tuple[HopFact, ...] = ()
    redirect_to: str | None = None
    kind: str
    media_type: str
    charset: str | None = None
    title: str | None = None
    author: str | None = None
    site: str | None = None
    description: str | None = None
    language: str | None = None
    canonical_url: str | None = None
    published: str | None = None
    modified: str | None = None
    refresh_to: str | None = None
    size: int
    complete: bool = True
    start: int = 0
    end: int = 0
    total: int = 0
    cursor: str | None = None
    sections: tuple[str, ...] = ()
    pages: int = 0
    cache_age: float | None = None
    artifact: str | None = None
    http_version: str = ""


@attrs.frozen(kw_only=True)
class SearchHit:
    """One result.

    Attributes:
        title, url, snippet: What the provider says.
        provider: Who found it; further ones that found it too in ``also``.
        published: Date, as the provider says it.
        fetched_at: When the provider was asked, in ISO form.
        age: Seconds since then.
    """

    title: str
    url: str
    snippet: str
    provider: str
    also: tuple[str, ...] = ()
    published: str | None = None
    fetched_at: str
    age: float = 0.0


@attrs.frozen(kw_only=True)
class Tried:
    """What became of one provider: its state, how many results, and why it failed."""

    provider: str
    state: str
    results: int = 0
    reason: str | None = None
    seconds: float = 0.0
    cached: bool = False


@attrs.frozen(kw_only=True)
class SearchResults:
    """A page of results, and who was asked for them."""

    query: str
    results: tuple[SearchHit, ...]
    provenance: tuple[Tried, ...]
    page: int = 1
    more: bool = False


def plain(value: Any) -> Any:
    """Return an output as a JSON value."""
    return attrs.asdict(value, value_serializer=_listed)


def _listed(_: Any, __: Any, value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
