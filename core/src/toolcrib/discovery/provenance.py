"""Where a claimed package really is, and whether its manifest is the installed one."""

# Text, as in the search path that these paths come from.
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import base64
import hashlib
import json
import os
import re

from collections.abc import Iterator

from toolcrib.codes import refuse
from toolcrib.outcome import Refusal

from .installed import Claim, read_bytes
from .searchpath import Location, SearchPath, find_in


__all__ = ["MANIFEST", "editable_project", "locate", "manifest_bytes", "prove"]

MANIFEST = "toolcrib.json"
_LARGEST_MANIFEST = 1 << 24
# Weaker hashes prove nothing (the specification forbids them as well).
_HASHES = frozenset({"sha256", "sha384", "sha512"})
_MAPPING = re.compile(r"^MAPPING(?:\s*:[^=\n]*)?\s*=\s*", re.MULTILINE)


def editable_project(claim: Claim) -> str | None:
    """Return the project's folder of an editable install, or None for any other."""
    try:
        data = read_bytes(os.path.join(claim.info, "direct_url.json"))
        origin = json.loads(data) if data else {}
        if origin["dir_info"]["editable"] is not True:
            return None
        return _folder_of(origin["url"])
    except (KeyError, TypeError, ValueError, OSError, RecursionError):
        return None


def _folder_of(url: str) -> str | None:
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - editable installs only

    parts = urlsplit(url)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        # It loads what talks HTTP, and elsewhere does no more than unquote.
        from urllib.request import url2pathname  # noqa: PLC0415

        path = url2pathname(parts.path)
    return os.path.realpath(path)


def locate(claim: Claim, search: SearchPath) -> Location | Refusal:
    """Return the package that a claim is about, if import would load that one."""
    loaded = search.find(claim.package)
    project = editable_project(claim)
    if project is None:
        return _own(claim, loaded, [claim.folder])
    own = [os.path.realpath(folder) for folder in _editable_folders(claim)]
    if loaded is None:
        for folder in own:
            loaded = find_in(folder, claim.package)
            if loaded is not None:
                break
    return _own(claim, loaded, [*own, project])


def _own(claim: Claim, loaded: Location | None, own: list[str]) -> Location | Refusal:
    package = claim.package
    if loaded is None:
        return _missing(claim, f"the package {package!r} is not where it was installed")
    if not any(_within(loaded.folder, folder) for folder in own):
        where = loaded.path if loaded.kind != "builtin" else "Python itself"
        return refuse(
            "distribution.shadowed",
            claim.distribution,
            f"import {package} would load {where}, not the package of {claim} in "
            f"{own[0]}: remove one of the two, or change their order on the path",
            loaded=where,
            refused=own[0],
        )
    if loaded.kind != "package":
        what = "one module" if loaded.kind == "module" else "a folder without __init__.py"
        return _missing(
            claim,
            f"{loaded.path} is {what}; a pack's entry point leads into a package, which "
            f"holds {MANIFEST}",
        )
    return loaded


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _editable_folders(claim: Claim) -> Iterator[str]:
    """Give the folders that an editable install puts its packages in, without import.

    Its RECORD lists a ``.pth`` file that names them, or an import finder of a known
    form whose ``MAPPING`` does.
    """
    for name in _recorded(claim):
        path = os.path.normpath(os.path.join(claim.folder, name))
        if name.endswith(".pth"):
            yield from _pth_folders(path)
        elif name.startswith("__editable__") and name.endswith("_finder.py"):
            folder = _mapped(path, claim.package)
            if folder:
                yield folder


def _pth_folders(path: str) -> Iterator[str]:
    data = _quietly(path)
    for line in data.decode("utf-8", "replace").splitlines():
        # Lines that begin with import are run by Python at its start, never by us.
        if line.strip() and not line.startswith(("#", "import ", "import\t")):
            yield os.path.join(os.path.dirname(path), line.rstrip())


def _mapped(path: str, package: str) -> str | None:
    import ast  # noqa: PLC0415 - for a kind of editable installs only

    text = _quietly(path).decode("utf-8", "replace")
    found = _MAPPING.search(text)
    if found is None:
        return None
    line = text[found.end() :].partition("\n")[0]
    try:
        folder = ast.literal_eval(line)[package]
    except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
        return None
    return os.path.dirname(folder) if isinstance(folder, str) else None


def _quietly(path: str) -> bytes:
    try:
        return read_bytes(path) or b""
    except (OSError, ValueError):
        return b""


def _recorded(claim: Claim) -> Iterator[str]:
    for line in _record(claim).splitlines():
        yield line.split(",")[0].strip('"')


def _record(claim: Claim) -> str:
    try:
        with open(os.path.join(claim.info, "RECORD"), encoding="utf-8") as stream:
            return stream.read()
    except (OSError, ValueError):
        return ""


def manifest_bytes(claim: Claim, location: Location) -> bytes | Refusal:
    """Return the bytes of a package's manifest."""
    path = os.path.join(location.path, MANIFEST)
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST_MANIFEST + 1)
    except FileNotFoundError:
        return _missing(claim, f"there is no {path}")
    except OSError as error:
        return _missing(claim, f"{path} cannot be read: {error.strerror or error}")
    if len(data) > _LARGEST_MANIFEST:
        text = f"the manifest of {claim} is larger than {_LARGEST_MANIFEST} bytes: {path}"
        return refuse("manifest.invalid", claim.distribution, text)
    return data


def prove(claim: Claim, data: bytes) -> Refusal | None:
    """Compare a manifest with the hash that the installer recorded for it.

    RECORD proves that the file is the installed one, not that the pack is honest.
    """
    name = f"{claim.package}/{MANIFEST}"
    again = f"Install it again: pip install --force-reinstall {claim.distribution}"
    for line in _record(claim).splitlines():
        if not line.startswith((name + ",", f'"{name}",')):
            continue
        algorithm, _, wanted = line.split(",")[1].partition("=")
        if algorithm not in _HASHES or not wanted:
            why = f"RECORD of {claim} holds no strong hash of {name}"
            return refuse("manifest.unlisted", claim.distribution, f"{why}. {again}")
        digest = hashlib.new(algorithm, data).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == wanted.rstrip("="):
            return None
        text = f"{name} of {claim} is not the file that was installed. {again}"
        return refuse("manifest.altered", claim.distribution, text)
    text = (
        f"RECORD of {claim} does not list {name}: another hand put it there, or the "
        f"distribution was not installed as a wheel. {again}"
    )
    return refuse("manifest.unlisted", claim.distribution, text)


def _missing(claim: Claim, why: str) -> Refusal:
    text = (
        f"{claim} holds no manifest: {why}. Its author writes one, in the project's folder, "
        "with: toolcrib manifest write"
    )
    return refuse("manifest.missing", claim.distribution, text)
