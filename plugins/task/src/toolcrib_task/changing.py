"""What an update may set, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from .model import FINAL, LIMITS, MOVES, Priority, Status, Task, TaskError


__all__ = ["Change", "check_change"]


@attrs.frozen(kw_only=True)
class Change:
    """What an update sets; None leaves a thing as it is."""

    status: Status | None = None
    title: str | None = None
    description: str | None = None
    priority: Priority | None = None
    depend_on: tuple[str, ...] = ()
    no_longer_on: tuple[str, ...] = ()
    evidence: str | None = None
    metadata: Mapping[str, Any] | None = None
    lease: float | None = None


def check_change(task: Task, change: Change, *, version: int, by: str) -> None:
    """Refuse what does not fit the task as it is."""
    if task.version != version:
        text = f"{task.described()}. Version {version} is stale: look again, then decide."
        raise TaskError("task.stale", text)
    held = task.status in {"claimed", "working"}
    if held and task.owner != by:
        text = f"{task.described()}. Only {task.owner} may change it before its lease ends."
        raise TaskError("task.foreign", text)
    if change.status is not None and change.status not in MOVES[task.status]:
        text = f"{task.described()}. It cannot become {change.status}."
        raise TaskError("task.transition", text)
    if change.status == "done" and task.waits_for:
        text = f"{task.described()}. It cannot be done before {', '.join(task.waits_for)}."
        raise TaskError("task.transition", text)
    if task.status in FINAL and change != Change():
        text = f"{task.described()}. What is over is not changed; make a new task."
        raise TaskError("task.final", text)
    if change.status == "done" and task.status == "uncertain" and not change.evidence:
        text = f"{task.described()}. Say in evidence how you know that it was done."
        raise TaskError("task.no_evidence", text, kind="invalid", pointer="/evidence")
    for name in ("title", "description", "evidence"):
        value = getattr(change, name)
        if value is not None and len(value) > LIMITS[name]:
            text = f"{name} is longer than {LIMITS[name]:,} characters"
            raise TaskError("task.too_long", text, kind="invalid", pointer=f"/{name}")
