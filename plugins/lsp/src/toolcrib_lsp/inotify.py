"""The kernel's own notice of changes, where there is one.

An event lies in the queue before the call that caused it returns, so a look into the
queue tells for certain that nothing has changed since the look before.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
import sys
import termios

from typing import Any


__all__ = ["Events", "Notices"]

_HEAD = struct.Struct("iIII")
_NOTHING = bytes(4)  # that wait to be read
_OVERFLOW = 0x4000
_GONE = 0x8000
# modify, close after writing, moved from and to, create, delete, delete and move of self
_MASK = 0x2 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_NO_LINK = 0x02000000
_ONLY_FOLDER = 0x01000000

# Number of the watch and name of the entry; None: events were lost.
Events = list[tuple[int, str]] | None


class Notices:
    """One queue of events; ``working`` is false where there is no such thing."""

    def __init__(self) -> None:
        self._fd = -1
        self._libc: Any = None
        if not sys.platform.startswith("linux"):  # pragma: no cover - Linux is what is tested
            return
        with contextlib.suppress(OSError, AttributeError):
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    @property
    def working(self) -> bool:
        """Whether events can be had."""
        return self._fd >= 0

    def add(self, folder: str) -> int:
        """Watch a folder; give up altogether if that cannot be had."""
        if self._fd < 0:
            return -1
        mask = _MASK | _NO_LINK | _ONLY_FOLDER
        number = int(self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask))
        if number < 0 and os.path.isdir(folder):
            self.close()  # Half a watch would be taken for a whole one.
        return number

    def read(self) -> Events:
        """Return what happened since the last look, without waiting."""
        found: list[tuple[int, str]] = []
        lost = False
        while self._fd >= 0:
            try:
                # Asked first: nearly always there is nothing, and an error costs more.
                if fcntl.ioctl(self._fd, termios.FIONREAD, _NOTHING) == _NOTHING:
                    break
                data = os.read(self._fd, 65536)
            except OSError:
                self.close()
                return None
            at = 0
            while at < len(data):
                number, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                name = data[at : at + length].rstrip(b"\0")
                at += length
                lost = lost or bool(mask & _OVERFLOW)
                if not mask & _GONE:
                    found.append((number, os.fsdecode(name)))
        return None if lost else found

    def close(self) -> None:
        """Let go."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
