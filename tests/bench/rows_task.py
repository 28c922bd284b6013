"""What is measured of the task pack."""

from __future__ import annotations

import itertools
import sqlite3
import time

from pathlib import Path

from toolcrib_task.model import NewTask
from toolcrib_task.schema import MIGRATIONS
from toolcrib_task.store import Change, SqliteTasks

from material import least
from measuring import main, row


def ours(folder: Path, count: int) -> float:
    """Seconds of one task's create, claim and complete."""
    store = SqliteTasks(folder / "ours.db", time=time.time)
    started = time.perf_counter()
    for _ in range(count):
        store.create("g", [NewTask(title="x")])
        task = store.claim("g", by="me", lease=60)
        store.update("g", task.id, Change(status="done"), version=task.version, by="me")
    taken = time.perf_counter() - started
    store.close()
    return taken / count


def plain(folder: Path, count: int) -> float:
    """The same rows, columns and transactions, and nothing else."""
    db = sqlite3.connect(folder / "plain.db", isolation_level=None)
    db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + MIGRATIONS[0])
    started = time.perf_counter()
    for _ in range(count):
        now = time.time()
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE counter SET number = number + 1")
        db.execute(
            "INSERT INTO tasks (grp, title, description, status, priority, repeatable,"
            " metadata, created, updated, change)"
            " VALUES ('g', 'x', '', 'open', 1, 0, '{}', ?, ?, 1)",
            (now, now),
        )
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("SELECT * FROM tasks WHERE lease < ? AND +grp = 'g'", (now,)).fetchall()
        seq = db.execute(
            "UPDATE tasks SET status = 'claimed', owner = 'me', lease = ?,"
            " attempt = attempt + 1, version = version + 1, updated = ?, change = 2"
            " WHERE seq = (SELECT seq FROM tasks WHERE grp = 'g' AND status = 'open'"
            " AND waiting = 0 ORDER BY priority, seq LIMIT 1) RETURNING *",
            (now + 60, now),
        ).fetchone()[0]
        db.execute("UPDATE counter SET number = number + 1")
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("SELECT * FROM tasks WHERE lease < ? AND +grp = 'g'", (now,)).fetchall()
        db.execute("SELECT * FROM tasks WHERE seq = ? AND grp = 'g'", (seq,)).fetchone()
        db.execute("UPDATE counter SET number = number + 1")
        db.execute(
            "UPDATE tasks SET status = 'done', lease = NULL, version = version + 1,"
            " updated = ?, change = 3 WHERE seq = ? RETURNING *",
            (now, seq),
        ).fetchone()
        db.execute("SELECT task FROM needs WHERE on_task = ?", (seq,)).fetchall()
        db.execute("COMMIT")
    taken = time.perf_counter() - started
    db.close()
    return taken / count


@row
def task_cycle(folder: Path) -> list[float]:
    """Create, claim and complete a task; the floor is the same statements, plainly."""
    numbers = itertools.count()

    def fresh() -> Path:
        at = folder / str(next(numbers))
        at.mkdir()
        return at

    return least(lambda: ours(fresh(), 500), lambda: plain(fresh(), 500))


if __name__ == "__main__":
    main()
