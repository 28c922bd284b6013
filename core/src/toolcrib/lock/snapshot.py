"""What is installed of a pack right now, read from disk; nothing is imported."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import os
import re
import sys

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolcrib import canonical
from toolcrib.catalog.livesource import Live
from toolcrib.codes import refuse
from toolcrib.discovery.findings import Finding
from toolcrib.names import normalize_distribution
from toolcrib.outcome import Refusal

from .model import Dependency, PackLock


__all__ = ["Installed", "find_installed", "package_files", "snapshot"]

_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^]]*)\])?")
_EXTRA: Final = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")
#: What installers write for themselves: it differs between machines, not between wheels.
_INSTALLER: Final = frozenset(
    {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "RECORD.jws"}
)
_CACHE: Final = "__pycache__"


class Installed:
    """One installed distribution."""

    def __init__(self, found: importlib.metadata.Distribution) -> None:
        self._found = found
        self.name = normalize_distribution(_name(found))
        self.version = found.version
        self.root = Path(str(found.locate_file("")))

    def recorded(self) -> dict[str, str]:
        """Return path → digest of the files that the wheel brought, as RECORD says."""
        text = self._found.read_text("RECORD") or ""
        files: dict[str, str] = {}
        for row in csv.reader(text.splitlines()):
            if len(row) < 2 or not row[1].startswith("sha256="):
                continue
            path = PurePosixPath(row[0].replace("\\", "/"))
            info = path.parts[0].endswith(".dist-info") if path.parts else False
            outside = ".." in path.parts or path.is_absolute()  # scripts: shebangs differ
            if outside or _CACHE in path.parts or (info and path.name in _INSTALLER):
                continue
            raw = row[1].removeprefix("sha256=")
            digest = base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4)).hex()
            files[str(path)] = f"sha256:{digest}"
        return files

    def content(self) -> str:
        """Return the digest of what RECORD lists."""
        return canonical.digest(self.recorded())

    def altered(self) -> tuple[str, ...]:
        """Return the files whose bytes are not those that RECORD lists."""
        return tuple(
            path
            for path, digest in sorted(self.recorded().items())
            if _digest(self.root / path) != digest
        )

    def requirements(self, extras: Iterable[str] = ()) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield name and extras of what it needs.

        Markers other than extras are not judged: what they leave out is not installed,
        and what is installed can be imported.
        """
        wanted = {normalize_distribution(extra) for extra in extras}
        for line in self._found.requires or ():
            found = _REQUIREMENT.match(line)
            conditions = {normalize_distribution(e) for e in _EXTRA.findall(line)}
            if found is None or (conditions and not conditions & wanted):
                continue
            more = (extra.strip() for extra in (found[2] or "").split(","))
            yield normalize_distribution(found[1]), frozenset(e for e in more if e)


def _name(found: importlib.metadata.Distribution) -> str:
    """Return the name that a distribution gives itself; empty if it gives none.

    Without a METADATA file the standard library has an empty one; the distributions of
    ``importlib_metadata``, which are found instead once somebody imported it, raise.
    """
    try:
        metadata = found.metadata
    except FileNotFoundError:
        return ""
    if "Name" not in metadata:
        return ""
    return metadata["Name"]


def find_installed(name: str, path: Sequence[str] | None = None) -> Installed | None:
    """Return the installed distribution that import would use, or None."""
    where = list(sys.path if path is None else path)
    for found in importlib.metadata.Distribution.discover(name=name, path=where):
        if _name(found):
            return Installed(found)
    return None


def closure(start: Installed, path: Sequence[str] | None) -> dict[str, Installed]:
    """Return all that a distribution needs and that is installed, but for toolcrib."""
    known: dict[str, Installed] = {}
    seen = {(start.name, "")}
    waiting = list(start.requirements())
    while waiting:
        name, extras = waiting.pop()
        if name in ("toolcrib", start.name) or all((name, e) in seen for e in (*extras, "")):
            continue
        seen |= {(name, extra) for extra in (*extras, "")}
        found = known.get(name) or find_installed(name, path)
        if found is not None:
            known[name] = found
            waiting += found.requirements(extras)
    return dict(sorted(known.items()))


def package_files(folder: Path, package: str) -> Iterator[str]:
    """Yield the files of a package, below the folder that holds it, in order.

    Compiled files in ``__pycache__`` are left out: a locked pack is loaded from source.
    Anything else counts, links and compiled files that stand alone included.
    """
    for where, folders, names in os.walk(folder / package):
        folders[:] = sorted(name for name in folders if name != _CACHE)
        base = Path(where).relative_to(folder).as_posix()
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        for name in sorted((*names, *links)):
            yield f"{base}/{name}"


def _digest(path: Path) -> str:
    """Return the digest of a file; a link or a missing file has one of its own."""
    if path.is_symlink():
        return f"link:{path.readlink()}"
    try:
        with path.open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable:{error.strerror}"


def snapshot(
    finding: Finding,
    *,
    live: Iterable[Live] = (),
    path: Sequence[str] | None = None,
    volatile: Iterable[str] = (),
) -> PackLock | Refusal:
    """Return a pack as it is installed now, or why it cannot be locked.

    Args:
        finding: The pack.
        live: Its live sources, whose tools are locked too.
        path: Where distributions are looked for; ``sys.path`` by default.
        volatile: Ids of tools whose definition may change.
    """
    where = finding.provenance
    name = finding.distribution
    if where.how != "wheel" or name is None or where.location is None:
        text = (
            f"{finding} is {where.how}, so its code changes under the lock. Install it as a "
            "wheel, or work without a lock."
        )
        return refuse("lock.unlockable", finding.pack_id, text)
    installed = find_installed(name, path)
    if installed is None:
        text = f"distribution {name} of {finding} is not installed; install it"
        return refuse("lock.unlockable", finding.pack_id, text)
    real = os.path.realpath(installed.root)
    if not os.path.realpath(where.location).startswith(real):
        text = (
            f"import would load {finding} from {where.location}, but {name} is installed in "
            f"{installed.root}; remove one of the two"
        )
        return refuse("lock.unlockable", finding.pack_id, text)
    mine = [source for source in live if source.pack == finding.pack_id]
    return PackLock(
        distribution=name,
        version=installed.version,
        entry_point=finding.entry_point or "",
        files=_files(installed),
        content=installed.content(),
        dependencies={
            one.name: Dependency(version=one.version, content=one.content())
            for one in closure(installed, path).values()
        },
        manifest=finding.manifest.digest,
        hooks=tuple(sorted(finding.manifest.hooks)),
        tools=_tools(finding, mine),
        sources=tuple(sorted(source.source for source in mine)),
        volatile=tuple(sorted(volatile)),
    )


def top_levels(files: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level packages and modules among files, without their suffix."""
    tops = set()
    for path in files:
        top, slash, rest = path.partition("/")
        if rest == "__init__.py" or (not slash and top.endswith(".py")):
            tops.add(top.removesuffix(".py"))
    return tuple(sorted(tops))


def _files(installed: Installed) -> dict[str, str]:
    """Return the digests of all files that are there, and of those that should be."""
    recorded = installed.recorded()
    paths = set(recorded)
    for package in top_levels(recorded):
        paths |= set(package_files(installed.root, package))
    return {path: _digest(installed.root / path) for path in sorted(paths)}


def _tools(finding: Finding, live: Iterable[Live]) -> Mapping[str, Mapping[str, Any]]:
    tools = [*finding.manifest.tools, *(tool for source in live for tool in source.tools)]
    declarations = {tool.id: tool.declaration() for tool in tools}
    # Through its text, so that what is compared is what is written.
    value: Mapping[str, Mapping[str, Any]] = canonical.loads(
        canonical.dumps(declarations), max_bytes=1 << 27, max_depth=10_000
    )
    return value
