"""Artifacts as ordinary files with readable names, none of which hits another."""

from __future__ import annotations

import mimetypes
import re

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from toolcrib import canonical

from .index import Artifact
from .store import Namespace


__all__ = ["export"]

_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
#: Names that Windows gives to devices, with any extension.
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
_LONGEST: Final = 120


def export(
    namespace: Namespace,
    folder: Path,
    artifacts: Iterable[Artifact] | None = None,
    *,
    manifest: str = "artifacts.json",
) -> dict[str, Artifact]:
    """Write artifacts into a folder; return which file is which artifact.

    Nothing that is there is overwritten; names are distinct on systems that ignore
    case, and none is a device. A manifest says the same as the return value.

    Raises:
        NotFound, Failed: an artifact is gone or damaged.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    taken = {path.name.casefold() for path in folder.iterdir()} | {manifest.casefold()}
    written: dict[str, Artifact] = {}
    for artifact in namespace.list() if artifacts is None else artifacts:
        data = namespace.get(artifact.digest)
        name = _free(_safe(artifact), taken)
        with (folder / name).open("xb") as file:
            file.write(data)
        written[name] = artifact
    listing = {
        name: {"digest": a.digest, "media_type": a.media_type, "title": a.title}
        for name, a in written.items()
    }
    with (folder / _free(manifest, taken - {manifest.casefold()})).open("x") as file:
        file.write(canonical.dumps(listing))
    return written


def _safe(artifact: Artifact) -> str:
    """Return a file name that every system accepts."""
    title = artifact.title or artifact.digest[7:23]
    name = _UNSAFE.sub("_", title).strip(" .") or "artifact"
    stem, dot, extension = name.rpartition(".")
    if not dot:
        stem, extension = name, (mimetypes.guess_extension(artifact.media_type) or "")[1:]
    if stem.partition(".")[0].casefold() in _DEVICES:
        stem = "_" + stem
    return stem[:_LONGEST] + (f".{extension[:20]}" if extension else "")


def _free(name: str, taken: set[str]) -> str:
    """Return the name, numbered if it is taken, and take it."""
    stem, dot, extension = name.rpartition(".")
    stem, extension = (stem, dot + extension) if dot else (name, "")
    candidate, number = name, 1
    while candidate.casefold() in taken:
        number += 1
        candidate = f"{stem}-{number}{extension}"
    taken.add(candidate.casefold())
    return candidate
