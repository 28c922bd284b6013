"""The lock: the code and definitions that were approved, and what differs from them."""

from __future__ import annotations

from .compare import Change, Severity, diff, render
from .gate import Gate, accept, live_refusals, read, take, verify, write
from .importer import LockedImporter
from .model import Dependency, Lock, PackLock
from .snapshot import snapshot


__all__ = [
    "Change",
    "Dependency",
    "Gate",
    "Lock",
    "LockedImporter",
    "PackLock",
    "Severity",
    "accept",
    "diff",
    "live_refusals",
    "read",
    "render",
    "snapshot",
    "take",
    "verify",
    "write",
]
