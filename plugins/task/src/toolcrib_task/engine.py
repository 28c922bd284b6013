"""What any engine for tasks must do; the one in SQLite is beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from .changing import Change
from .lineage import Run
from .model import NewTask, Task


__all__ = ["TaskStore"]


class TaskStore(Protocol):
    """What an engine for tasks does; every method is one atomic step.

    A ``group`` is the name of a list. What cannot be done raises ``TaskError``.
    """

    def create(self, group: str, tasks: Sequence[NewTask]) -> tuple[Task, ...]:
        """Make tasks: all, or none."""

    def get(self, group: str, task_id: str) -> Task:
        """Return a task."""

    def update(
        self, group: str, task_id: str, change: Change, *, version: int, by: str
    ) -> tuple[Task, ...]:
        """Change a task if it has this version; return it, then what it set free."""

    def claim(
        self,
        group: str,
        *,
        by: str,
        lease: float,
        task_id: str | None = None,
        working: bool = False,
    ) -> Task | None:
        """Claim a task, or the next one that is ready; None: there is none."""

    def delete(self, group: str, task_id: str, *, version: int, by: str) -> None:
        """Delete a task that nothing depends on."""

    def select(
        self,
        group: str,
        *,
        status: Sequence[str] = (),
        owner: str | None = None,
        ready: bool | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> tuple[Task, ...]:
        """Return a page of tasks, by priority, then by age.

        ``after`` is the ``place`` of the last task of the page before, or its id.
        """

    def changes(
        self, group: str, since: int, limit: int
    ) -> tuple[tuple[Task, ...], tuple[str, ...], int]:
        """Return tasks changed and ids deleted since a number, and the number now."""

    def counts(self, group: str) -> dict[str, int]:
        """Return how many tasks are in each state."""

    def save_run(self, run: Run) -> None:
        """Remember a run of a sub-agent, or what became of it."""

    def find_run(self, job: str, owner: str) -> Run | None:
        """Return what is remembered of a job; a foreign one is an unknown one."""

    def check(self) -> list[str]:
        """Return what is damaged, or does not fit together; empty is good."""

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values, one task at a time."""

    def close(self) -> None:
        """Let go of everything."""
