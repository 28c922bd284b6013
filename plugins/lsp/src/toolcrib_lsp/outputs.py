"""What the tools give back, for programs; the text for the model stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import attrs


__all__ = [
    "ActionFound",
    "Actions",
    "Call",
    "Calls",
    "ChangedFile",
    "Changes",
    "Diagnostic",
    "Diagnostics",
    "Hover",
    "Hovers",
    "Location",
    "Locations",
    "ServerState",
    "Source",
    "Status",
    "Symbol",
    "Symbols",
    "plain",
]


@attrs.frozen(kw_only=True)
class Location:
    """A place in a file; lines and columns from 1, columns in characters.

    Attributes:
        path: From the workspace, or absolute outside of it.
        line, column, end_line, end_column: Where it starts, and where it has ended.
        name: What stands there.
        text: The line; empty outside of the workspace.
        outside: Whether it lies outside of the workspace.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    name: str = ""
    text: str = ""
    outside: bool = False


@attrs.frozen(kw_only=True)
class Locations:
    """A page of places; ``total`` counts all of them."""

    locations: tuple[Location, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True)
class Hover:
    """What one server says about a place."""

    server: str
    text: str


@attrs.frozen(kw_only=True)
class Hovers:
    """What is known about a place."""

    hovers: tuple[Hover, ...]


@attrs.frozen(kw_only=True)
class Symbol:
    """A symbol; ``container`` is what holds it, ``detail`` its type or signature."""

    name: str
    kind: str
    location: Location
    container: str = ""
    detail: str = ""
    depth: int = 0


@attrs.frozen(kw_only=True)
class Symbols:
    """A page of symbols; ``total`` counts all of them."""

    symbols: tuple[Symbol, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True)
class Call:
    """A function that calls or is called, and the places of the calls."""

    name: str
    kind: str
    location: Location
    calls: tuple[Location, ...] = ()


@attrs.frozen(kw_only=True)
class Calls:
    """A page of calls; ``total`` counts all of them."""

    calls: tuple[Call, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True)
class Diagnostic:
    """A fault, doubt or hint about a place."""

    severity: Literal["error", "warning", "information", "hint"]
    message: str
    location: Location
    source: str = ""
    code: str = ""


@attrs.frozen(kw_only=True)
class Source:
    """How far one server's word on a file can be trusted.

    Attributes:
        server: Its name.
        state: ``current``; ``stale``: about an older text; ``unknown``: it did not say.
        reason: Why it is not current.
        version: Of the document that its word is about.
        age: Seconds since it said so.
    """

    server: str
    state: Literal["current", "stale", "unknown"]
    reason: str = ""
    version: int | None = None
    age: float | None = None


@attrs.frozen(kw_only=True)
class Diagnostics:
    """A page of diagnostics; ``known`` is false if no server spoke of the present text."""

    diagnostics: tuple[Diagnostic, ...]
    total: int
    known: bool
    sources: tuple[Source, ...]
    cursor: str | None = None


@attrs.frozen(kw_only=True)
class ServerState:
    """A server: whether it is installed, runs, and what it can do."""

    name: str
    state: str
    languages: tuple[str, ...]
    folder: str = ""
    supports: tuple[str, ...] = ()
    note: str = ""
    install: str = ""


@attrs.frozen(kw_only=True)
class Status:
    """The servers of the workspace."""

    servers: tuple[ServerState, ...]


@attrs.frozen(kw_only=True)
class ActionFound:
    """Something that a server offers to do."""

    title: str
    kind: str
    server: str
    preferred: bool = False
    usable: bool = True
    reason: str = ""


@attrs.frozen(kw_only=True)
class Actions:
    """Everything that servers offer for a place."""

    actions: tuple[ActionFound, ...]


@attrs.frozen(kw_only=True)
class ChangedFile:
    """One file that was changed."""

    path: str
    change: Literal["created", "updated", "deleted", "moved"]
    moved_to: str | None = None
    edits: int = 0
    digest: str | None = None


@attrs.frozen(kw_only=True)
class Changes:
    """Everything that a call changed; all of it, or the call failed and changed nothing."""

    files: tuple[ChangedFile, ...]
    server: str = ""


def _fields(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(field.name for field in attrs.fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    (name,) = names  # of one name it would give the bare value
    return names, lambda value: (getattr(value, name),)


def plain(value: Any) -> Any:
    """Return an output as a JSON value."""
    known = _FIELDS.get(type(value))
    if known is None:
        return [plain(each) for each in value] if isinstance(value, tuple) else value
    names, values = known
    return {
        name: each if type(each) in _PLAIN else plain(each)
        for name, each in zip(names, values(value), strict=True)
    }


_PLAIN = frozenset({str, int, float, bool, type(None)})
# The names of each, and what gives their values.
_FIELDS: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {
    kind: _fields(kind)
    for kind in (
        *(ActionFound, Actions, Call, Calls, ChangedFile, Changes, Diagnostic, Diagnostics),
        *(Hover, Hovers, Location, Locations, ServerState, Source, Status, Symbol, Symbols),
    )
}
