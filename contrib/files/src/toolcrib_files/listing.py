"""What a folder holds, by name, in one order always."""

from __future__ import annotations

import json

from collections.abc import Callable

import attrs

from .faults import Fault
from .folders import Folder
from .places import Place, printable
from .walking import Entry, Include, Skipped, Walk, require_folder


_ALL: frozenset[Include] = frozenset({"hidden", "ignored"})
_DEEP: frozenset[Include] = frozenset({"hidden"})

__all__ = ["Listed", "Listing", "list_folder"]


@attrs.frozen
class Listed:
    """One entry; ``target`` is where a link points."""

    entry: Entry
    target: str | None = None


@attrs.frozen
class Listing:
    """A page of entries, and where the next one starts."""

    entries: tuple[Listed, ...]
    cursor: str | None
    skipped: Skipped


def list_folder(
    place: Place,
    *,
    depth: int = 1,
    limit: int = 200,
    cursor: str | None = None,
    stop: Callable[[], None] = lambda: None,
    barred: Callable[[str], bool] = lambda _: False,
) -> Listing:
    """List a folder; hidden entries and, one level deep, ignored ones are shown too."""
    require_folder(place)
    after = _decode(cursor)
    # Who lists a folder wants to know what is in it; deeper, ignored folders are noise.
    include = _ALL if depth == 1 else _DEEP
    walk = Walk(
        place,
        include,
        folders=True,
        depth=depth,
        repositories=True,
        stop=stop,
        barred=barred,
    )
    page: list[Listed] = []
    more = False
    for entry in walk:
        if after is not None and entry.key <= after:
            continue
        if len(page) == limit:
            more = True
            break
        page.append(Listed(entry, _target(place, entry) if entry.kind == "link" else None))
    last = json.dumps([0, page[-1].entry.path]) if more else None
    return Listing(tuple(page), last, walk.skipped)


def _target(place: Place, entry: Entry) -> str | None:
    path = entry.path if entry.path.startswith("/") else f"{place.root}/{entry.path}"
    parent, _, name = path.rpartition("/")
    try:
        with Folder.open(parent or "/") as folder:
            return printable(folder.readlink(name))
    except OSError:
        return None


def _decode(cursor: str | None) -> tuple[str, ...] | None:
    if cursor is None:
        return None
    try:
        _, path = json.loads(cursor)
        return tuple(path.split("/"))
    except (ValueError, TypeError, AttributeError):
        text = "The cursor is not one that this tool gave. Leave it out to start again."
        raise Fault(text, kind="invalid", code="files.bad_cursor", pointer="/cursor") from None
