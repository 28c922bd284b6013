"""From what a call asks to the changes that would be made; nothing is written here."""

from __future__ import annotations

import os
import stat

from collections.abc import Callable, Sequence

import attrs

from . import exact, hunks, notebooks
from .diffs import unified
from .exact import Edit, Span
from .faults import Fault, from_os
from .folders import Folder
from .journal import Change
from .patch_grammar import Operation, parse
from .places import Place, locate, require_portable
from .reading import load
from .texts import Decoded, decode, digest, encode, is_binary
from .tracking import Tracker


__all__ = ["Plan", "PlannedChange", "plan_edit", "plan_patch", "plan_write"]

LARGEST_FILE = 10 * 1024 * 1024
LARGEST_SUM = 32 * 1024 * 1024
_CONTROLLED = frozenset({".git", ".hg", ".svn", ".jj"})


@attrs.frozen(kw_only=True)
class PlannedChange:
    """One change in words beside the bytes.

    Attributes:
        change: What is to be done.
        kind: ``added``, ``updated``, ``deleted``, or the two halves of a move.
        before, after: The text, where it is text.
        moved_to: Where a moved file goes.
    """

    change: Change
    kind: str
    before: str | None = attrs.field(default=None, repr=False)
    after: str | None = attrs.field(default=None, repr=False)
    moved_to: Place | None = None

    @property
    def place(self) -> Place:
        """The file."""
        return self.change.place

    def diff(self) -> str:
        """Return the change as a unified diff."""
        shown = self.place.shown
        if self.kind == "moved":
            moved = self.moved_to.shown if self.moved_to else shown
            text = unified(self.before, self.after, shown, moved)
            return text or f"--- {shown}\n+++ {moved}\n(moved, same content)\n"
        return unified(self.before, self.after, shown)


@attrs.frozen(kw_only=True)
class Plan:
    """All changes of one call.

    Attributes:
        planned: In the order of the call.
        spans: Replaced places, for an edit.
        ways: In which ways patch lines were found that did not match exactly.
    """

    planned: tuple[PlannedChange, ...]
    spans: tuple[Span, ...] = ()
    ways: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is to be done, one entry for each path."""
        out = []
        for each in self.planned:
            if each.moved_to is None:
                out.append(each.change)
                continue
            moved = each.change
            new = Change(place=each.moved_to, before=None, after=moved.after, mode=moved.mode)
            gone = Change(place=moved.place, before=moved.before, after=None, mode=moved.mode)
            out += [new, gone]
        return tuple(out)

    def diff(self) -> str:
        """Return everything as unified diffs."""
        return "".join(each.diff() for each in self.planned)


def require_writable(place: Place, *, pointer: str = "/path") -> None:
    """Refuse to write where a change would be more than a change to a file."""
    if place.path == place.root:
        text = "The path is the workspace folder itself. Name a file in it."
        raise Fault(text, kind="invalid", code="files.is_folder", pointer=pointer)
    if inside := _CONTROLLED.intersection(place.path.split("/")):
        text = (
            f"{place.shown} belongs to version control ({min(inside)}). Writing there could"
            " run programs later; use the version control's own commands."
        )
        raise Fault(text, kind="refused", code="files.protected", pointer=pointer)


def _existing(place: Place, *, pointer: str = "/path") -> tuple[bytes, int] | None:
    """Return bytes and permissions of a file, or None if nothing is there."""
    try:
        with Folder.open(place.parent) as folder:
            found = folder.find(place.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os(error, place.shown, pointer=pointer) from None
    if found is None:
        return None
    if stat.S_ISDIR(found.st_mode):
        text = f"{place.shown} is a folder. Name a file."
        raise Fault(text, kind="invalid", code="files.is_folder", pointer=pointer)
    return load(place, largest=LARGEST_FILE), stat.S_IMODE(found.st_mode)


def _text_of(data: bytes, place: Place, *, pointer: str = "/path") -> Decoded:
    if is_binary(data):
        text = (
            f"{place.shown} is no text file, so it has no text to change. Use a program for it."
        )
        raise Fault(text, kind="refused", code="files.binary", pointer=pointer)
    return decode(data)


def plan_edit(
    place: Place, edits: Sequence[Edit], tracker: Tracker, *, expected: str | None = None
) -> Plan:
    """Plan replacements of exact text in one file."""
    require_writable(place)
    found = _existing(place)
    if found is None:
        text = f"{place.shown} does not exist. Make it with files.write."
        raise Fault(text, kind="not_found", code="files.not_found", pointer="/path")
    data, mode = found
    tracker.require_unchanged(place, digest(data), expected=expected)
    decoded = _text_of(data, place)
    text, spans = exact.apply(decoded.text, edits)
    if text == decoded.text:
        message = "The edits leave the file as it is. Check old and new text."
        raise Fault(message, kind="invalid", code="files.no_change", pointer="/edits")
    notebooks.require_sound(place, decoded.text, text, pointer="/edits")
    change = Change(place=place, before=data, after=encode(text, decoded), mode=mode)
    planned = PlannedChange(change=change, kind="updated", before=decoded.text, after=text)
    return Plan(planned=(planned,), spans=spans)


def plan_write(
    place: Place, given: str, content: str, tracker: Tracker, *, expected: str | None = None
) -> Plan:
    """Plan a file's whole content; *given* is the path as the call named it."""
    require_writable(place)
    found = _existing(place)
    if found is None:
        if expected is not None:
            text = f"{place.shown} does not exist any more. Leave expect_digest out to make it."
            raise Fault(text, kind="refused", code="files.changed", pointer="/expect_digest")
        require_portable(given)
        _require_parents(place)
        data = _encoded(content)
        notebooks.require_sound(place, None, content, pointer="/content")
        change = Change(place=place, before=None, after=data)
        return Plan(planned=(PlannedChange(change=change, kind="added", after=content),))
    return _plan_overwrite(place, found, content, tracker, expected)


def _encoded(content: str) -> bytes:
    return encode(content, Decoded(text=""))


def _plan_overwrite(
    place: Place,
    found: tuple[bytes, int],
    content: str,
    tracker: Tracker,
    expected: str | None,
) -> Plan:
    data, mode = found
    tracker.require_unchanged(place, digest(data), expected=expected)
    if expected is None and data:
        tracker.require_whole(place, "replacing it")
    decoded = Decoded(text="") if is_binary(data) else decode(data)
    if decoded.lossy and "\ufffd" in content:
        text = (
            f"{place.shown} holds bytes that are no text, and the content has U+FFFD in"
            " their place: writing it would destroy them. Nothing was written. Change the"
            " part you mean with files.edit, which keeps all other bytes."
        )
        raise Fault(text, kind="refused", code="files.lossy", pointer="/content")
    like = Decoded(text="") if decoded.lossy or is_binary(data) else decoded
    after = encode(content, like)
    if after == data:
        text = f"{place.shown} holds exactly this content already. Nothing to do."
        raise Fault(text, kind="invalid", code="files.no_change", pointer="/content")
    notebooks.require_sound(place, decoded.text, content, pointer="/content")
    change = Change(place=place, before=data, after=after, mode=mode)
    planned = PlannedChange(change=change, kind="updated", before=decoded.text, after=content)
    return Plan(planned=(planned,))


def _require_parents(place: Place, *, pointer: str = "/path") -> None:
    """Refuse a new file below something that is no folder."""
    parent = place.parent
    while parent and not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    try:
        with Folder.open(parent):
            pass
    except OSError as error:
        raise from_os(error, place.shown, pointer=pointer) from None


def plan_patch(root: str, patch: str, tracker: Tracker, judge: Callable[[Place], None]) -> Plan:
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
    operation: Operation, place: Place, target: Place | None, tracker: Tracker
) -> tuple[PlannedChange, tuple[str, ...]]:
    found = _existing(place, pointer="/patch")
    if operation.kind == "add":
        return _plan_add(operation, place, found), ()
    if found is None:
        text = (
            f"Patch line {operation.number}: {place.shown} does not exist. Nothing was changed."
        )
        raise Fault(text, kind="not_found", code="files.not_found", pointer="/patch")
    data, mode = found
    tracker.require_unchanged(place, digest(data), pointer="/patch")
    if operation.kind == "delete":
        if data:
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
    _require_parents(target, pointer="/patch")


def _plan_add(
    operation: Operation, place: Place, found: tuple[bytes, int] | None
) -> PlannedChange:
    if found is None:
        require_portable(operation.path, pointer="/patch")
    _require_free(operation, place)
    content = "\n".join(operation.content) + "\n"
    notebooks.require_sound(place, None, content, pointer="/patch")
    change = Change(place=place, before=None, after=_encoded(content))
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
    decoded = _text_of(data, place, pointer="/patch")
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
