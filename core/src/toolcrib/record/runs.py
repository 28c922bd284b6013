"""Who has a ledger open: a locked file for each run, so that a dead one is known as dead.

A process number could be taken by another program, and means nothing beyond one
machine's name space; the kernel drops a lock when its holder dies, however it dies.
"""

from __future__ import annotations

import os

from pathlib import Path

from toolcrib.errors import RecordError
from toolcrib.ownership import check_private_folder


__all__ = ["Runs"]

if os.name == "nt":  # pragma: no cover - the other branch is tested
    import msvcrt

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Runs:
    """The runs of one ledger; ``folder`` holds a locked file for each live one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name: str | None = None
        self._descriptor = -1

    @property
    def own(self) -> str:
        """The name of this run; made, and locked, when it is first asked for."""
        if self._name is None:
            try:
                self._name = self._start()
            except OSError as error:
                text = f"{self._folder}: cannot be written ({error.strerror})"
                raise RecordError(text) from error
        return self._name

    def _start(self) -> str:
        check_private_folder(self._folder, exact=True)
        self._sweep()
        while True:
            name = os.urandom(8).hex()
            path = self._folder / name
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            # Between open and lock another process may have swept the file away.
            if _lock(descriptor) and path.exists():
                self._descriptor = descriptor
                return name
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove the files of runs that ended without closing."""
        for path in sorted(self._folder.iterdir()):
            if not self.alive(path.name):
                path.unlink(missing_ok=True)

    def alive(self, name: str) -> bool:
        """Tell whether a run still has the ledger open."""
        if name == self._name:
            return True
        try:
            descriptor = os.open(self._folder / name, os.O_RDWR)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # not ours to judge: nothing of it may be called dead
        try:
            return not _lock(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """End this run."""
        if self._name is not None:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._name = None
