"""Import of locked packs from the very bytes that were checked.

A path-based import trusts ``__pycache__``, and reads a file again after anybody checked
it. Here a module's source is read once, compared with the lock, and compiled from what
was read; nothing compiled is read or written. A module that the lock does not list does
not exist.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import sys

from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType


__all__ = ["LockedImporter"]


class _SourceLoader(InspectLoader):
    """Loads one module from source that matches its digest."""

    def __init__(self, path: Path, digest: str, *, package: bool) -> None:
        self.path = path
        self._digest = digest
        self._package = package

    def get_filename(self, fullname: str) -> str:
        """Return the source file; tracebacks and resources need it."""
        del fullname
        return str(self.path)

    def is_package(self, fullname: str) -> bool:
        """Tell whether the module is a package."""
        del fullname
        return self._package

    def get_data(self, path: str | Path) -> bytes:
        """Return the bytes of a data file."""
        return Path(path).read_bytes()

    def _bytes(self, fullname: str) -> bytes:
        return _verified(self.path, self._digest, fullname)

    def get_source(self, fullname: str) -> str:
        """Return the source text."""
        return importlib.util.decode_source(self._bytes(fullname))

    def get_code(self, fullname: str) -> CodeType:
        """Compile what was read and compared; never a file that was compiled before."""
        code: CodeType = self.source_to_code(self._bytes(fullname), str(self.path))
        return code

    def get_resource_reader(self, fullname: str) -> object:
        """Let ``importlib.resources`` read the package's files."""
        from importlib.readers import FileReader  # noqa: PLC0415 - few packs have any

        del fullname
        return FileReader(self)  # type: ignore[arg-type]


class LockedImporter(MetaPathFinder):
    """Finds the modules of locked packages, and refuses their others.

    Put it in front with :meth:`install`, before a locked pack is imported.
    """

    def __init__(self) -> None:
        self._roots: dict[str, tuple[Path, Mapping[str, str]]] = {}

    def add(self, package: str, root: Path, files: Mapping[str, str]) -> None:
        """Take a package over.

        Args:
            package: Its top-level name.
            root: The folder that holds it.
            files: Path below that folder → digest, of its files.
        """
        own = {path: d for path, d in files.items() if path.startswith(package + "/")}
        single = package + ".py"
        if single in files:
            own[single] = files[single]
        self._roots[package] = (root, own)

    def install(self) -> None:
        """Put this importer before all others."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Take this importer out; loaded modules stay."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return how to load a module of a locked package; None for all others.

        Raises:
            ModuleNotFoundError: the lock lists no file for it.
        """
        del path, target
        known = self._roots.get(fullname.partition(".")[0])
        if known is None:
            return None
        root, files = known
        stem = fullname.replace(".", "/")
        for name, package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
            if name in files:
                return _source_spec(fullname, root / name, files[name], package=package)
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            for name, package in ((f"{stem}/__init__{suffix}", True), (stem + suffix, False)):
                if name in files:
                    return _extension_spec(fullname, root / name, files[name], package=package)
        if any(name.startswith(stem + "/") for name in files):
            return _namespace_spec(fullname, root / stem)
        text = f"{fullname} is not in toolcrib.lock, so it is not loaded"
        raise ModuleNotFoundError(text, name=fullname)


def _verified(path: Path, digest: str, fullname: str) -> bytes:
    data = path.read_bytes()
    found = "sha256:" + hashlib.sha256(data).hexdigest()
    if found != digest or path.is_symlink():
        text = f"{path} is not the file that toolcrib.lock lists, so it is not loaded"
        raise ImportError(text, name=fullname, path=str(path))
    return data


def _source_spec(fullname: str, path: Path, digest: str, *, package: bool) -> ModuleSpec:
    loader = _SourceLoader(path, digest, package=package)
    spec = ModuleSpec(fullname, loader, origin=str(path), is_package=package)
    spec.has_location = True
    if package:
        spec.submodule_search_locations = [str(path.parent)]
    return spec


def _extension_spec(fullname: str, path: Path, digest: str, *, package: bool) -> ModuleSpec:
    _verified(path, digest, fullname)
    loader = importlib.machinery.ExtensionFileLoader(fullname, str(path))
    spec = ModuleSpec(fullname, loader, origin=str(path), is_package=package)
    spec.has_location = True
    if package:
        spec.submodule_search_locations = [str(path.parent)]
    return spec


def _namespace_spec(fullname: str, folder: Path) -> ModuleSpec:
    """Return a folder without ``__init__`` inside a locked package."""
    spec = ModuleSpec(fullname, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec
