"""From the text of a patch to the changes that it asks for; nothing is written here."""

from __future__ import annotations

import os

from collections.abc import Callable

from . import hunks, notebooks
from .changing import (
    Plan,
    PlannedChange,
    encoded,
    existing,
    require_parents,
    require_writable,
    text_of,
)
from .faults import Fault
from .journal import Change
from .patch_grammar import Operation, parse
from .places import Place, locate, require_portable
from .texts import decode, digest, encode, is_binary
from .tracking import Tracker


__all__ = ["patch_paths", "plan_patch"]

LARGEST_SUM = 32 * 1024 * 1024


def patch_paths(patch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths that a patch reads and those that it writes, as written."""
    reads: list[str] = []
    writes: list[str] = []
    for operation in parse(patch):
        writes.append(operation.path)
        if operation.kind != "add":
            reads.append(operation.path)
        if operation.move_to is not None:
            writes.append(operation.move_to)
    return tuple(reads), tuple(writes)


def plan_patch(
    root: str, patch: str, tracker: Tracker | None, judge: Callable[[Place], None]
) -> Plan:
    """Plan a patch over several files.

    Args:
        root: The workspace.
        patch: Its text.
        tracker: What the session has seen.
        judge: Called with every path before anything is read; raises to refuse.
    """
    operations = parse(patch)
    places: dict[str, int] = {}
    located: list[tuple[Operation, Place, Place | None]] = []
    for operation in operations:
        place = _patch_place(root, operation.path, operation.number)
        target = None
        if operation.move_to is not None:
            target = _patch_place(root, operation.move_to, operation.number + 1)
            if target.path == place.path:
                target = None  # moved onto itself: an update of a file that stays
        for each in (place, target):
            if each is None:
                continue
            if each.path in places:
                text = (
                    f"Patch line {operation.number}: {each.shown} is named already on line"
                    f" {places[each.path]}. Put all changes of a file into one section."
                )
                raise Fault(text, kind="invalid", code="files.patch_overlap", pointer="/patch")
            places[each.path] = operation.number
            judge(each)
        located.append((operation, place, target))
    planned: list[PlannedChange] = []
    ways: list[str] = []
    for operation, place, target in located:
        one, found_ways = _plan_operation(operation, place, target, tracker)
        planned.append(one)
        ways += found_ways
    total = sum(len(p.change.before or b"") + len(p.change.after or b"") for p in planned)
    if total > LARGEST_SUM:
        text = f"The patch touches more than {LARGEST_SUM:,} bytes. Split it."
        raise Fault(text, kind="invalid", code="files.too_large", pointer="/patch")
    return Plan(planned=tuple(planned), ways=tuple(dict.fromkeys(ways)))


def _patch_place(root: str, path: str, number: int) -> Place:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or {"", ".."} & set(parts):
        text = (
            f"Patch line {number}: {path[:200]!r} must be a path from the workspace, with"
            " single slashes, without '..' and backslashes."
        )
        raise Fault(text, kind="invalid", code="files.path_invalid", pointer="/patch")
    place = locate(root, path, pointer="/patch")
    require_writable(place, pointer="/patch")
    return place


def _plan_operation(
    operation: Operation, place: Place, target: Place | None, tracker: Tracker | None
) -> tuple[PlannedChange, tuple[str, ...]]:
    found = existing(place, pointer="/patch")
    if operation.kind == "add":
        return _plan_add(operation, place, found), ()
    if found is None:
        text = (
            f"Patch line {operation.number}: {place.shown} does not exist. Nothing was changed."
        )
        raise Fault(text, kind="not_found", code="files.not_found", pointer="/patch")
    data, mode = found
    if tracker is not None:
        tracker.require_unchanged(place, digest(data), pointer="/patch")
    if operation.kind == "delete":
        if data and tracker is not None:
            tracker.require_whole(place, "deleting it", pointer="/patch")
        before = None if is_binary(data) else decode(data).text
        change = Change(place=place, before=data, after=None, mode=mode)
        return PlannedChange(change=change, kind="deleted", before=before), ()
    if target is not None:
        _require_free(operation, target)
    return _plan_update(operation, place, target, data, mode)


def _require_free(operation: Operation, target: Place) -> None:
    require_portable(operation.move_to or operation.path, pointer="/patch")
    if os.path.lexists(target.path):
        text = (
            f"Patch line {operation.number}: {target.shown} exists already, and nothing is"
            " ever overwritten by adding or moving. Nothing was changed. Choose another"
            " name, or update that file."
        )
        raise Fault(text, kind="refused", code="files.exists", pointer="/patch")
    require_parents(target, pointer="/patch")


def _plan_add(
    operation: Operation, place: Place, found: tuple[bytes, int] | None
) -> PlannedChange:
    if found is None:
        require_portable(operation.path, pointer="/patch")
    _require_free(operation, place)
    content = "\n".join(operation.content) + "\n"
    notebooks.require_sound(place, None, content, pointer="/patch")
    change = Change(place=place, before=None, after=encoded(content))
    return PlannedChange(change=change, kind="added", after=content)


def _plan_update(
    operation: Operation, place: Place, target: Place | None, data: bytes, mode: int
) -> tuple[PlannedChange, tuple[str, ...]]:
    if not operation.hunks:
        text = None if is_binary(data) else decode(data).text
        if target is None:
            message = f"Patch line {operation.number}: {place.shown} would stay as it is."
            raise Fault(message, kind="invalid", code="files.no_change", pointer="/patch")
        change = Change(place=place, before=data, after=data, mode=mode)
        planned = PlannedChange(
            change=change, kind="moved", before=text, after=text, moved_to=target
        )
        return planned, ()
    decoded = text_of(data, place, pointer="/patch")
    applied = hunks.apply(decoded.text, operation.hunks, place.shown)
    if applied.text == decoded.text and target is None:
        message = f"Patch line {operation.number}: {place.shown} would stay as it is."
        raise Fault(message, kind="invalid", code="files.no_change", pointer="/patch")
    notebooks.require_sound(place, decoded.text, applied.text, pointer="/patch")
    change = Change(place=place, before=data, after=encode(applied.text, decoded), mode=mode)
    planned = PlannedChange(
        change=change,
        kind="updated" if target is None else "moved",
        before=decoded.text,
        after=applied.text,
        moved_to=target,
    )
    return planned, applied.ways
