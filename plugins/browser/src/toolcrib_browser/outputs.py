"""What the tools give back, for programs; the text for the model stands beside it."""

from __future__ import annotations

from typing import Any

import attrs


__all__ = ["Done", "Event", "Inspected", "OpenPage", "PageState", "Pages", "plain"]


@attrs.frozen(kw_only=True)
class Event:
    """Something that happened: its kind, and the same in words."""

    kind: str
    text: str


@attrs.frozen(kw_only=True)
class OpenPage:
    """An open page."""

    page: str
    url: str
    origin: str
    selected: bool = False


@attrs.frozen(kw_only=True)
class PageState:
    """A page as it was seen.

    Attributes:
        page: Its id.
        snapshot: Id of what was seen; needed by the next action. Null if nothing was.
        origin: Scheme, host and port; empty if it has none.
        url: Its address, without the values of its query.
        title: What it says it is called.
        left_out: Elements that the text does not show.
        changed: Whether anything differs from the look before; null if not compared.
        status: As the server sent it; null if nothing was fetched.
        happened: What happened meanwhile.
        pages: All open pages.
    """

    page: str
    snapshot: str | None = None
    origin: str = ""
    url: str = ""
    title: str = ""
    left_out: int = 0
    changed: bool | None = None
    status: int | None = None
    happened: tuple[Event, ...] = ()
    pages: tuple[OpenPage, ...] = ()


@attrs.frozen(kw_only=True)
class Done:
    """What was done to a page, and how the page is now."""

    action: str
    state: PageState


@attrs.frozen(kw_only=True)
class Pages:
    """The open pages, the oldest first."""

    pages: tuple[OpenPage, ...]


@attrs.frozen(kw_only=True)
class Inspected:
    """What was found.

    Attributes:
        page: Of which page.
        target: What was asked for.
        count: How many there are.
        entries: Console messages, errors, requests, or places of a text.
        rows: Cells of a table, row by row.
        artifact: Digest of what was stored.
        size: Its bytes.
    """

    page: str
    target: str
    count: int = 0
    entries: tuple[dict[str, Any], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    artifact: str | None = None
    size: int = 0


def plain(value: Any) -> Any:
    """Return an output as a JSON value."""
    return attrs.asdict(value, value_serializer=_listed)


def _listed(_: Any, __: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_listed(None, None, each) for each in value]
    return value
