"""What any engine for goals must do; the one in SQLite is beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from .model import Budget, Goal
from .moves import Action


__all__ = ["GoalStore"]


class GoalStore(Protocol):
    """What an engine for goals does; every method is one atomic step.

    A ``group`` is the workspace that goals belong to. What cannot be done raises
    ``GoalError``.
    """

    def create(
        self,
        group: str,
        conversation: str,
        objective: str,
        budget: Budget,
        *,
        begun: int | None = None,
    ) -> Goal:
        """Make a goal for a conversation that has none.

        ``begun`` is how many calls of the conversation the host has counted so far.
        """

    def get(self, group: str, goal_id: str) -> Goal:
        """Return a goal."""

    def current(self, group: str, conversation: str) -> Goal | None:
        """Return the goal that a conversation works on, or its last one."""

    def select(
        self, group: str, *, status: str | None = None, limit: int = 50
    ) -> tuple[Goal, ...]:
        """Return goals, the newest first."""

    def act(
        self, group: str, goal_id: str, action: Action, *, by: str, version: int, text: str = ""
    ) -> Goal:
        """Do something with a goal, if it has this version."""

    def verdict(
        self, group: str, goal_id: str, *, by: str, passed: bool, digest: str, grounds: str
    ) -> Goal:
        """Judge a request for completion."""

    def verdicts(self, group: str, goal_id: str) -> list[dict[str, Any]]:
        """Return every verdict that was given on a goal, in order."""

    def count(
        self,
        group: str,
        conversation: str,
        *,
        begun: int | None = None,
        calls: int = 0,
        seconds: float = 0.0,
        tokens: int = 0,
    ) -> Goal | None:
        """Count what a conversation used; only the host calls this.

        ``begun`` is how many calls of it the host has counted so far; the rest is added.
        """

    def raise_budget(self, group: str, goal_id: str, budget: Budget) -> Goal:
        """Set other limits and let work go on; for people, never for a tool."""

    def check(self) -> list[str]:
        """Return what is damaged, or does not fit together; empty is good."""

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values, one goal at a time."""

    def close(self) -> None:
        """Let go of everything."""
