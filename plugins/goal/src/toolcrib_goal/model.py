"""What a goal is, and who may call it complete."""

from __future__ import annotations

import hashlib
import json

from typing import Any, Literal

import attrs

from toolcrib_store import StoreError


__all__ = [
    "ENDED",
    "LIMITS",
    "Budget",
    "Goal",
    "GoalError",
    "Status",
    "are_related",
    "digest_of",
]

Status = Literal[
    "active", "verifying", "paused", "blocked", "budget_limited", "complete", "dropped"
]

ENDED = frozenset({"complete", "dropped"})
"""States in which nothing is worked on any more."""

LIMITS = {"objective": 100_000, "reason": 4_000, "evidence": 20_000}
"""Characters."""


class GoalError(StoreError):
    """Raised when something cannot be done with a goal; its codes are ``goal.*``."""


@attrs.frozen(kw_only=True)
class Budget:
    """What may be used up, and what has been; None: no limit."""

    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    used_calls: int = 0
    used_seconds: float = 0.0
    used_tokens: int = 0

    def over(self) -> str | None:
        """Name what is used up."""
        for name in ("calls", "seconds", "tokens"):
            limit, used = getattr(self, name), getattr(self, f"used_{name}")
            if limit is not None and used >= limit:
                return f"{used:g} of {limit:g} {name} are used"
        return None


@attrs.frozen(kw_only=True)
class Goal:
    """A goal as it is.

    Attributes:
        conversation: Where it is worked on.
        revision: Number of the objective's text; an edit makes a new one.
        version: Grows with every change; name it to change the goal.
        reason: Why it is in its state, where that is not plain.
        requester: Identity that asked for completion.
        digest: What a verdict has to name: it stands for this goal, as it is, with the
            evidence that was given.
        verdict: The last one, with who gave it and on what grounds.
    """

    id: str
    conversation: str
    objective: str
    revision: int
    status: Status
    version: int
    reason: str | None
    budget: Budget
    attempt: int
    requester: str | None
    evidence: str | None
    digest: str | None
    verdict: dict[str, Any] | None
    created: float
    updated: float

    @property
    def go_on(self) -> bool:
        """Whether work on it should continue."""
        return self.status == "active"

    def moves(self) -> str:
        """Say what would be legal now."""
        return {
            "active": "it can be paused, blocked, edited, dropped, or its completion requested",
            "verifying": "it waits for a verdict of somebody else; any change withdraws it",
            "paused": "it can be resumed, edited or dropped",
            "blocked": "it can be resumed, edited or dropped",
            "budget_limited": "only a person can raise its budget; it can be dropped",
            "complete": "it stays so; make a new goal",
            "dropped": "it stays so; make a new goal",
        }[self.status]

    def described(self) -> str:
        """Say how it stands, in one line."""
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.id} is {self.status}{why}, version {self.version}; {self.moves()}"

    def facts(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        facts = attrs.asdict(self)
        facts["continue"] = self.go_on
        return facts


def digest_of(goal: Goal, evidence: str) -> str:
    """Return what stands for a goal as it is, with the evidence for its completion."""
    seen = {
        "goal": goal.id,
        "revision": goal.revision,
        "objective": goal.objective,
        "attempt": goal.attempt,
        "evidence": evidence,
    }
    text = json.dumps(seen, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def are_related(one: str, other: str) -> bool:
    """Tell whether one identity is the other, or was started by it.

    A conversation that another one started has its name in front, so a sub-agent cannot
    call complete what those above it asked for, nor they what it asked for.
    """
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
