"""Run programs and Python functions for tools so that they can really be stopped."""

from __future__ import annotations

from .captured import Captured, Recorder
from .child import ChildError, call
from .engine import Completed, Spec
from .environment import environment
from .job import ProcessKind
from .process import run, run_sync
from .report import result_of
from .tree import Member


__all__ = [
    "Captured",
    "ChildError",
    "Completed",
    "Member",
    "ProcessKind",
    "Recorder",
    "Spec",
    "call",
    "environment",
    "result_of",
    "run",
    "run_sync",
]
