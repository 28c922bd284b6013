"""Dependencies: ids that exist, and no cycles."""

from __future__ import annotations

import json
import sqlite3

from collections.abc import Sequence

from .model import LIMITS, MOST_NEEDS, NewTask, TaskError


__all__ = ["check_new", "depend", "resolved"]


def check_new(tasks: Sequence[NewTask]) -> None:
    """Refuse tasks whose texts are too long or empty."""
    for number, new in enumerate(tasks):
        at = f"/tasks/{number}"
        if not new.title.strip():
            text = "a task needs a title"
            raise TaskError("task.no_title", text, kind="invalid", pointer=f"{at}/title")
        for name in ("title", "description"):
            if len(getattr(new, name)) > LIMITS[name]:
                text = f"{name} is longer than {LIMITS[name]:,} characters"
                raise TaskError("task.too_long", text, kind="invalid", pointer=f"{at}/{name}")
        if len(new.depends_on) > MOST_NEEDS:
            text = f"a task depends on {MOST_NEEDS} others at most in one request"
            pointer = f"{at}/depends_on"
            raise TaskError("task.too_many", text, kind="invalid", pointer=pointer)
        if new.metadata and len(json.dumps(dict(new.metadata))) > LIMITS["metadata"]:
            text = f"metadata is longer than {LIMITS['metadata']:,} characters"
            raise TaskError("task.too_long", text, kind="invalid", pointer=f"{at}/metadata")


def resolved(names: Sequence[str], made: Sequence[int], number: int) -> list[int]:
    """Return the numbers of dependencies; ``#2`` is the second task of the same request."""
    found = []
    for name in names:
        digits = name[1:]
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
            text = f"{name!r} is no id of a task; ids look like t12, or #1 in one request"
            raise _unknown(text, number)
        if name[0] == "#":
            if not 1 <= int(digits) <= len(made):
                text = f"{name} is not in this request, whose tasks are #1 to #{len(made)}"
                raise _unknown(text, number)
            found.append(made[int(digits) - 1])
        elif name[0] == "t":
            found.append(int(digits))
        else:
            text = f"{name!r} is no id of a task; ids look like t12, or #1 in one request"
            raise _unknown(text, number)
    return found


def _unknown(text: str, number: int) -> TaskError:
    pointer = f"/tasks/{number}/depends_on"
    return TaskError("task.unknown_dependency", text, kind="invalid", pointer=pointer)


def depend(db: sqlite3.Connection, group: str, seq: int, others: Sequence[int]) -> None:
    """Let a task depend on others.

    Raises:
        TaskError: one does not exist, is cancelled, or would close a circle.
    """
    # Nothing leads back to a task that no other one needs, which is what a new one is.
    needed = db.execute("SELECT 1 FROM needs WHERE on_task = ? LIMIT 1", (seq,)).fetchone()
    for other in dict.fromkeys(others):
        row = db.execute(
            "SELECT status FROM tasks WHERE seq = ? AND grp = ?", (other, group)
        ).fetchone()
        if row is None or row[0] == "cancelled":
            why = "there is no task" if row is None else "cancelled, and never done, is"
            text = f"{why} t{other}; task.list shows what there is"
            raise TaskError("task.unknown_dependency", text, kind="invalid")
        circle = [seq] if other == seq else (_path(db, other, seq) if needed else None)
        if circle is not None:
            text = f"that would be a circle: {' needs '.join(f't{n}' for n in (seq, *circle))}"
            raise TaskError("task.cycle", text)
        added = db.execute(
            "INSERT OR IGNORE INTO needs (task, on_task) VALUES (?, ?)", (seq, other)
        ).rowcount
        if added:
            db.execute(
                "UPDATE tasks SET needing = 1, waiting = waiting + ? WHERE seq = ?",
                (int(row[0] != "done"), seq),
            )


def _path(db: sqlite3.Connection, start: int, goal: int) -> list[int] | None:
    """Return how one task needs another, or None if it does not."""
    before: dict[int, int | None] = {start: None}
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at == goal:
            found: list[int] = []
            step: int | None = at
            while step is not None:
                found.append(step)
                step = before[step]
            return found[::-1]
        for (other,) in db.execute("SELECT on_task FROM needs WHERE task = ?", (at,)):
            if other not in before:
                before[other] = at
                waiting.append(other)
    return None
