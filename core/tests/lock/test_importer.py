"""Modules of a locked package are loaded from the source that was approved, or not at all."""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.resources
import inspect
import sys

import pytest

from toolcrib.lock import LockedImporter


def _digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.fixture
def locked(tmp_path, request):
    """Write files of a package, lock them, and put the importer before all others."""
    importer = LockedImporter()
    packages = []

    def make(package, files, *, unlisted=()):
        digests = {}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            if name not in unlisted:
                digests[name] = _digest(text)
        importer.add(package, tmp_path, digests)
        importer.install()
        packages.append(package)
        return tmp_path

    yield make
    importer.uninstall()
    importer.uninstall()
    for name in list(sys.modules):
        if name.partition(".")[0] in packages:
            del sys.modules[name]


PACKAGE = {
    "lockedone/__init__.py": b"from .part import answer\n",
    "lockedone/part.py": b"def answer():\n    return 42\n",
    "lockedone/data.txt": b"data",
    "lockedone/space/leaf.py": b"x = 1\n",
}


def test_a_package_is_loaded_from_its_source(locked):
    """Code, source text and files are those that the lock lists."""
    root = locked("lockedone", PACKAGE)
    module = importlib.import_module("lockedone")
    assert module.answer() == 42
    assert module.__file__ == str(root / "lockedone" / "__init__.py")
    assert "return 42" in inspect.getsource(module.answer)
    assert importlib.resources.files("lockedone").joinpath("data.txt").read_bytes() == b"data"
    assert module.__spec__.loader.get_data(str(root / "lockedone/data.txt")) == b"data"


def test_a_folder_without_init_is_a_part_of_its_package(locked):
    """Modules below it are locked as well."""
    locked("lockedone", PACKAGE)
    assert importlib.import_module("lockedone.space.leaf").x == 1


def test_a_module_of_a_single_file_is_locked(locked):
    """A pack may be one file."""
    locked("lockedfile", {"lockedfile.py": b"x = 2\n"})
    assert importlib.import_module("lockedfile").x == 2


def test_a_file_that_changed_is_not_loaded(locked):
    """Its digest is not the one that was approved."""
    root = locked("lockedone", PACKAGE)
    (root / "lockedone" / "part.py").write_bytes(b"def answer():\n    return 43\n")
    with pytest.raises(ImportError, match=r"is not the file that toolcrib\.lock lists"):
        importlib.import_module("lockedone")


def test_a_file_that_is_not_listed_is_not_loaded(locked):
    """Neither planted modules nor compiled ones."""
    locked("lockedone", PACKAGE, unlisted=["lockedone/part.py"])
    with pytest.raises(ModuleNotFoundError, match=r"lockedone\.part is not in toolcrib\.lock"):
        importlib.import_module("lockedone")


@pytest.mark.parametrize("stem", ["lockedext/native", "lockedext/native/__init__"])
def test_a_compiled_extension_is_compared_before_it_is_loaded(locked, stem):
    """Its bytes are approved like any source."""
    name = stem + importlib.machinery.EXTENSION_SUFFIXES[0]
    root = locked("lockedext", {"lockedext/__init__.py": b"", name: b"no library"})
    with pytest.raises(ImportError):  # the loader's own words: it is no library
        importlib.import_module("lockedext.native")
    (root / name).write_bytes(b"another")
    with pytest.raises(ImportError, match=r"is not the file that toolcrib\.lock lists"):
        importlib.import_module("lockedext.native")


def test_other_packages_are_left_alone(locked):
    """The importer answers for what is locked."""
    locked("lockedone", PACKAGE)
    assert importlib.import_module("json").loads("1") == 1


def test_an_importer_is_installed_once():
    """And taken out once, however often it is asked."""
    importer = LockedImporter()
    for _ in range(2):
        importer.install()
    assert sys.meta_path.count(importer) == 1
    for _ in range(2):
        importer.uninstall()
    assert importer not in sys.meta_path
