"""What a change would need to be undone, on the disk before the first file is touched."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolcrib import PackHost

from .texts import digest_of


__all__ = ["Record", "locked", "recover", "write_new"]

_FOLDER = "journal"


def write_new(path: str, data: bytes, mode: int) -> None:
    """Write a file that is not there yet, to the disk.

    Raises:
        OSError: it is there, or cannot be written.
    """
    handle = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _home(state: Path, root: str) -> Path:
    name = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state / _FOLDER / name


@contextlib.contextmanager
def locked(state: Path, root: str) -> Iterator[Path]:
    """Hold the journal of a workspace against other processes; gives its folder."""
    home = _home(state, root)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield home
    finally:
        os.close(handle)


class Record:
    """One change while it is carried out."""

    def __init__(self, home: Path) -> None:
        self._folder = home / secrets.token_hex(8)
        self._entries: list[dict[str, Any]] = []

    def add(self, path: str, before: bytes | None, after: bytes | None, mode: int) -> None:
        """Note what becomes of a file."""
        self._entries.append(
            {
                "path": path,
                "mode": mode,
                "before": None if before is None else digest_of(before),
                "after": None if after is None else digest_of(after),
            }
        )
        if before is not None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            write_new(str(self._folder / f"{len(self._entries) - 1}"), before, 0o600)

    def begin(self) -> None:
        """Write it to the disk, whole or not at all."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        text = json.dumps(self._entries).encode()
        write_new(str(self._folder / "new"), text, 0o600)
        os.rename(self._folder / "new", self._folder / "plan")

    def done(self) -> None:
        """Let go: there is nothing to undo any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._folder / "plan")
        shutil.rmtree(self._folder, ignore_errors=True)


def recover(host: PackHost, root: str) -> list[str]:
    """Undo what a process that died has left half done; return what could not be undone."""
    if not _home(host.state, root).is_dir():
        return []
    problems: list[str] = []
    with locked(host.state, root) as home:
        for folder in sorted(home.iterdir()):
            if not folder.is_dir() or folder.name.endswith(".kept"):
                continue
            plan = folder / "plan"
            if plan.is_file():
                found = _undone(json.loads(plan.read_bytes()), folder)
                problems += found
                if found:
                    folder.rename(folder.with_name(folder.name + ".kept"))
                    continue
            shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        host.logger.warning("%s", problem)
    return problems


def _undone(entries: list[dict[str, Any]], folder: Path) -> list[str]:
    problems = []
    for number, entry in enumerate(entries):
        path = entry["path"]
        try:
            with open(path, "rb") as file:
                now = digest_of(file.read())
        except OSError:
            now = None
        if now == entry["before"]:
            continue
        if now != entry["after"]:
            problems.append(f"{path} was left half changed and was changed by others since")
            continue
        try:
            _restore(entry, folder / str(number))
        except OSError as error:
            problems.append(f"{path} cannot be restored: {error}")
    return problems


def _restore(entry: dict[str, Any], backup: Path) -> None:
    path = entry["path"]
    if entry["before"] is None:
        os.unlink(path)
        return
    temporary = f"{path}.{secrets.token_hex(6)}.tmp"
    write_new(temporary, backup.read_bytes(), entry["mode"])
    os.replace(temporary, path)
