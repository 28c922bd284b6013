"""What a task is, and which of its states may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from toolcrib_store import StoreError


__all__ = [
    "FINAL",
    "LIMITS",
    "MOST_NEEDS",
    "MOVES",
    "PRIORITIES",
    "STATUSES",
    "NewTask",
    "Priority",
    "Status",
    "Task",
    "TaskError",
]

Status = Literal["open", "claimed", "working", "done", "failed", "uncertain", "cancelled"]
Priority = Literal["high", "medium", "low"]

STATUSES: tuple[Status, ...] = (
    "open", "claimed", "working", "done", "failed", "uncertain", "cancelled",
)  # fmt: skip
PRIORITIES: tuple[Priority, ...] = ("high", "medium", "low")

FINAL = frozenset({"done", "cancelled"})
"""States that never change again."""

MOVES: Mapping[str, frozenset[str]] = {
    "open": frozenset({"cancelled"}),
    "claimed": frozenset({"working", "done", "failed", "open", "cancelled"}),
    "working": frozenset({"done", "failed", "open", "uncertain", "cancelled"}),
    "failed": frozenset({"open", "cancelled"}),
    "uncertain": frozenset({"open", "done", "failed", "cancelled"}),
    "done": frozenset(),
    "cancelled": frozenset(),
}
"""What ``update`` may set, from each state; ``claim`` makes an open task claimed."""

LIMITS = {"title": 200, "description": 20_000, "evidence": 20_000, "metadata": 8_000}
"""Characters."""

MOST_NEEDS = 200
"""Dependencies that one request may give one task."""


class TaskError(StoreError):
    """Raised when something cannot be done with a task; its codes are ``task.*``."""


@attrs.frozen(kw_only=True)
class NewTask:
    """A task to be made.

    Attributes:
        depends_on: Ids, or ``#1`` for the first task of the same request.
        repeatable: Whether it may simply be done again when whoever worked on it has
            vanished; else it is ``uncertain`` then.
    """

    title: str
    description: str = ""
    priority: Priority = "medium"
    depends_on: tuple[str, ...] = ()
    repeatable: bool = False
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Task:
    """A task as it is.

    Attributes:
        owner: Who has it; None: nobody.
        lease: When the claim ends by itself, in seconds since the epoch.
        attempt: How often it was claimed.
        version: Grows with every change; name it to change the task.
        waits_for: Ids of dependencies that are not done.
        evidence: What is known of how it ended.
    """

    id: str
    title: str
    description: str
    status: Status
    priority: Priority
    owner: str | None
    lease: float | None
    attempt: int
    repeatable: bool
    version: int
    depends_on: tuple[str, ...]
    waits_for: tuple[str, ...]
    evidence: str | None
    metadata: Mapping[str, Any]
    created: float
    updated: float
    change: int

    @property
    def place(self) -> str:
        """Where it stands in the list: what a next page comes after, whatever happens to it."""
        return f"{self.priority}:{self.id}"

    @property
    def ready(self) -> bool:
        """Whether it can be claimed."""
        return self.status == "open" and not self.waits_for

    def moves(self) -> str:
        """Say what would be legal now."""
        may = sorted(MOVES[self.status])
        words = f"it may become {', '.join(may)}" if may else "it stays so"
        if self.status == "open":
            words += (
                ", or be claimed"
                if self.ready
                else (f"; it waits for {', '.join(self.waits_for)}")
            )
        return words

    def described(self) -> str:
        """Say how it stands, in one line."""
        owner = f", owner {self.owner}" if self.owner else ""
        return f"{self.id} is {self.status} (version {self.version}{owner}); {self.moves()}"

    def facts(self, *, full: bool = True) -> dict[str, Any]:
        """Return it as a JSON-safe value; short without its long texts."""
        found: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "status": self.status,
            "priority": self.priority,
            "version": self.version,
            "ready": self.ready,
        }
        for name in ("owner", "lease", "depends_on", "waits_for", "evidence"):
            value = getattr(self, name)
            if value:
                found[name] = list(value) if isinstance(value, tuple) else value
        if full:
            found |= {
                "description": self.description,
                "attempt": self.attempt,
                "repeatable": self.repeatable,
                "metadata": dict(self.metadata),
                "created": self.created,
                "updated": self.updated,
            }
        return found
