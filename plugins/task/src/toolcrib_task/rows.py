"""Rows of the file of tasks, read and changed one by one, inside of a transaction."""

from __future__ import annotations

import json
import sqlite3

from collections.abc import Mapping, Sequence
from typing import Any

from .model import PRIORITIES, NewTask, Task, TaskError


__all__ = [
    "COLUMNS",
    "NEXT_CHANGE",
    "count_change",
    "current_change",
    "expire",
    "find_late",
    "insert",
    "position",
    "row_of",
    "seq_of",
    "task_of",
]

COLUMNS = (
    "seq, title, description, status, priority, owner, lease, attempt, repeatable, version,"
    " needing, evidence, metadata, created, updated, change"
)
"""What makes a task, in the order in which :func:`task_of` takes it."""


def seq_of(task_id: str) -> int:
    """Return the number of an id, or refuse."""
    digits = task_id[1:]
    if task_id[:1] != "t" or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        text = f"{task_id!r} is no id of a task; ids look like t12"
        raise TaskError("task.unknown", text, kind="not_found")
    return int(digits)


def position(db: sqlite3.Connection, group: str, after: str) -> tuple[int, int]:
    """Return priority and number of what a page comes after: a place, or an id."""
    name, colon, task_id = after.rpartition(":")
    if not colon:
        row = row_of(db, group, seq_of(after))
        return row["priority"], row["seq"]
    if name not in PRIORITIES:
        text = f"{after!r} is no place in the list; take next of the page before"
        raise TaskError("task.page", text, kind="invalid", pointer="/after")
    return PRIORITIES.index(name), seq_of(task_id)


NEXT_CHANGE = "(SELECT number + 1 FROM counter)"
"""Number of the change that is being made; :func:`count_change` makes it the last one."""


def count_change(db: sqlite3.Connection) -> None:
    """Note that a change was made, at the end of the transaction that makes it."""
    db.execute("UPDATE counter SET number = number + 1")


def current_change(db: sqlite3.Connection) -> int:
    """Return the number of the last change."""
    number: int = db.execute("SELECT number FROM counter").fetchone()[0]
    return number


def row_of(db: sqlite3.Connection, group: str, seq: int) -> sqlite3.Row:
    """Return the row of a task, or refuse."""
    row: sqlite3.Row | None = db.execute(
        f"SELECT {COLUMNS} FROM tasks WHERE seq = ? AND grp = ?", (seq, group)
    ).fetchone()
    if row is None:
        text = f"there is no task t{seq}; task.list shows what there is"
        raise TaskError("task.unknown", text, kind="not_found")
    return row


def insert(
    db: sqlite3.Connection, group: str, new: NewTask, *, now: float, change: int
) -> Task:
    """Make the row of a task that waits for nothing yet, and return the task."""
    metadata: Mapping[str, Any] = new.metadata
    text = json.dumps(dict(metadata)) if metadata else "{}"
    seq = db.execute(
        "INSERT INTO tasks (grp, title, description, status, priority, repeatable,"
        " metadata, created, updated, change) VALUES (?,?,?,'open',?,?,?,?,?,?)",
        (group, new.title, new.description, PRIORITIES.index(new.priority), new.repeatable,
         text, now, now, change),
    ).lastrowid  # fmt: skip
    return Task(
        id=f"t{seq}",
        title=new.title,
        description=new.description,
        status="open",
        priority=new.priority,
        owner=None,
        lease=None,
        attempt=0,
        repeatable=new.repeatable,
        version=1,
        depends_on=(),
        waits_for=(),
        evidence=None,
        metadata=json.loads(text) if metadata else {},
        created=now,
        updated=now,
        change=change,
    )


def task_of(db: sqlite3.Connection, row: Sequence[Any]) -> Task:
    """Return the task of a row of :data:`COLUMNS`, with what it depends on."""
    # By place: names are looked up one by one, which is most of what a task costs.
    (
        seq, title, description, status, priority, owner, lease, attempt, repeatable, version,
        needing, evidence, metadata, created, updated, change,
    ) = row  # fmt: skip
    depends_on, waits_for = _needs(db, seq) if needing else ((), ())
    return Task(
        id=f"t{seq}",
        title=title,
        description=description,
        status=status,
        priority=PRIORITIES[priority],
        owner=owner,
        lease=lease,
        attempt=attempt,
        repeatable=repeatable != 0,
        version=version,
        depends_on=depends_on,
        waits_for=waits_for,
        evidence=evidence,
        metadata={} if metadata == "{}" else json.loads(metadata),
        created=created,
        updated=updated,
        change=change,
    )


def _needs(db: sqlite3.Connection, seq: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return ids of all dependencies, and of those that are not done."""
    needs = db.execute(
        "SELECT on_task, status FROM needs JOIN tasks ON seq = on_task WHERE task = ?"
        " ORDER BY on_task",
        (seq,),
    ).fetchall()
    waits = tuple(f"t{other}" for other, status in needs if status != "done")
    return tuple(f"t{other}" for other, _ in needs), waits


def find_late(db: sqlite3.Connection, group: str, now: float) -> list[sqlite3.Row]:
    """Return the rows of claims whose lease has ended."""
    # The plus keeps SQLite from going through the whole list instead of the few claims.
    return db.execute(
        f"SELECT {COLUMNS} FROM tasks WHERE lease < ? AND +grp = ?", (now, group)
    ).fetchall()


def expire(db: sqlite3.Connection, group: str, now: float) -> None:
    """Hand back what dead owners hold."""
    for row in find_late(db, group, now):
        # Nothing was begun, or doing it twice does no harm: it is simply open again.
        again = row["status"] == "claimed" or row["repeatable"]
        evidence = (
            None
            if again
            else (
                f"attempt {row['attempt']} by {row['owner']} began and did not report;"
                f" its lease ended at {row['lease']:.3f}"
            )
        )
        db.execute(
            "UPDATE tasks SET status = ?, owner = CASE WHEN ? THEN NULL ELSE owner END,"
            " lease = NULL, evidence = coalesce(?, evidence), version = version + 1,"
            f" updated = ?, change = {NEXT_CHANGE} WHERE seq = ?",
            ("open" if again else "uncertain", again, evidence, now, row["seq"]),
        )
        count_change(db)
