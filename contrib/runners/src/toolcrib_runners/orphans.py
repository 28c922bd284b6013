"""Processes whose host, and whose warden, died: found by their mark, and stopped."""

from __future__ import annotations

import json
import time

from pathlib import Path

from .tree import Member, Tree


__all__ = ["find_orphans", "stop_orphans"]

_PROCESS = "process.json"


def _tree(folder: Path) -> Tree | None:
    try:
        known = json.loads((folder / _PROCESS).read_bytes())
        return Tree(int(known["pid"]), str(known["mark"]), leader_start=str(known["start"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_orphans(folder: Path) -> tuple[Member, ...]:
    """Return what is left of a job, going by the record in its folder.

    A process counts by the mark that it carries; its number alone says nothing, so a
    process that has the number by now is never taken for it.
    """
    tree = _tree(folder)
    return () if tree is None else tree.marked()


def stop_orphans(folder: Path, *, grace: float = 1.0) -> tuple[Member, ...]:
    """Stop what is left of a job, and return who resisted."""
    tree = _tree(folder)
    if tree is None:
        return ()
    return tree.stop_marked(grace=grace, wait=time.sleep)
