"""Which installed distributions claim to hold a pack, and where its files are.

Only ``entry_points.txt`` of every distribution is opened, and further metadata only of
those that have an entry point of ours. Each distribution is read by itself: whatever is
wrong with one is a refusal of that one.
"""

# Every installed distribution passes here: a Path object costs more than the call it makes.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re

from collections.abc import Iterator

import attrs

from toolcrib.codes import refuse
from toolcrib.names import is_pack_id, normalize_distribution
from toolcrib.outcome import Refusal

from .searchpath import Folder


__all__ = ["API", "GROUP", "Claim", "claims_in", "entry_points", "read_bytes"]

API = 1
GROUP = "toolcrib.packs."
_MARK = GROUP.encode()
_GENERATION = re.compile(r"v([1-9][0-9]{0,3})", re.ASCII)
_VALUE = re.compile(r"(?P<module>\w+(?:\.\w+)*)(?:\s*:\s*(?P<attribute>\w+(?:\.\w+)*))?")
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Entry points of a distribution, or headers of its metadata, are never this large.
_LARGEST = 1 << 20
_CHUNK = 1 << 16


@attrs.frozen
class Claim:
    """One entry point of ours, and the distribution that declares it.

    Attributes:
        distribution: Normalised name (PEP 503).
        version: As its metadata says.
        pack_id: Name of the entry point.
        entry_point: ``module:attribute`` as declared.
        group: Name of the entry point's group.
        info: The folder of its metadata.
        folder: The folder of the search path in which that is.
    """

    distribution: str
    version: str
    pack_id: str
    entry_point: str
    group: str
    info: str
    folder: str

    @property
    def package(self) -> str:
        """The top-level package of the entry point."""
        return self.entry_point.partition(":")[0].partition(".")[0].strip()

    @property
    def generation(self) -> int | None:
        """The generation of the API that the group names."""
        found = _GENERATION.fullmatch(self.group.removeprefix(GROUP))
        return int(found[1]) if found else None

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} [{self.pack_id} = {self.entry_point}]"


def claims_in(folder: Folder) -> Iterator[Claim | Refusal]:
    """Read the claims of the distributions in one folder of the search path."""
    for name in folder.names:
        # A tilde marks what an installer has half removed; installers skip it as well.
        if name.endswith((".dist-info", ".egg-info")) and not name.startswith("~"):
            info = f"{folder.path}{os.sep}{name}"
            try:
                data = read_bytes(f"{info}{os.sep}entry_points.txt")
                if data is not None and _MARK in data:
                    yield from _claims(folder.path, info, data)
            except (OSError, ValueError) as error:
                yield _unreadable(info, error)


def read_bytes(path: str) -> bytes | None:
    """Return a small file's bytes, or None if there is no such file.

    Raises:
        ValueError: it is too large to be what it should be.
    """
    # Plain system calls: this runs once for every distribution that is installed.
    try:
        handle = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        data = os.read(handle, _CHUNK)
        if len(data) < _CHUNK:
            return data
        parts = [data]
        while data and len(parts) * _CHUNK <= _LARGEST:
            data = os.read(handle, _CHUNK)
            parts.append(data)
        if data:
            text = f"{os.path.basename(path)} is larger than {_LARGEST} bytes"
            raise ValueError(text)
        return b"".join(parts)
    finally:
        os.close(handle)


def entry_points(text: str) -> list[tuple[str, str, str]]:
    """Return (group, name, value) of the entry points of ours in a text.

    Raises:
        ValueError: a line in a group of ours is not ``name = value``.
    """
    found: list[tuple[str, str, str]] = []
    group = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            group = line[1:-1].strip()
        elif group.startswith(GROUP):
            name, equals, value = (part.strip() for part in line.partition("="))
            if not (name and equals and value):
                problem = f"line {number} of entry_points.txt is not 'name = value': {line!r}"
                raise ValueError(problem)
            found.append((group, name, value))
    return found


def _claims(folder: str, info: str, data: bytes) -> Iterator[Claim | Refusal]:
    points = entry_points(data.decode("utf-8"))
    if not points:
        return  # The words were in a comment, or in a value of another group.
    name, version = _name_and_version(info)
    for group, pack_id, value in points:
        entry = Claim(name, version, pack_id, value, group, info, folder)
        yield _malformed(entry) or entry


def _name_and_version(info: str) -> tuple[str, str]:
    """Read the two headers that say what a distribution is.

    Raises:
        ValueError: they are missing, or name another distribution than the folder.
    """
    file = "METADATA" if info.endswith(".dist-info") else "PKG-INFO"
    data = read_bytes(os.path.join(info, file))
    if data is None:
        text = f"there is no {file}"
        raise ValueError(text)
    headers: dict[bytes, bytes] = {}
    for line in data.splitlines():
        key, colon, value = line.partition(b":")
        if not colon and not line.strip():
            break
        headers.setdefault(key.strip().lower(), value.strip())
    name = headers.get(b"name", b"").decode("utf-8")
    version = headers.get(b"version", b"").decode("utf-8")
    if not name or not version:
        text = f"{file} does not say {'Version' if name else 'Name'}"
        raise ValueError(text)
    # Policy enables by this name, so the installer's own record must agree to it.
    stem = os.path.basename(info).rpartition(".")[0].partition("-")[0]
    if normalize_distribution(stem) != normalize_distribution(name):
        text = f"{file} names {name!r}, the folder names {stem!r}"
        raise ValueError(text)
    return normalize_distribution(name), version


def _malformed(claim: Claim) -> Refusal | None:
    value = _VALUE.fullmatch(claim.entry_point)
    if value is None:
        why = f"{claim.entry_point!r} is not 'module:attribute'"
    elif not is_pack_id(claim.pack_id):
        why = f"{claim.pack_id!r} is not a pack id: lower-case words joined by hyphens"
    elif claim.generation is None:
        why = f"the group {claim.group!r} ends in no generation, such as v{API}"
    else:
        return None
    text = f"an entry point of {claim} cannot be read: {why}; tell the pack's author"
    return refuse("metadata.unreadable", claim.distribution, text, entry=claim.entry_point)


def _unreadable(info: str, error: Exception) -> Refusal:
    name = os.path.basename(info)
    subject = normalize_distribution(name.rpartition(".")[0].partition("-")[0])
    if isinstance(error, UnicodeDecodeError):
        why = f"it is not UTF-8 text (byte {error.start})"
    else:
        why = getattr(error, "strerror", None) or str(error)
    return refuse(
        "metadata.unreadable",
        subject,
        f"the metadata of {subject!r} in {info} cannot be read: {why}. "
        f"Install it again: pip install --force-reinstall {subject}",
    )
