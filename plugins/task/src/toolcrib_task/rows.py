"""Rows of the file of tasks, read and changed one by one, inside of a transaction."""

from __future__ import annotations

import json
import sqlite3

from .model import PRIORITIES, Task, TaskError


__all__ = ["current_change", "expire", "next_change", "row_of", "seq_of", "task_of"]


def seq_of(task_id: str) -> int:
    """Return the number of an id, or refuse."""
    digits = task_id.removeprefix("t")
    if task_id[:1] != "t" or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        text = f"{task_id!r} is no id of a task; ids look like t12"
        raise TaskError("task.unknown", text, kind="not_found")
    return int(digits)


def next_change(db: sqlite3.Connection) -> int:
    """Return the number of the change that is being made."""
    number: int = db.execute(
        "UPDATE counter SET number = number + 1 RETURNING number"
    ).fetchone()[0]
    return number


def current_change(db: sqlite3.Connection) -> int:
    """Return the number of the last change."""
    number: int = db.execute("SELECT number FROM counter").fetchone()[0]
    return number


def row_of(db: sqlite3.Connection, group: str, seq: int) -> sqlite3.Row:
    """Return the row of a task, or refuse."""
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM tasks WHERE seq = ? AND grp = ?", (seq, group)
    ).fetchone()
    if row is None:
        text = f"there is no task t{seq}; task.list shows what there is"
        raise TaskError("task.unknown", text, kind="not_found")
    return row


def task_of(db: sqlite3.Connection, row: sqlite3.Row) -> Task:
    """Return the task of a row, with what it depends on."""
    needs: list[sqlite3.Row] = []
    if row["needing"]:
        needs = db.execute(
            "SELECT on_task, status FROM needs JOIN tasks ON seq = on_task WHERE task = ?"
            " ORDER BY on_task",
            (row["seq"],),
        ).fetchall()
    return Task(
        id=f"t{row['seq']}",
        title=row["title"],
        description=row["description"],
        status=row["status"],
        priority=PRIORITIES[row["priority"]],
        owner=row["owner"],
        lease=row["lease"],
        attempt=row["attempt"],
        repeatable=bool(row["repeatable"]),
        version=row["version"],
        depends_on=tuple(f"t{need[0]}" for need in needs),
        waits_for=tuple(f"t{need[0]}" for need in needs if need[1] != "done"),
        evidence=row["evidence"],
        metadata=json.loads(row["metadata"]),
        created=row["created"],
        updated=row["updated"],
        change=row["change"],
    )


def expire(db: sqlite3.Connection, group: str, now: float) -> None:
    """Hand back what dead owners hold."""
    late = db.execute(
        "SELECT * FROM tasks WHERE lease < ? AND grp = ?", (now, group)
    ).fetchall()
    for row in late:
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
            " updated = ?, change = ? WHERE seq = ?",
            (
                *("open" if again else "uncertain", again, evidence, now),
                *(next_change(db), row["seq"]),
            ),
        )
