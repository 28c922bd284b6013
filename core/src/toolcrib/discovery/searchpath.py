"""The folders that ``import`` searches, each listed once, and what it would load.

Nothing is imported and no import machinery is asked: a listing of each folder answers
where a package is. Two spellings of one folder, or a link to it, are one folder.
"""

# Every installed distribution passes here: a Path object costs more than the call it makes.
# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH208

from __future__ import annotations

import importlib.machinery
import os
import stat
import sys

from collections.abc import Iterable
from typing import Literal

import attrs

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal


__all__ = ["Folder", "Location", "SearchPath", "find_in"]


@attrs.frozen(eq=False)
class Folder:
    """A folder of the search path: its real path, and the names in it."""

    path: str
    names: frozenset[str] = attrs.field(repr=False)


@attrs.frozen
class Location:
    """Where a top-level package or module would be loaded from.

    ``folder`` is the folder that holds it, ``path`` the package's folder or the
    module's file.
    """

    folder: str
    path: str
    kind: Literal["package", "module", "namespace", "builtin"]


@attrs.frozen(eq=False)
class SearchPath:
    """What a list such as ``sys.path`` leads to.

    Attributes:
        folders: Its folders, in order.
        archives: Files in it, such as zip archives, in order.
        refusals: Folders that cannot be listed.
    """

    folders: tuple[Folder, ...]
    archives: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @classmethod
    def read(cls, path: Iterable[str]) -> SearchPath:
        """List every folder once, in the order of the path."""
        folders: list[Folder] = []
        archives: list[str] = []
        refusals: list[Refusal] = []
        seen: set[tuple[int, int]] = set()
        for entry in path:
            if not isinstance(entry, str):
                continue
            try:
                real = os.path.realpath(entry or os.curdir)
                status = os.stat(real)
                identity = (status.st_dev, status.st_ino)
                if identity in seen:
                    continue
                seen.add(identity)
                if stat.S_ISDIR(status.st_mode):
                    folders.append(Folder(real, frozenset(os.listdir(real))))
                elif stat.S_ISREG(status.st_mode):
                    archives.append(real)
            except (FileNotFoundError, NotADirectoryError):
                continue  # A path may name what is not there; import skips it too.
            except (OSError, ValueError) as error:
                refusals.append(_unlisted(entry, error))
        return cls(tuple(folders), tuple(archives), tuple(refusals))

    def find(self, package: str) -> Location | None:
        """Return what ``import package`` would load, if anything."""
        if package in sys.builtin_module_names:
            return Location("", package, "builtin")
        namespace: Location | None = None
        for folder in self.folders:
            found = find_in(folder.path, package, folder.names)
            if found is None:
                continue
            if found.kind != "namespace":
                return found
            namespace = namespace or found
        return namespace


def find_in(folder: str, package: str, names: frozenset[str] | None = None) -> Location | None:
    """Return what one folder holds under the name of a package."""
    if names is None:
        try:
            names = frozenset(os.listdir(folder))
        except OSError:
            return None
    path = os.path.join(folder, package)
    is_folder = package in names and os.path.isdir(path)
    suffixes = importlib.machinery.all_suffixes()
    if is_folder and any(os.path.isfile(os.path.join(path, "__init__" + s)) for s in suffixes):
        return Location(folder, path, "package")
    for suffix in suffixes:
        if package + suffix in names and os.path.isfile(path + suffix):
            return Location(folder, path + suffix, "module")
    return Location(folder, path, "namespace") if is_folder else None


def _unlisted(entry: str, error: Exception) -> Refusal:
    reason = getattr(error, "strerror", None) or str(error)
    return refuse(
        "metadata.unreadable",
        entry,
        f"the folder {entry!r} of the import path cannot be listed ({reason}), so packs in "
        "it are not seen: make it readable, or take it off the path",
    )
