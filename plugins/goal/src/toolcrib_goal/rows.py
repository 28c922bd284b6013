"""Rows of the file of goals, and the goals that they stand for."""

from __future__ import annotations

import json
import sqlite3

from .model import Budget, Goal, GoalError


__all__ = ["goal_of", "row_of", "unfinished", "unseen", "used_seconds"]


def row_of(db: sqlite3.Connection, group: str, goal_id: str) -> sqlite3.Row:
    """Return the row of a goal, or refuse."""
    digits = goal_id.removeprefix("g")
    row: sqlite3.Row | None = None
    if goal_id[:1] == "g" and digits.isascii() and digits.isdigit() and len(digits) < 16:
        row = db.execute(
            "SELECT * FROM goals WHERE seq = ? AND grp = ?", (int(digits), group)
        ).fetchone()
    if row is None:
        text = f"there is no goal {goal_id!r}; goal.list shows what there is"
        raise GoalError("goal.unknown", text, kind="not_found")
    return row


def unfinished(db: sqlite3.Connection, group: str, conversation: str) -> sqlite3.Row | None:
    """Return the row of the goal that a conversation has not ended."""
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM goals WHERE grp = ? AND conversation = ?"
        " AND status NOT IN ('complete', 'dropped')",
        (group, conversation),
    ).fetchone()
    return row


def used_seconds(row: sqlite3.Row, now: float) -> float:
    """Return the seconds of work up to now, by the host's clock."""
    since = row["since"]
    used: float = row["used_seconds"]
    return used if since is None else used + max(now - since, 0.0)


def unseen(row: sqlite3.Row, begun: int | None) -> int:
    """Return calls that began since the last look; never fewer than none."""
    if begun is None or row["seen_calls"] is None:
        return 0
    # Records that were removed meanwhile give nothing back.
    return max(begun - int(row["seen_calls"]), 0)


def goal_of(row: sqlite3.Row, now: float) -> Goal:
    """Return the goal of a row, with what it has used up to now."""
    return Goal(
        id=f"g{row['seq']}",
        conversation=row["conversation"],
        objective=row["objective"],
        revision=row["revision"],
        status=row["status"],
        version=row["version"],
        reason=row["reason"],
        budget=Budget(
            calls=row["calls"],
            seconds=row["seconds"],
            tokens=row["tokens"],
            used_calls=row["used_calls"],
            used_seconds=used_seconds(row, now),
            used_tokens=row["used_tokens"],
        ),
        attempt=row["attempt"],
        requester=row["requester"],
        evidence=row["evidence"],
        digest=row["digest"],
        verdict=None if row["verdict"] is None else json.loads(row["verdict"]),
        created=row["created"],
        updated=row["updated"],
    )
