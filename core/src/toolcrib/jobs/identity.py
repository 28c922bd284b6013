"""Which process is it: a number alone may belong to another one by now."""

from __future__ import annotations

import os

from pathlib import Path


__all__ = ["is_alive", "start_of"]


def start_of(pid: int) -> str:
    """Return what tells a process from a later one with its number; empty if it is gone.

    Where the system does not say when a process began, a live one is just "alive".
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
        except PermissionError:
            return "alive"
        return "alive"
    fields = stat.rpartition(b")")[2].split()
    return "" if fields[0] in {b"Z", b"X"} else fields[19].decode()


def is_alive(pid: int, start: str) -> bool:
    """Tell whether the very process still runs."""
    return bool(start) and start_of(pid) == start
