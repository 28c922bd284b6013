"""Small programs, and a look at what is alive."""

from __future__ import annotations

import os
import sys
import time

from pathlib import Path

import pytest


@pytest.fixture
def python():
    """Return the command line of a Python program given as text."""
    return lambda code, *args: [sys.executable, "-c", code, *args]


@pytest.fixture
def alive():
    """Tell whether a process still runs; one that has only not been waited for does not."""

    def check(pid):
        try:
            return (
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
            )
        except OSError:
            return False

    return check


@pytest.fixture
def gone(alive):
    """Wait, within bounds, until no process of some is alive."""

    def check(*pids):
        # A guard against hanging, not a claim: a busy machine buries its dead late.
        end = time.monotonic() + 60
        while any(map(alive, pids)) and time.monotonic() < end:
            os.sched_yield()
        return not any(map(alive, pids))

    return check
