"""Open folders: what is judged by path is reached by handle, link by link refused.

A canonical path holds no links. So a link met on the way was put there after the path
was judged, and the only ending is a refusal.
"""

from __future__ import annotations

import errno
import os
import stat

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self


__all__ = ["Folder"]

# O_PATH needs only the right to pass through, as a path look-up does.
_PASS = getattr(os, "O_PATH", os.O_RDONLY)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BY_HANDLE = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd


class Folder:
    """A folder held open; its entries are reached through the handle, never by path.

    Where the system has no such calls, every entry is checked for links instead.
    """

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def open(cls, path: str) -> Folder:
        """Open a canonical path part by part; a link on the way raises ELOOP."""
        if not _BY_HANDLE:
            if os.path.realpath(path) != os.path.abspath(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            return cls(path, None)
        folder = cls("/", os.open("/", _PASS | _DIRECTORY | _CLOEXEC))
        for part in path.split("/"):
            if part:
                with folder:
                    folder = folder.child(part)
        return folder

    def child(self, name: str) -> Folder:
        """Open a folder in this one."""
        path = f"{self.path.rstrip('/')}/{name}"
        if self._handle is None:
            return Folder.open(path)
        flags = _PASS | _DIRECTORY | _NOFOLLOW | _CLOEXEC
        try:
            return Folder(path, os.open(name, flags, dir_fd=self._handle))
        except NotADirectoryError:
            if stat.S_ISLNK(self.stat(name).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from None
            raise

    def _at(self, name: str, key: str = "dir_fd") -> tuple[str, dict[str, Any]]:
        if self._handle is None:
            return os.path.join(self.path, name), {}
        return name, {key: self._handle}

    def stat(self, name: str) -> os.stat_result:
        """Return what is known of an entry, of a link itself and not of its target."""
        at, where = self._at(name)
        return os.stat(at, follow_symlinks=False, **where)

    def find(self, name: str) -> os.stat_result | None:
        """Return what is known of an entry, or None if there is none."""
        try:
            return self.stat(name)
        except FileNotFoundError:
            return None

    def open_file(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
        """Open a file and return its descriptor; a link raises ELOOP.

        A pipe or device does not block: look at the descriptor before reading.
        """
        at, where = self._at(name)
        if self._handle is None and (found := self.find(name)) and stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), at)
        every = _NOFOLLOW | _CLOEXEC | _BINARY | _NONBLOCK
        return os.open(at, flags | every, mode, **where)

    def open_unnamed(self, mode: int = 0o600) -> int | None:
        """Open a file without a name in this folder; None where that cannot be done."""
        flag = getattr(os, "O_TMPFILE", None)
        if flag is None or self._handle is None or not os.path.isdir("/proc/self/fd"):
            return None
        try:
            return os.open(".", os.O_RDWR | flag | _CLOEXEC, mode, dir_fd=self._handle)
        except OSError as error:
            # EACCES and the like will be met again, and told, by the named way.
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            return None

    def name_unnamed(self, descriptor: int, name: str) -> None:
        """Give a file without a name its name; one that is taken raises EEXIST."""
        os.link(
            f"/proc/self/fd/{descriptor}", name, dst_dir_fd=self._handle, follow_symlinks=True
        )

    def make(self, name: str, mode: int = 0o777) -> None:
        """Make a folder in this one."""
        at, where = self._at(name)
        os.mkdir(at, mode, **where)

    def writable(self) -> bool:
        """Tell whether entries may be made in this folder by this process."""
        at, where = self._at(".")
        by_effect = os.access in os.supports_effective_ids
        return os.access(at, os.W_OK | os.X_OK, effective_ids=by_effect, **where)

    def replace(self, source: str, target: str) -> None:
        """Rename an entry over another one of this folder."""
        if self._handle is None:
            os.replace(self._at(source)[0], self._at(target)[0])
        else:
            os.replace(source, target, src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; one that is taken raises EEXIST."""
        if self._handle is None:
            os.link(self._at(source)[0], self._at(target)[0])
        else:
            os.link(
                source,
                target,
                src_dir_fd=self._handle,
                dst_dir_fd=self._handle,
                follow_symlinks=False,
            )

    def unlink(self, name: str) -> None:
        """Remove a file or link."""
        at, where = self._at(name)
        os.unlink(at, **where)

    def rmdir(self, name: str) -> None:
        """Remove an empty folder."""
        at, where = self._at(name)
        os.rmdir(at, **where)

    def readlink(self, name: str) -> str:
        """Return where a link points."""
        at, where = self._at(name)
        return os.readlink(at, **where)

    @contextmanager
    def readable(self) -> Iterator[int | str]:
        """Give what lists the folder: a descriptor, or a path without such calls."""
        if self._handle is None:
            yield self.path
            return
        flags = os.O_RDONLY | _DIRECTORY | _CLOEXEC
        descriptor = os.open(".", flags, dir_fd=self._handle)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Make renames in this folder last through a loss of power."""
        if self._handle is None:
            return
        with self.readable() as descriptor:
            os.fsync(descriptor)  # type: ignore[arg-type]

    def close(self) -> None:
        """Let go of the handle."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
