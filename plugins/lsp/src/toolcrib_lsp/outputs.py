"""What the tools give back, for programs; the text for the model stands beside it."""

from __future__ import annotations

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


@attrs.frozen(kw_only=True, slots=False)
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


@attrs.frozen(kw_only=True, slots=False)
class Locations:
    """A page of places; ``total`` counts all of them."""

    locations: tuple[Location, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Hover:
    """What one server says about a place."""

    server: str
    text: str


@attrs.frozen(kw_only=True, slots=False)
class Hovers:
    """What is known about a place."""

    hovers: tuple[Hover, ...]


@attrs.frozen(kw_only=True, slots=False)
class Symbol:
    """A symbol; ``container`` is what holds it, ``detail`` its type or signature."""

    name: str
    kind: str
    location: Location
    container: str = ""
    detail: str = ""
    depth: int = 0


@attrs.frozen(kw_only=True, slots=False)
class Symbols:
    """A page of symbols; ``total`` counts all of them."""

    symbols: tuple[Symbol, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Call:
    """A function that calls or is called, and the places of the calls."""

    name: str
    kind: str
    location: Location
    calls: tuple[Location, ...] = ()


@attrs.frozen(kw_only=True, slots=False)
class Calls:
    """A page of calls; ``total`` counts all of them."""

    calls: tuple[Call, ...]
    total: int
    server: str
    cursor: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Diagnostic:
    """A fault, doubt or hint about a place."""

    severity: Literal["error", "warning", "information", "hint"]
    message: str
    location: Location
    source: str = ""
    code: str = ""


@attrs.frozen(kw_only=True, slots=False)
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


@attrs.frozen(kw_only=True, slots=False)
class Diagnostics:
    """A page of diagnostics; ``known`` is false if no server spoke of the present text."""

    diagnostics: tuple[Diagnostic, ...]
    total: int
    known: bool
    sources: tuple[Source, ...]
    cursor: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class ServerState:
    """A server: whether it is installed, runs, and what it can do."""

    name: str
    state: str
    languages: tuple[str, ...]
    folder: str = ""
    supports: tuple[str, ...] = ()
    note: str = ""
    install: str = ""


@attrs.frozen(kw_only=True, slots=False)
class Status:
    """The servers of the workspace."""

    servers: tuple[ServerState, ...]


@attrs.frozen(kw_only=True, slots=False)
class ActionFound:
    """Something that a server offers to do."""

    title: str
    kind: str
    server: str
    preferred: bool = False
    usable: bool = True
    reason: str = ""


@attrs.frozen(kw_only=True, slots=False)
class Actions:
    """Everything that servers offer for a place."""

    actions: tuple[ActionFound, ...]


@attrs.frozen(kw_only=True, slots=False)
class ChangedFile:
    """One file that was changed."""

    path: str
    change: Literal["created", "updated", "deleted", "moved"]
    moved_to: str | None = None
    edits: int = 0
    digest: str | None = None


@attrs.frozen(kw_only=True, slots=False)
class Changes:
    """Everything that a call changed; all of it, or the call failed and changed nothing."""

    files: tuple[ChangedFile, ...]
    server: str = ""


def plain(value: Any) -> Any:
    """Return an output as a JSON value.

    Outputs have no slots, for the dictionary of their fields is nearly what goes out.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    made = vars(value).copy()
    for name, each in made.items():
        if type(each) not in _PLAIN:
            made[name] = plain(each)
    return made


_PLAIN = frozenset({str, int, float, bool, type(None)})
