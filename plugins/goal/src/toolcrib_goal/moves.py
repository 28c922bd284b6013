"""What may be done with a goal, and when."""

from __future__ import annotations

from typing import Any, Literal

from .model import LIMITS, Goal, GoalError, are_related


__all__ = ["SAME", "TO", "Action", "failed", "fits", "may", "may_judge"]

Action = Literal["progress", "pause", "resume", "block", "edit", "request", "withdraw", "drop"]
SAME = 3
"""How often the same may be said before it counts as no progress."""


# From which states an action may be taken.
_FROM: dict[str, frozenset[str]] = {
    "progress": frozenset({"active"}),
    "pause": frozenset({"active", "verifying", "blocked"}),
    "resume": frozenset({"paused", "blocked"}),
    "block": frozenset({"active", "verifying"}),
    "edit": frozenset({"active", "verifying", "paused", "blocked", "budget_limited"}),
    "request": frozenset({"active"}),
    "withdraw": frozenset({"verifying"}),
    "drop": frozenset({"active", "verifying", "paused", "blocked", "budget_limited"}),
}
TO = {
    "pause": "paused", "resume": "active", "block": "blocked", "request": "verifying",
    "withdraw": "active", "drop": "dropped",
}  # fmt: skip


def fits(name: str, text: str, pointer: str) -> None:
    """Refuse a text that is too long."""
    if len(text) > LIMITS[name]:
        said = f"it is longer than {LIMITS[name]:,} characters"
        raise GoalError("goal.too_long", said, kind="invalid", pointer=pointer)


def may(goal: Goal, action: Action, *, by: str, version: int, text: str) -> None:
    """Refuse what does not fit the goal as it is."""
    if goal.version != version:
        said = f"{goal.described()}. Version {version} is stale: look again, then decide."
        raise GoalError("goal.stale", said)
    if goal.status not in _FROM[action]:
        said = f"{goal.described()}. It cannot be changed by {action!r} now."
        raise GoalError("goal.transition", said)
    needed = {"block": "reason", "request": "evidence", "edit": "objective"}.get(action)
    if needed is not None and not text.strip():
        said = f"{action} needs a text: {needed}"
        raise GoalError("goal.empty", said, kind="invalid", pointer="/text")
    fits(needed or "reason", text, "/text")


def may_judge(goal: Goal, *, by: str, digest: str, grounds: str) -> None:
    """Refuse a verdict that is not somebody else's, on the request as it is now."""
    fits("evidence", grounds, "/evidence")
    if goal.status != "verifying":
        text = f"{goal.described()}. There is nothing to judge."
        raise GoalError("goal.not_requested", text)
    if are_related(by, str(goal.requester)):
        text = (
            f"{goal.requester} asked for completion, so {by} cannot grant it."
            " Somebody else has to judge."
        )
        raise GoalError("goal.own_verdict", text)
    if digest != goal.digest:
        text = (
            f"{goal.described()}. The digest is not that of the request as it is"
            " now: look again, then judge that."
        )
        raise GoalError("goal.stale", text)
    if not grounds.strip():
        text = "say on what grounds"
        raise GoalError("goal.no_evidence", text, kind="invalid", pointer="/evidence")


def failed(same: int, last: str | None, grounds: str) -> dict[str, Any]:
    """Return what a verdict against a goal sets; three times the same blocks it."""
    said = f"verdict: {grounds}"
    same = same + 1 if last == said else 1
    values: dict[str, Any] = {
        **dict.fromkeys(("requester", "evidence", "digest"), None),
        "same": same,
        "last": said,
        "reason": None,
    }
    if same >= SAME:
        values |= {
            "status": "blocked",
            "since": None,
            "reason": f"no progress: the same verdict was given {same} times",
        }
    return values
