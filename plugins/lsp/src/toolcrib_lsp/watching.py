"""What changed in a folder since the last look."""

from __future__ import annotations

import os

from collections.abc import Iterator
from typing import Literal

import attrs

from .inotify import Notices


__all__ = ["IGNORED", "Change", "Watch"]

# Folders that hold no source, or other people's; servers look into them by themselves.
IGNORED = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", ".cache", ".venv", ".tox", ".nox", ".idea", ".vscode"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".toolcrib", "__pycache__"),
        *("node_modules", "site-packages", "venv"),
    }
)
_MOST = 50_000

_Key = tuple[int, int, int, int]
_Known = dict[str, _Key]


@attrs.frozen
class Change:
    """One file that is new, different or gone."""

    path: str
    kind: Literal["created", "changed", "deleted"]


class Watch:
    """Knows the files below a folder; links to folders are not followed.

    Args:
        root: The folder.
        notices: Where events come from; without working ones every look is a whole one.
        most: Files that are known; what is more is not watched (``full`` is true then).

    Attributes:
        version: Counts the looks after which :meth:`covers` may say something else.
    """

    def __init__(self, root: str, *, notices: Notices | None = None, most: int = _MOST) -> None:
        self._root = root
        self._notices = Notices() if notices is None else notices
        self._most = most
        self._count = 0
        self._folders: dict[str, _Known] = {}
        self._watched: dict[int, str] = {}
        self.full = False
        self.version = 0

    def start(self) -> None:
        """Take the files as they are."""
        self._enter(self._root, [])

    def files(self) -> Iterator[str]:
        """Give every file that is known."""
        for folder, known in self._folders.items():
            for name in known:
                yield f"{folder}/{name}"

    def covers(self, path: str) -> bool:
        """Tell whether every change of a file is certain to be noticed by a look."""
        folder, _, name = path.rpartition("/")
        return self._notices.working and name in self._folders.get(folder, ())

    def poll(self) -> list[Change]:
        """Return what changed since the last look, by path."""
        changes: list[Change] = []
        if not self._notices.working:
            self.version += 1
            self._everything(changes)
            return _merged(changes)
        events = self._notices.read()
        if events is None:
            self.version += 1
            self._everything(changes)
        elif events:
            self.version += 1
            self._some(events, changes)
        return _merged(changes) if changes else changes

    def close(self) -> None:
        """Let go."""
        self._notices.close()

    def _everything(self, changes: list[Change]) -> None:
        for folder in sorted(self._folders):
            if folder in self._folders:
                self._look(folder, changes)

    def _some(self, events: list[tuple[int, str]], changes: list[Change]) -> None:
        touched: dict[str, set[str]] = {}
        for number, name in events:
            folder = self._watched.get(number)
            if folder is not None:
                touched.setdefault(folder, set()).add(name)
        for folder in sorted(touched):
            if folder in self._folders:
                self._look(folder, changes, touched[folder])

    def _look(self, folder: str, changes: list[Change], named: set[str] | None = None) -> None:
        """Compare a folder with what is known of it."""
        known = self._folders[folder]
        files, folders = _listed(folder)
        if files is None:
            self._leave(folder, changes)
            return
        for name in sorted(known.keys() - files.keys()):
            del known[name]
            self._count -= 1
            changes.append(Change(f"{folder}/{name}", "deleted"))
        for name, key in files.items():
            before = known.get(name)
            if before is None:
                self._new(folder, known, name, key, changes)
            elif before != key or (named is not None and name in named):
                known[name] = key
                changes.append(Change(f"{folder}/{name}", "changed"))
        for name in folders:
            if f"{folder}/{name}" not in self._folders:
                self._enter(f"{folder}/{name}", changes)
        prefix = folder + "/"
        below = [
            f for f in self._folders if f.startswith(prefix) and "/" not in f[len(prefix) :]
        ]
        for each in below:
            if each[len(prefix) :] not in folders:
                self._leave(each, changes)

    def _new(
        self, folder: str, known: _Known, name: str, key: _Key, changes: list[Change]
    ) -> None:
        if self._count >= self._most:
            self.full = True
            return
        self._count += 1
        known[name] = key
        changes.append(Change(f"{folder}/{name}", "created"))

    def _enter(self, folder: str, changes: list[Change]) -> None:
        """Begin to know a folder and what is below it."""
        waiting = [folder]
        while waiting:
            at = waiting.pop()
            # Watched before it is read: what comes between is then seen twice, not never.
            number = self._notices.add(at)
            if number >= 0:
                self._watched[number] = at
            files, folders = _listed(at)
            if files is None:
                continue
            known = self._folders.setdefault(at, {})
            for name, key in files.items():
                self._new(at, known, name, key, changes)
            if not self.full:
                waiting += [f"{at}/{name}" for name in folders]

    def _leave(self, folder: str, changes: list[Change]) -> None:
        prefix = folder + "/"
        for each in [f for f in self._folders if f == folder or f.startswith(prefix)]:
            for name in self._folders.pop(each):
                self._count -= 1
                changes.append(Change(f"{each}/{name}", "deleted"))
        gone = [n for n, f in self._watched.items() if f == folder or f.startswith(prefix)]
        for number in gone:
            del self._watched[number]


def _listed(folder: str) -> tuple[_Known | None, set[str]]:
    files: _Known = {}
    folders: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in IGNORED:
                            folders.add(entry.name)
                        continue
                    s = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                files[entry.name] = (s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_ino)
    except OSError:
        return None, folders
    return files, folders


def _merged(changes: list[Change]) -> list[Change]:
    """Return one change for each path, the last word."""
    by_path: dict[str, Change] = {}
    for change in changes:
        by_path[change.path] = change
    return [by_path[path] for path in sorted(by_path)]
