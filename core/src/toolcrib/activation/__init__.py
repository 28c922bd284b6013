"""Run a pack's code for the first time, check it, and call its hooks."""

from __future__ import annotations

from .stage import Activator, ActivePack


__all__ = [
    "Activator",
    "ActivePack",
]
