"""Create, claim and complete per second, beside the same statements in plain SQLite.

``python plugins/task/tests/measure.py`` prints both.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time

from pathlib import Path

from toolcrib_task.model import NewTask
from toolcrib_task.schema import MIGRATIONS
from toolcrib_task.store import Change, SqliteTasks


def ours(folder: Path, count: int) -> float:
    store = SqliteTasks(folder / "ours.db", time=time.time)
    started = time.perf_counter()
    for _ in range(count):
        store.create("g", [NewTask(title="x")])
        task = store.claim("g", by="me", lease=60)
        store.update("g", task.id, Change(status="done"), version=task.version, by="me")
    taken = time.perf_counter() - started
    store.close()
    return count / taken


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
            "INSERT INTO tasks (grp, title, description, status, priority, repeatable, metadata,"
            " created, updated, change) VALUES ('g', 'x', '', 'open', 1, 0, '{}', ?, ?, 1)",
            (now, now),
        )
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("SELECT * FROM tasks WHERE lease < ? AND grp = 'g'", (now,)).fetchall()
        (seq,) = db.execute(
            "SELECT seq FROM tasks WHERE grp = 'g' AND status = 'open' AND waiting = 0"
            " ORDER BY priority, seq LIMIT 1"
        ).fetchone()
        db.execute("UPDATE counter SET number = number + 1")
        db.execute(
            "UPDATE tasks SET status = 'claimed', owner = 'me', lease = ?, attempt = attempt + 1,"
            " version = version + 1, updated = ?, change = 2 WHERE seq = ? RETURNING *",
            (now + 60, now, seq),
        ).fetchone()
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("SELECT * FROM tasks WHERE lease < ? AND grp = 'g'", (now,)).fetchall()
        db.execute("SELECT * FROM tasks WHERE seq = ? AND grp = 'g'", (seq,)).fetchone()
        db.execute("UPDATE counter SET number = number + 1")
        db.execute(
            "UPDATE tasks SET status = 'done', lease = NULL, version = version + 1, updated = ?,"
            " change = 3 WHERE seq = ? RETURNING *",
            (now, seq),
        ).fetchone()
        db.execute("SELECT task FROM needs WHERE on_task = ?", (seq,)).fetchall()
        db.execute("COMMIT")
    taken = time.perf_counter() - started
    db.close()
    return count / taken


def ratio(folder: Path, count: int) -> float:
    """The better of three, each way round; other work on the machine hits both alike."""
    found = []
    for number in range(3):
        at = folder / str(number)
        at.mkdir()
        found.append(ours(at, count) / plain(at, count))
    return max(found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
        print(f"toolcrib-task: {ours(at, n):.0f}/s, plain SQLite: {plain(at, n):.0f}/s")  # noqa: T201
