"""Which workspaces' policy files the user trusts: by digest, in the user's state folder."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile

from pathlib import Path

from toolcrib.places import state_folder


__all__ = ["is_trusted", "trust", "untrust"]


def is_trusted(file: Path, digest: str, *, store: Path | None = None) -> bool:
    """Tell whether the user trusted exactly these bytes at exactly this place."""
    return _read(_place(store)).get(_name(file)) == digest


def trust(file: Path, digest: str, *, store: Path | None = None) -> None:
    """Remember that the user trusts these bytes at this place; other bytes lapse.

    Raises:
        OSError: it cannot be remembered.
    """
    place = _place(store)
    _write(place, _read(place) | {_name(file): digest})


def untrust(file: Path, *, store: Path | None = None) -> bool:
    """Forget a file; tell whether it was known."""
    place = _place(store)
    known = _read(place)
    if known.pop(_name(file), None) is None:
        return False
    _write(place, known)
    return True


def _place(store: Path | None) -> Path:
    return (store if store is not None else state_folder()) / "trusted.json"


def _name(file: Path) -> str:
    return os.path.realpath(file)


def _read(place: Path) -> dict[str, str]:
    """Return what is trusted; a file that others could have written says nothing."""
    try:
        with place.open("rb") as stream:
            if not _own(os.fstat(stream.fileno())):
                return {}
            known = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {k: v for k, v in known.items() if isinstance(k, str) and isinstance(v, str)}


def _own(status: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _write(place: Path, known: dict[str, str]) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A new file (0600 by mkstemp) in the place of the old one: never half written.
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(known, stream, indent=2, sort_keys=True)
        Path(name).replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
