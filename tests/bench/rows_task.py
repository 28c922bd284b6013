"""What is measured of the task pack."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time

from collections.abc import Callable
from pathlib import Path

from toolcrib_task.model import NewTask
from toolcrib_task.schema import MIGRATIONS
from toolcrib_task.store import Change, SqliteTasks

from material import least
from measuring import main, row


WRITERS = 8


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
    db = sqlite3.connect(folder / "plain.db", isolation_level=None, timeout=30.0)
    db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        db.executescript(MIGRATIONS[0])
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


def fresh(folder: Path) -> Path:
    """Return a new empty folder."""
    return Path(tempfile.mkdtemp(dir=folder))


@row
def task_cycle(folder: Path) -> list[float]:
    """Create, claim and complete a task; the floor is the same statements, plainly."""
    # Short rounds, and many: on a busy machine hardly a long one is undisturbed.
    return least(lambda: ours(fresh(folder), 60), lambda: plain(fresh(folder), 60), rounds=80)


def together(work: Callable[[Path, int], float], folder: Path, count: int) -> float:
    """Seconds of one cycle where several processes write to one file at once."""
    # The file is there, so that nobody measures how it is made.
    work(folder, 1)
    processes = multiprocessing.get_context("fork")
    gate = processes.Barrier(WRITERS + 1)

    def write() -> None:
        gate.wait()
        work(folder, count)

    writers = [processes.Process(target=write) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    gate.wait()
    started = time.perf_counter()
    for writer in writers:
        writer.join()
    taken = time.perf_counter() - started
    if any(writer.exitcode for writer in writers):
        text = "a writer failed"
        raise AssertionError(text)
    return taken / (WRITERS * count)


@row
def task_writers(folder: Path) -> list[float]:
    """The same by eight processes at once; the floor is eight that do it plainly."""
    return least(
        lambda: together(ours, fresh(folder), 40),
        lambda: together(plain, fresh(folder), 40),
        rounds=9,
    )


@row
def task_page(folder: Path) -> list[float]:
    """A page of 200 in the middle of 10,000 tasks; the floor is one of a list of 300."""

    def paged(name: str, count: int) -> Callable[[], float]:
        store = SqliteTasks(folder / name, time=time.time)
        for _ in range(count // 100):
            store.create("g", [NewTask(title="x")] * 100)

        def page() -> float:
            started = time.perf_counter()
            found = store.select("g", after=f"medium:t{count // 4}", limit=200)
            taken = time.perf_counter() - started
            if len(found) != 200:
                raise AssertionError(len(found))
            return taken

        return page

    return least(paged("long.db", 10_000), paged("short.db", 300), rounds=50)


if __name__ == "__main__":
    main()
