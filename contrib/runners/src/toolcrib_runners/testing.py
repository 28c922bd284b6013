"""For tests of what outlives its host: which wardens are there, and whether they end.

A warden is the small process that goes on looking after a background job when the host is
gone. It ends by itself once its job ended and a host has read that.
"""

from __future__ import annotations

import subprocess
import time

from pathlib import Path


__all__ = ["wardens", "wardens_end"]


def wardens(folder: Path) -> list[int]:
    """Return the process ids of the wardens that keep their files below a folder."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,args="],  # noqa: S607 - wherever the system has it
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, words in lines if f"{folder}/" in words and "/warden-" in words]


def wardens_end(folder: Path, seconds: float = 60.0) -> bool:
    """Wait until no warden is left below a folder; return whether that came to pass.

    Args:
        folder: Where they keep their files, or above it.
        seconds: A guard against waiting for ever; it is no measure of anything.
    """
    end = time.monotonic() + seconds
    while wardens(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
