"""Faults of one process, told by its environment: die, or cancel, at a counted point.

A point is every statement by which the ledger changes its file, and every place that a
tool names. ``TOOLCRIB_FAULT=kill:17`` kills the process with SIGKILL at its 17th point,
and ``kill:after post`` at the one of that name; ``cancel:17`` cancels the task of the
batch, ``interrupt:17`` sends SIGINT, as a user at a terminal does, and ``exit:17`` leaves
through ``SystemExit`` in the main task. Nothing is slept for.
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import threading

from collections.abc import Callable


class Faults:
    """The points of this process, counted, and what happens at one of them."""

    def __init__(self, plan: str = "") -> None:
        self.kind, _, self.at = plan.partition(":")
        self.names: list[str] = []
        self.hit = ""
        self.stop: Callable[[str], None] | None = None
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    @classmethod
    def of_environment(cls) -> Faults:
        """Return the faults that the environment asks for."""
        return cls(os.environ.get("TOOLCRIB_FAULT", ""))

    def point(self, name: str) -> None:
        """Pass a point; perhaps nothing comes after it."""
        with self._lock:
            number = next(self._numbers)
            self.names.append(name)
        if self.at not in {str(number), name}:
            return
        self.hit = name
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.kind == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        elif self.stop is not None:
            self.stop(self.kind)

    def hook_sqlite(self) -> None:
        """Have every statement of every connection pass a point."""
        connect = sqlite3.connect

        def connected(*args, **kwargs):
            connection = connect(*args, **kwargs)
            connection.set_trace_callback(self._statement)
            return connection

        sqlite3.connect = connected

    def _statement(self, text: str) -> None:
        # Before a statement that only reads, the disk is as it was one point earlier.
        if not text.lstrip().startswith(("SELECT", "PRAGMA")):
            self.point(" ".join(text.split())[:50])
