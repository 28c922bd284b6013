"""The pack, and what its tools share: the store, the list, failures in the core's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

from toolcrib import Context, Pack, Result, Signature, Text, resources
from toolcrib_store import told as store_told

from .engine import TaskStore
from .model import Task
from .store import SqliteTasks


__all__ = [
    "FILE",
    "counted",
    "list_name",
    "of_jobs",
    "of_tasks",
    "pack",
    "store",
    "told",
    "told_of",
]

pack = Pack("task", title="Tasks", category="task")
pack.command_group(
    "task", help="Tasks: list, board, show, watch.", target="toolcrib_task.cli:group"
)

FILE = "tasks.db"


@pack.resource(scope="toolbox")
def store(ctx: Context) -> Iterator[TaskStore]:
    """Open the file of tasks; all sessions share it."""
    with told():
        opened = SqliteTasks(ctx.host.state / FILE, time=ctx.host.clock.time)
    with closing(opened):
        yield opened


def list_name(ctx: Context) -> str:
    """Return the list of a session: the tasks of its workspace."""
    return str(ctx.workspace.root)


def told() -> AbstractContextManager[None]:
    """Turn what the store refuses into the failure that ends a call that way."""
    return store_told("task.store")


def of_tasks() -> Signature:
    """Return the signature of a call that only touches the file of tasks."""
    return Signature(writes=[resources.State(FILE)])


def of_jobs() -> Signature:
    """Return the signature of a call that only looks at, or ends, the session's own jobs."""
    return Signature(writes=[resources.State("jobs")])


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: ``1 task``, ``2 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def told_of(summary: str, tasks: Sequence[Task], *, full: bool = False, **more: Any) -> Result:
    """Return a result that shows what changed, and nothing else."""
    lines = [summary]
    for task in tasks:
        waits = f", waits for {', '.join(task.waits_for)}" if task.waits_for else ""
        owner = f", {task.owner}" if task.owner else ""
        lines.append(
            f"{task.id} [{task.status}, {task.priority}, v{task.version}{owner}{waits}]"
            f" {task.title}"
        )
        if full and task.description:
            lines.append(task.description)
        if full and task.evidence:
            lines.append(f"evidence: {task.evidence}")
    return Result(
        summary=summary,
        content=[Text("\n".join(lines))],
        structured={"tasks": [task.facts(full=full) for task in tasks], **more},
    )
