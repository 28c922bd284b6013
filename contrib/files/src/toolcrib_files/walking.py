"""A walk over a folder: in one order always, and every place left out is counted."""

from __future__ import annotations

import os
import stat

from collections.abc import Callable, Iterator
from typing import Literal

import attrs

from .faults import Fault, from_os
from .folders import Folder
from .ignoring import Rules, rules_above
from .places import VERSION_CONTROL, Place, printable


__all__ = ["Entry", "Include", "Reason", "Skipped", "Walk", "require_folder"]

Include = Literal["hidden", "ignored", "binary", "large"]
Reason = Literal[
    "hidden",
    "ignored",
    "binary",
    "large",
    "link",
    "repository",
    "special",
    "unreadable",
    "denied",
]
_MOST_NAMED = 3


@attrs.frozen
class Entry:
    """One file or folder met on the way.

    Attributes:
        path: From the workspace, ``/`` between parts; absolute outside of it.
        kind: What it is; a link is not followed.
        size, modified: Of the file, modified in nanoseconds.
    """

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    modified: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """What the walk's order goes by."""
        return tuple(self.path.split("/"))


class Skipped:
    """How many places were left out, and why."""

    def __init__(self) -> None:
        self.counts: dict[Reason, int] = {}
        self.named: dict[Reason, list[str]] = {}

    def add(self, reason: Reason, path: str) -> None:
        """Count a place."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        names = self.named.setdefault(reason, [])
        if len(names) < _MOST_NAMED:
            names.append(printable(path))

    def as_words(self) -> dict[str, int]:
        """Return the counts by reason, for an answer."""
        return {str(reason): count for reason, count in sorted(self.counts.items())}

    def sentence(self, *, switches: bool = True) -> str:
        """Say what was left out and how to include it; empty if nothing was."""
        if not self.counts:
            return ""
        parts = []
        for reason, count in sorted(self.counts.items()):
            names = ", ".join(self.named[reason]) + (", …" if count > _MOST_NAMED else "")
            parts.append(f"{count} {reason} ({names})")
        known = [r for r in ("hidden", "ignored", "binary", "large") if r in self.counts]
        text = "Skipped: " + "; ".join(parts) + "."
        if known and switches:
            text += f" To look there too: include={known!r}, or name the path.".replace(
                "'", '"'
            )
        return text


@attrs.define
class Walk:
    """A walk over everything below a folder.

    Attributes:
        place: Where it starts; what is named itself is never left out.
        include: Reasons that are no reason to leave out.
        folders: Whether folders are given too, each before its entries.
        depth: How deep to go; None for all the way.
        repositories: Whether version control's own folders are given, not entered.
        skipped: What was left out so far.
        stop: Called between entries; raises to end the walk.
        barred: Whether rules keep the call from a path, absolute; a folder with all in it.
    """

    place: Place
    include: frozenset[Include] = frozenset()
    folders: bool = False
    depth: int | None = None
    repositories: bool = False
    skipped: Skipped = attrs.field(factory=Skipped)
    stop: Callable[[], None] = attrs.field(default=lambda: None)
    barred: Callable[[str], bool] = attrs.field(default=lambda _: False)

    def __iter__(self) -> Iterator[Entry]:
        place = self.place
        try:
            folder = Folder.open(place.path)
        except OSError as error:
            raise from_os(error, place.shown) from None
        base = "" if place.relative == "." else place.relative
        rules = Rules()
        if place.inside and "ignored" not in self.include:
            try:
                rules = rules_above(place.root, place.relative)
            except OSError as error:
                folder.close()
                raise from_os(error, place.shown) from None
        with folder:
            yield from self._below(folder, base, rules, 1)

    def _below(self, folder: Folder, path: str, rules: Rules, depth: int) -> Iterator[Entry]:
        if "ignored" not in self.include:
            rules = rules.below(folder, path)
        for name, found in self._sorted(folder, path):
            self.stop()
            entry = _entry(f"{path}/{name}" if path else name, found)
            reason = self._reason(name, entry, rules)
            if reason == "repository" and self.repositories:
                yield entry
            elif reason:
                self.skipped.add(reason, entry.path)
            elif entry.kind == "folder":
                if self.folders:
                    yield entry
                if self.depth is None or depth < self.depth:
                    yield from self._enter(folder, name, entry, rules, depth)
            else:
                yield entry

    def _enter(
        self, folder: Folder, name: str, entry: Entry, rules: Rules, depth: int
    ) -> Iterator[Entry]:
        try:
            child = folder.child(name)
        except OSError:
            self.skipped.add("unreadable", entry.path)
            return
        with child:
            yield from self._below(child, entry.path, rules, depth + 1)

    def _sorted(self, folder: Folder, path: str) -> list[tuple[str, os.stat_result]]:
        entries: list[tuple[str, os.stat_result]] = []
        try:
            with folder.readable() as listing, os.scandir(listing) as found:
                for entry in found:
                    try:
                        entries.append((entry.name, entry.stat(follow_symlinks=False)))
                    except OSError:
                        where = f"{path}/{entry.name}" if path else entry.name
                        self.skipped.add("unreadable", where)
        except OSError:
            self.skipped.add("unreadable", path or ".")
        entries.sort()
        return entries

    def _reason(self, name: str, entry: Entry, rules: Rules) -> Reason | None:
        if self.barred(self._absolute(entry)):
            return "denied"
        if name in VERSION_CONTROL and entry.kind != "link":
            return "repository"
        if name.startswith(".") and "hidden" not in self.include:
            return "hidden"
        if rules.layers and rules.ignores(entry.path, folder=entry.kind == "folder"):
            return "ignored"
        return None

    def _absolute(self, entry: Entry) -> str:
        if entry.path.startswith("/"):
            return entry.path
        return f"{self.place.root.rstrip('/')}/{entry.path}"


def _entry(path: str, found: os.stat_result) -> Entry:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return Entry(path, "file", found.st_size, found.st_mtime_ns)
    if stat.S_ISDIR(mode):
        return Entry(path, "folder", 0, found.st_mtime_ns)
    if stat.S_ISLNK(mode):
        return Entry(path, "link", 0, found.st_mtime_ns)
    return Entry(path, "other", 0, found.st_mtime_ns)


def require_folder(place: Place) -> None:
    """Refuse what is no folder."""
    if place.path not in ("/", place.root):
        try:
            with Folder.open(place.parent) as parent:
                mode = parent.stat(place.name).st_mode
        except OSError as error:
            raise from_os(error, place.shown) from None
        if not stat.S_ISDIR(mode):
            text = f"{place.shown} is a file. Name a folder, or read it with files.read."
            raise Fault(text, kind="invalid", code="files.not_folder", pointer="/path")
