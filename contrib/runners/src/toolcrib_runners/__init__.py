"""Run programs and Python functions for tools so that they can really be stopped.

Names are loaded when they are first used: a warden needs few of them, and starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Its module has the same name, and would take its place if it came later.
from .environment import environment


if TYPE_CHECKING:
    from .captured import Captured, Recorder
    from .child import ChildError, call
    from .commandagents import AgentKind, CommandAgents
    from .job import ProcessKind
    from .orphans import find_orphans, stop_orphans
    from .process import run, run_sync
    from .report import describe, result_of
    from .spec import Completed, Spec
    from .tree import Member
    from .wardenlink import Running, Warden, WardenLostError, completed_of


_HOMES = {
    "captured": ("Captured", "Recorder"),
    "child": ("ChildError", "call"),
    "commandagents": ("AgentKind", "CommandAgents"),
    "job": ("ProcessKind",),
    "orphans": ("find_orphans", "stop_orphans"),
    "process": ("run", "run_sync"),
    "spec": ("Completed", "Spec"),
    "report": ("describe", "result_of"),
    "tree": ("Member",),
    "wardenlink": ("Running", "Warden", "WardenLostError", "completed_of"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AgentKind",
    "Captured",
    "ChildError",
    "CommandAgents",
    "Completed",
    "Member",
    "ProcessKind",
    "Recorder",
    "Running",
    "Spec",
    "Warden",
    "WardenLostError",
    "call",
    "completed_of",
    "describe",
    "environment",
    "find_orphans",
    "result_of",
    "run",
    "run_sync",
    "stop_orphans",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415 - see the module's text

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
