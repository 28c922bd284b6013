"""The pack, and what its tools share: the store, the list, failures in the core's words."""

from __future__ import annotations

import contextlib

from collections.abc import Iterator, Sequence
from typing import Any

from toolcrib import (
    Busy,
    Context,
    Failed,
    Invalid,
    NotFound,
    Pack,
    Refused,
    Result,
    Signature,
    Text,
    resources,
)

from .database import DatabaseError
from .model import Task, TaskError
from .store import SqliteTasks


__all__ = ["FILE", "list_name", "of_jobs", "of_tasks", "pack", "store", "told", "told_of"]

pack = Pack("task", title="Tasks", category="task")
pack.command_group(
    "task", help="Tasks: list, board, show, watch.", target="toolcrib_task.cli:group"
)

FILE = "tasks.db"


@pack.resource(scope="toolbox")
def store(ctx: Context) -> Iterator[SqliteTasks]:
    """Open the file of tasks; all sessions share it."""
    try:
        opened = SqliteTasks(ctx.host.state / FILE, time=ctx.host.clock.time)
    except DatabaseError as error:
        raise Failed(str(error), code="task.store") from error
    try:
        yield opened
    finally:
        opened.close()


def list_name(ctx: Context) -> str:
    """Return the list of a session: the tasks of its workspace."""
    return str(ctx.workspace.root)


_FAILURES: dict[str, Any] = {"refused": Refused, "not_found": NotFound, "busy": Busy}


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn what the store refuses into the failure that ends a call that way."""
    try:
        yield
    except TaskError as error:
        if error.kind == "invalid":
            raise Invalid(error.pointer, error.text, code=error.code) from error
        raise _FAILURES[error.kind](error.text, code=error.code) from error


def of_tasks() -> Signature:
    """Return the signature of a call that only touches the file of tasks."""
    return Signature(writes=[resources.State(FILE)])


def of_jobs() -> Signature:
    """Return the signature of a call that only looks at, or ends, the session's own jobs."""
    return Signature(writes=[resources.State("jobs")])


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
