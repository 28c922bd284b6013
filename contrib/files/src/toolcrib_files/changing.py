"""From what a call asks to the changes that would be made; nothing is written here."""

from __future__ import annotations

import os
import stat

from collections.abc import Sequence
from typing import Literal

import attrs

from . import exact, notebooks
from .attributes import mode_without_list, safe_mode
from .diffs import unified
from .exact import Edit, Span
from .faults import Fault, from_os
from .folders import Folder
from .journal import Change
from .places import Place, controls_versions, printable, require_portable
from .reading import load
from .texts import Decoded, decode, digest, encode, is_binary
from .tracking import Tracker


__all__ = [
    "Plan",
    "PlannedChange",
    "encoded",
    "existing",
    "plan_edit",
    "plan_write",
    "require_parents",
    "require_writable",
    "text_of",
]

LARGEST_FILE = 10 * 1024 * 1024


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
    kind: Literal["added", "updated", "deleted", "moved"]
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
    inside = [part for part in place.path.split("/") if controls_versions(part)]
    if inside:
        text = (
            f"{place.shown} belongs to version control ({printable(inside[0])}). Writing"
            " there could run programs later; use the version control's own commands."
        )
        raise Fault(text, kind="refused", code="files.protected", pointer=pointer)


def existing(place: Place, *, pointer: str = "/path") -> tuple[bytes, int] | None:
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
    data = load(place, largest=LARGEST_FILE)
    return data, _mode_of(place, found)


def _mode_of(place: Place, found: os.stat_result) -> int:
    """Return the mode that a file has under a new name."""
    try:
        with Folder.open(place.parent) as folder:
            descriptor = folder.open_file(place.name)
    except OSError as error:
        raise from_os(error, place.shown) from None
    try:
        return mode_without_list(descriptor, safe_mode(found.st_mode))
    finally:
        os.close(descriptor)


def text_of(data: bytes, place: Place, *, pointer: str = "/path") -> Decoded:
    """Decode a file whose text is to be changed; what is no text is refused."""
    if is_binary(data):
        text = (
            f"{place.shown} is no text file, so it has no text to change. Use a program for it."
        )
        raise Fault(text, kind="refused", code="files.binary", pointer=pointer)
    return decode(data)


def plan_edit(
    place: Place, edits: Sequence[Edit], tracker: Tracker | None, *, expected: str | None = None
) -> Plan:
    """Plan replacements of exact text in one file."""
    require_writable(place)
    found = existing(place)
    if found is None:
        text = f"{place.shown} does not exist. Make it with files.write."
        raise Fault(text, kind="not_found", code="files.not_found", pointer="/path")
    data, mode = found
    if tracker is not None:
        tracker.require_unchanged(place, digest(data), expected=expected)
    decoded = text_of(data, place)
    text, spans = exact.apply(decoded.text, edits)
    if text == decoded.text:
        message = "The edits leave the file as it is. Check old and new text."
        raise Fault(message, kind="invalid", code="files.no_change", pointer="/edits")
    notebooks.require_sound(place, decoded.text, text, pointer="/edits")
    change = Change(place=place, before=data, after=encode(text, decoded), mode=mode)
    planned = PlannedChange(change=change, kind="updated", before=decoded.text, after=text)
    return Plan(planned=(planned,), spans=spans)


def plan_write(
    place: Place,
    given: str,
    content: str,
    tracker: Tracker | None,
    *,
    expected: str | None = None,
) -> Plan:
    """Plan a file's whole content; *given* is the path as the call named it."""
    require_writable(place)
    found = existing(place)
    if found is None:
        if expected is not None:
            text = f"{place.shown} does not exist any more. Leave expect_digest out to make it."
            raise Fault(text, kind="refused", code="files.changed", pointer="/expect_digest")
        require_portable(given)
        require_parents(place)
        data = encoded(content)
        notebooks.require_sound(place, None, content, pointer="/content")
        change = Change(place=place, before=None, after=data)
        return Plan(planned=(PlannedChange(change=change, kind="added", after=content),))
    return _plan_overwrite(place, found, content, tracker, expected)


def encoded(content: str) -> bytes:
    """Encode the text of a new file."""
    return encode(content, Decoded(text=""))


def _plan_overwrite(
    place: Place,
    found: tuple[bytes, int],
    content: str,
    tracker: Tracker | None,
    expected: str | None,
) -> Plan:
    data, mode = found
    if tracker is not None:
        tracker.require_unchanged(place, digest(data), expected=expected)
    if tracker is not None and expected is None and data:
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


def require_parents(place: Place, *, pointer: str = "/path") -> None:
    """Refuse a new file below something that is no folder."""
    parent = place.parent
    while parent and not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    try:
        with Folder.open(parent):
            pass
    except OSError as error:
        raise from_os(error, place.shown, pointer=pointer) from None
