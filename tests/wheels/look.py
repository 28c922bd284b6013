"""Look into built distributions: ``python look.py DIST`` says what is wrong, and leaves with 1.

Every wheel holds its package, its licence, its type marker and nothing else; what declares
a pack holds a manifest that names it; its metadata is whole; and a
source distribution builds the same files.
"""

from __future__ import annotations

import csv
import email
import json
import re
import sys
import tarfile
import zipfile

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


MARKS = tuple(b"/" + name + b"/" for name in (b"home", b"root", b"Users", b"work"))
PLAIN = {".py", ".json", ".md", ".toml", ".typed", ".txt"}


class Wheel:
    """One wheel, opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = zipfile.ZipFile(path)
        self.names = sorted(n for n in self.archive.namelist() if not n.endswith("/"))
        self.distribution, self.version = path.name.split("-")[:2]
        self.info = f"{self.distribution}-{self.version}.dist-info"

    def text(self, name: str) -> str:
        """Return a file's text, or nothing where there is none."""
        return self.archive.read(name).decode() if name in self.names else ""

    def faults(self) -> Iterator[str]:
        """Say what is wrong."""
        yield from self._files()
        yield from self._metadata()
        yield from self._record()
        yield from self._pack()

    def _files(self) -> Iterator[str]:
        for name in self.names:
            top = PurePosixPath(name).parts[0]
            if top not in {self.distribution, self.info}:
                yield f"{name} lies outside of the package"
            if name.endswith((".pyc", ".pyo", ".orig", ".rej")) or "__pycache__" in name:
                yield f"{name} is no source"
            if "/tests/" in name or "conftest" in name:
                yield f"{name} is a test"
            if PurePosixPath(name).suffix in PLAIN:
                data = self.archive.read(name)
                yield from (f"{name} holds {mark.decode()}" for mark in MARKS if mark in data)
        for name in (f"{self.distribution}/__init__.py", f"{self.distribution}/py.typed"):
            if name not in self.names:
                yield f"{name} is missing"

    def _metadata(self) -> Iterator[str]:
        fields = email.message_from_string(self.text(f"{self.info}/METADATA"))
        for key in ("Name", "Version", "Summary", "Requires-Python", "Keywords"):
            if not fields.get(key):
                yield f"METADATA has no {key}"
        if fields.get("License-Expression") != "MIT":
            yield "METADATA does not say that the licence is MIT"
        if not any(name.startswith(f"{self.info}/licenses/") for name in self.names):
            yield "the licence's text is missing"
        if "Typing :: Typed" not in fields.get_all("Classifier", []):
            yield "METADATA does not say that it is typed"
        if len(fields.get_payload()) < 100:
            yield "METADATA has hardly a description"

    def _record(self) -> Iterator[str]:
        rows = {
            row[0] for row in csv.reader(self.text(f"{self.info}/RECORD").splitlines()) if row
        }
        for name in sorted(set(self.names) ^ rows):
            yield f"RECORD and archive differ: {name}"

    def _pack(self) -> Iterator[str]:
        points = self.text(f"{self.info}/entry_points.txt")
        section = points.partition("[toolcrib.packs.v1]")[2].partition("[")[0]
        for pack, module in re.findall(r"^([\w-]+)\s*=\s*([\w.]+)", section, re.MULTILINE):
            where = f"{module.partition('.')[0]}/toolcrib.json"
            if where not in self.names:
                yield f"it declares the pack {pack!r} and holds no {where}"
                continue
            manifest = json.loads(self.text(where))
            if manifest.get("pack") != pack or manifest.get("api") != 1:
                yield f"{where} is not the manifest of {pack!r}"


def sources(path: Path, wheel: Wheel | None) -> Iterator[str]:
    """Say what is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        names = {"/".join(PurePosixPath(n).parts[1:]) for n in archive.getnames()}
    for needed in ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO"):
        if needed not in names:
            yield f"{needed} is missing"
    if wheel is None:
        yield "it has no wheel beside it"
        return
    packaged = {n for n in wheel.names if n.startswith(f"{wheel.distribution}/")}
    for name in sorted(packaged - {n.removeprefix("src/") for n in names}):
        yield f"{name} is in the wheel and not in the sources"


def look(folder: Path) -> dict[str, list[str]]:
    """Return each distribution's faults."""
    wheels = {wheel.distribution: wheel for wheel in map(Wheel, sorted(folder.glob("*.whl")))}
    found = {wheel.path.name: list(wheel.faults()) for wheel in wheels.values()}
    for path in sorted(folder.glob("*.tar.gz")):
        wheel = wheels.get(path.name.rsplit("-", 1)[0])
        found[path.name] = list(sources(path, wheel))
    versions = {wheel.version for wheel in wheels.values()}
    if len(versions) > 1:
        found["all"] = [f"they are of {len(versions)} versions: {', '.join(sorted(versions))}"]
    if not wheels:
        found["all"] = [f"there is no wheel in {folder}"]
    return found


def main() -> int:
    """Look into a folder of built distributions."""
    found = look(Path(sys.argv[1]))
    for name, faults in found.items():
        sys.stdout.write(f"{name}: {'; '.join(faults) or 'as it should be'}\n")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
