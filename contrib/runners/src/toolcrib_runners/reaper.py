"""Know at once whether a program left anything behind, without a look at all processes.

A process that takes in orphans is the parent of whatever a program leaves behind. So if
it has no children but the programs that it started itself, nothing is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading

from collections.abc import Iterator
from pathlib import Path


__all__ = ["Reaper"]

_PR_SET_CHILD_SUBREAPER = 36


class Reaper:
    """Takes in orphans for a whole process, so it is for those that only run programs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leaders: set[int] = set()
        self._works = _take_in_orphans()

    @contextlib.contextmanager
    def starting(self) -> Iterator[set[int]]:
        """Hold while a program is started; its number is added to the set that is given."""
        with self._lock:
            yield self._leaders

    def ended(self, pid: int) -> None:
        """A program has ended and was waited for."""
        with self._lock:
            self._leaders.discard(pid)

    def alone(self) -> bool:
        """Tell whether surely nothing is left of programs that have ended."""
        if not self._works:
            return False
        with self._lock:
            # The list is exact only while no child ends: other programs may be ending
            # now, and an orphan may be, so it is read again.
            if self._leaders:
                return False
            try:
                others = self._children() | self._children()
            except OSError:
                return False
            for pid in others:
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG)[0] == 0:
                        return False
        return True

    @staticmethod
    def _children() -> set[int]:
        found: set[int] = set()
        for task in os.listdir("/proc/self/task"):  # noqa: PTH208 - names only
            with contextlib.suppress(FileNotFoundError):
                text = Path(f"/proc/self/task/{task}/children").read_bytes()
                found |= {int(number) for number in text.split()}
        return found


def _take_in_orphans() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    if not Path("/proc/self/task", str(os.getpid()), "children").exists():
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return bool(library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
