"""Several files changed as one: all or none, also if the process dies in between.

Before anything is changed, the old bytes and a plan are on disk in the journal's
folder. Whoever finds a plan there first undoes it: each file that holds the new bytes
gets its old ones back. A file that holds neither was changed by somebody else since; it
is left alone, its old bytes are kept, and the call fails and says so.
"""

from __future__ import annotations

import json
import os
import secrets
import stat

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from . import replacing
from .faults import Fault
from .folders import Folder
from .places import Place, printable
from .reading import load
from .texts import digest


__all__ = ["Change", "Done", "Journal"]

FORMAT = 1


@attrs.frozen(kw_only=True)
class Change:
    """What becomes of one file; None stands for no file."""

    place: Place
    before: bytes | None = attrs.field(repr=False)
    after: bytes | None = attrs.field(repr=False)
    mode: int | None = None


@attrs.frozen
class Done:
    """What was worth saying about changes that were made."""

    notes: tuple[str, ...] = ()


class Journal:
    """Applies changes, with a plan on disk where one step is not enough.

    Args:
        folder: A private folder outside of the workspace; made on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def apply(self, changes: Sequence[Change]) -> Done:
        """Make all changes or none.

        One change that replaces one file is one step by itself and needs no plan.
        """
        if len(changes) == 1 and not self._pending() and _single_step(changes[0]):
            made = _missing(changes[0])
            try:
                return Done(_perform(changes[0]))
            except BaseException:
                _remove_folders(made)
                raise
        with self._exclusive():
            self._recover()
            return self._transaction(changes)

    def recover(self) -> None:
        """Undo what a process that died left half done."""
        if self._pending():
            with self._exclusive():
                self._recover()

    def _pending(self) -> bool:
        return self._folder.is_dir() and any(self._folder.glob("*.json"))

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._folder / "lock", flags, 0o600)
        try:
            replacing.lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _transaction(self, changes: Sequence[Change]) -> Done:
        name = secrets.token_hex(8)
        missing = [f for c in changes if c.after is not None for f in _missing(c)]
        plan = {
            "format": FORMAT,
            "root": changes[0].place.root,
            "steps": [self._save(name, number, each) for number, each in enumerate(changes)],
            "folders": sorted(set(missing)),
        }
        self._put(f"{name}.json", json.dumps(plan).encode())
        notes: list[str] = []
        reached = 0
        try:
            for change in changes:
                notes += _perform(change)
                reached += 1
        except BaseException:
            self._undo(name, plan, reached)
            raise
        self._forget(name)
        return Done(tuple(dict.fromkeys(notes)))

    def _save(self, name: str, number: int, change: Change) -> dict[str, Any]:
        in_place = False
        if change.before is not None:
            self._put(f"{name}.{number}.old", change.before)
            in_place = change.after is not None and not replacing.takes_new_files(change.place)
        if in_place:
            # With both at hand a broken overwrite can be told from a foreign change.
            self._put(f"{name}.{number}.new", change.after or b"")
        return {
            "path": change.place.path,
            "before": None if change.before is None else digest(change.before),
            "after": None if change.after is None else digest(change.after),
            "mode": change.mode,
            "in_place": in_place,
        }

    def _put(self, name: str, data: bytes) -> None:
        with Folder.open(os.path.realpath(self._folder)) as folder:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            temporary = f"{name}.part"
            with suppress(FileNotFoundError):
                folder.unlink(temporary)
            descriptor = folder.open_file(temporary, flags)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            folder.replace(temporary, name)
            folder.sync()

    def _forget(self, name: str) -> None:
        # The plan goes first: without it the saved bytes are only litter.
        with suppress(FileNotFoundError):
            (self._folder / f"{name}.json").unlink()
        for saved in self._folder.glob(f"{name}.*"):
            saved.unlink(missing_ok=True)

    def _recover(self) -> None:
        for file in sorted(self._folder.glob("*.json")):
            self._undo(file.stem, _read_plan(file))

    def _undo(self, name: str, plan: dict[str, Any], reached: int | None = None) -> None:
        """Undo a plan; *reached* is the step that failed, if that is known."""
        stuck = []
        for number, step in reversed(list(enumerate(plan["steps"][: _behind(reached)]))):
            undone = self._undo_step(f"{name}.{number}", plan["root"], step)
            # A step that failed and left what is not ours had not begun.
            if not undone and number != reached:
                stuck.append(step["path"])
        _remove_folders(plan["folders"])
        if stuck:
            kept = self._folder / f"{name}.json"
            kept.rename(kept.with_suffix(".conflict"))
            text = (
                "A change to several files could not be undone as a whole, because something"
                f" else changed {', '.join(map(printable, stuck))} meanwhile. The old bytes"
                f" are kept in the pack's state folder under {name}; ask a person to look."
            )
            raise Fault(text, kind="failed", code="files.recovery_conflict")
        self._forget(name)

    def _undo_step(self, saved: str, root: str, step: dict[str, Any]) -> bool:
        place = Place(root, step["path"], step["path"])
        now = _bytes_of(place)
        current = None if now is None else digest(now)
        if current == step["before"]:
            return True
        if current != step["after"] and not self._is_torn(saved, now, step):
            return False
        if step["before"] is None:
            replacing.remove(place, expected=str(current))
            return True
        before = (self._folder / f"{saved}.old").read_bytes()
        if digest(before) != step["before"]:
            return False
        _put_back(place, now, before, step["mode"])
        return True

    def _is_torn(self, saved: str, now: bytes | None, step: dict[str, Any]) -> bool:
        """Whether a file is new bytes up to some point and old ones from there on."""
        if not step["in_place"] or now is None:
            return False
        old = (self._folder / f"{saved}.old").read_bytes()
        new = (self._folder / f"{saved}.new").read_bytes()
        pairs = enumerate(zip(now, new, strict=False))
        same = next((i for i, (a, b) in pairs if a != b), min(len(now), len(new)))
        return now[same:] == old[same:]


def _behind(reached: int | None) -> int | None:
    return None if reached is None else reached + 1


def _put_back(place: Place, now: bytes | None, before: bytes, mode: int | None) -> None:
    if now is None:
        replacing.make_folders(place)
        replacing.create(place, before, mode=mode)
    elif replacing.takes_new_files(place):
        replacing.replace(place, before, expected=digest(now))
    else:
        replacing.overwrite(place, before, expected=digest(now))


def _single_step(change: Change) -> bool:
    if change.before is None or change.after is None:
        return True
    return replacing.takes_new_files(change.place)


def _missing(change: Change) -> list[str]:
    return replacing.missing_folders(change.place)


def _perform(change: Change) -> tuple[str, ...]:
    if change.after is None:
        replacing.remove(change.place, expected=digest(change.before or b""))
        return ()
    if change.before is None:
        replacing.make_folders(change.place)
        replacing.create(change.place, change.after, mode=change.mode)
        return ()
    expected = digest(change.before)
    if replacing.takes_new_files(change.place):
        parted = replacing.replace(change.place, change.after, expected=expected)
        return ("hard_link_parted",) if parted else ()
    replacing.overwrite(change.place, change.after, expected=expected)
    return ("written_in_place",)


def _bytes_of(place: Place) -> bytes | None:
    try:
        return load(place)
    except Fault as fault:
        if fault.code == "files.not_found":
            return None
        raise


def _remove_folders(made: Sequence[str]) -> None:
    """Remove folders that were made for nothing; one in use by now stays."""
    for path in reversed(made):
        parent, _, name = path.rpartition("/")
        with suppress(OSError), Folder.open(parent or "/") as folder:
            folder.rmdir(name)


def _read_plan(file: Path) -> dict[str, Any]:
    """Read a plan; one that is not ours, or not whole, fails closed."""
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            raise ValueError  # noqa: TRY301 - told below as any other broken plan
        plan: dict[str, Any] = json.loads(file.read_bytes())
        if plan["format"] != FORMAT or not all("path" in step for step in plan["steps"]):
            raise ValueError  # noqa: TRY301
    except (ValueError, KeyError, TypeError, OSError):
        text = (
            f"{file.name} in the pack's state folder is no plan of this version. Nothing was"
            " changed. Ask a person to look at it and move it away."
        )
        raise Fault(text, kind="failed", code="files.journal_broken") from None
    return plan
