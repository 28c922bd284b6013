"""The store of tasks in SQLite.

Every change is one transaction that holds the file for writing, so nothing is lost
between processes. Each change of a task has a number; "what changed since" is one query.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from toolcrib_store import Database

from .changing import Change, check_change
from .graph import check_new, depend, resolved
from .lineage import Run
from .model import LIMITS, PRIORITIES, NewTask, Task, TaskError
from .rows import (
    COLUMNS,
    NEXT_CHANGE,
    count_change,
    current_change,
    expire,
    find_late,
    insert,
    position,
    row_of,
    seq_of,
    task_of,
)
from .schema import APPLICATION, MIGRATIONS, MISFITS


__all__ = ["Change", "SqliteTasks"]

_READY = "status = 'open' AND waiting = 0"
_LET_GO = frozenset({"open", "done", "failed", "uncertain", "cancelled"})


class SqliteTasks:
    """Tasks in one file (:class:`toolcrib_task.engine.TaskStore`).

    Args:
        path: Where; None: in memory.
        time: Seconds since the epoch.
    """

    def __init__(self, path: Path | None, *, time: Callable[[], float]) -> None:
        self._time = time
        self.database = Database(path, application=APPLICATION, migrations=MIGRATIONS)

    # -- making ----------------------------------------------------------------------

    def create(self, group: str, tasks: Sequence[NewTask]) -> tuple[Task, ...]:
        """Make tasks: all, or none."""
        check_new(tasks)
        now = self._time()
        with self.database.write() as db:
            change = current_change(db) + 1
            made = [insert(db, group, new, now=now, change=change) for new in tasks]
            count_change(db)
            if any(new.depends_on for new in tasks):
                made = self._connected(db, group, tasks, made)
            return tuple(made)

    @staticmethod
    def _connected(
        db: sqlite3.Connection, group: str, tasks: Sequence[NewTask], made: list[Task]
    ) -> list[Task]:
        """Let tasks of one request depend on others; return them as they are then."""
        numbers = [seq_of(task.id) for task in made]
        for place, new in enumerate(tasks):
            if new.depends_on:
                depend(db, group, numbers[place], resolved(new.depends_on, numbers, place))
        return [task_of(db, row_of(db, group, seq)) for seq in numbers]

    # -- looking -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _look(self, group: str) -> Iterator[sqlite3.Connection]:
        """Look at one moment, after what dead owners hold was handed back."""
        now = self._time()
        with self.database.snapshot() as db:
            if not find_late(db, group, now):
                yield db
                return
        with self.database.write() as db:
            expire(db, group, now)
            yield db

    def get(self, group: str, task_id: str) -> Task:
        """Return a task."""
        with self._look(group) as db:
            return task_of(db, row_of(db, group, seq_of(task_id)))

    def select(
        self,
        group: str,
        *,
        status: Sequence[str] = (),
        owner: str | None = None,
        ready: bool | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> tuple[Task, ...]:
        """Return a page of tasks: by priority, then by age."""
        where: list[str] = []
        values: list[Any] = []
        if status:
            where.append(f" AND status IN ({', '.join('?' * len(status))})")
            values += status
        if owner is not None:
            where.append(" AND owner = ?")
            values.append(owner)
        if ready is not None:
            where.append(f" AND ({_READY})" if ready else f" AND NOT ({_READY})")
        rows: list[sqlite3.Row] = []
        with self._look(group) as db:
            first, behind = (0, 0) if after is None else position(db, group, after)
            # One priority after the other, so that a page begins where the last one ended.
            for priority in range(first, len(PRIORITIES)):
                if len(rows) < limit:
                    rows += db.execute(
                        f"SELECT {COLUMNS} FROM tasks WHERE grp = ? AND priority = ?"
                        f" AND seq > ?{''.join(where)} ORDER BY seq LIMIT ?",
                        (group, priority, behind if priority == first else 0, *values,
                         limit - len(rows)),
                    ).fetchall()  # fmt: skip
            return tuple([task_of(db, row) for row in rows])

    def changes(
        self, group: str, since: int, limit: int
    ) -> tuple[tuple[Task, ...], tuple[str, ...], int]:
        """Return tasks changed and ids deleted since a number, and the number now."""
        # One moment for all of it: what is changed meanwhile has a number behind this one.
        with self._look(group) as db:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM tasks WHERE grp = ? AND change > ?"
                " ORDER BY change, seq LIMIT ?",
                (group, since, limit),
            ).fetchall()
            full = len(rows) == limit
            now = rows[-1]["change"] if full else current_change(db)
            if full:
                # A change is shown whole or not at all, or the next page would miss some.
                rows = db.execute(
                    f"SELECT {COLUMNS} FROM tasks WHERE grp = ? AND change > ?"
                    " AND change <= ? ORDER BY change, seq",
                    (group, since, now),
                ).fetchall()
            gone = db.execute(
                "SELECT seq FROM gone WHERE grp = ? AND change > ? AND change <= ?",
                (group, since, now),
            ).fetchall()
            return (
                tuple([task_of(db, row) for row in rows]),
                tuple([f"t{row[0]}" for row in gone]),
                now,
            )

    def counts(self, group: str) -> dict[str, int]:
        """Return how many tasks are in each state, and how many are ready."""
        with self._look(group) as db:
            rows = db.execute(
                f"SELECT status, count(*), sum({_READY}) FROM tasks"
                " WHERE grp = ? GROUP BY status",
                (group,),
            ).fetchall()
        found = {row[0]: row[1] for row in rows}
        return {**found, "ready": sum(row[2] for row in rows)}

    def groups(self) -> tuple[str, ...]:
        """Return the names of all lists."""
        with self.database.read() as db:
            rows = db.execute("SELECT DISTINCT grp FROM tasks ORDER BY grp").fetchall()
        return tuple(row[0] for row in rows)

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values, one task at a time."""
        for group in self.groups():
            after = None
            while page := self.select(group, after=after, limit=500):
                yield from ({"list": group, **task.facts()} for task in page)
                after = page[-1].place

    def check(self) -> list[str]:
        """Return what is damaged, or does not fit together; empty is good."""
        found = self.database.check()
        if not found:
            with self.database.read() as db:
                rows = db.execute(MISFITS).fetchall()
            found = [f"t{row[0]} of {row[1]}: {row[2]}" for row in rows]
        return found

    # -- changing ----------------------------------------------------------------------

    def claim(
        self,
        group: str,
        *,
        by: str,
        lease: float,
        task_id: str | None = None,
        working: bool = False,
    ) -> Task | None:
        """Claim a task, or the next one that is ready; None: there is none."""
        now = self._time()
        with self.database.write() as db:
            expire(db, group, now)
            seq: int | None = None
            if task_id is not None:
                seq = self._claimable(db, group, task_id, by)
            which = "?" if seq is not None else (
                f"(SELECT seq FROM tasks WHERE grp = ? AND {_READY}"
                " ORDER BY priority, seq LIMIT 1)"
            )  # fmt: skip
            row = db.execute(
                "UPDATE tasks SET status = CASE WHEN status = 'working' THEN 'working' ELSE ?"
                " END, owner = ?, lease = ?, attempt = attempt + (status = 'open'),"
                f" version = version + 1, updated = ?, change = {NEXT_CHANGE}"
                f" WHERE seq = {which} RETURNING {COLUMNS}",
                (
                    *("working" if working else "claimed", by, now + lease, now),
                    group if seq is None else seq,
                ),
            ).fetchone()
            if row is None:
                return None
            count_change(db)
            return task_of(db, row)

    @staticmethod
    def _claimable(db: sqlite3.Connection, group: str, task_id: str, by: str) -> int:
        row = row_of(db, group, seq_of(task_id))
        task = task_of(db, row)
        # Claiming again what one has is how a lease is made longer.
        mine = task.status in {"claimed", "working"} and task.owner == by
        if not (task.ready or mine):
            text = f"{task.described()}. Claim another one, or leave the id out."
            raise TaskError("task.not_ready", text)
        seq: int = row["seq"]
        return seq

    def update(
        self, group: str, task_id: str, change: Change, *, version: int, by: str
    ) -> tuple[Task, ...]:
        """Change a task if it has this version; return it, then what it set free."""
        now = self._time()
        seq = seq_of(task_id)
        with self.database.write() as db:
            before = self._as_it_is(db, group, seq, now)
            check_change(before, change, version=version, by=by)
            if change.no_longer_on or change.depend_on:
                self._edges(db, group, seq, change)
            values = _values(before, change, by=by, now=now)
            columns = "".join([f"{name} = ?, " for name in values])
            row = db.execute(
                f"UPDATE tasks SET {columns}version = version + 1, updated = ?,"
                f" change = {NEXT_CHANGE} WHERE seq = ? RETURNING {COLUMNS}",
                (*values.values(), now, seq),
            ).fetchone()
            freed = _set_free(db, seq) if change.status == "done" else []
            count_change(db)
            return (task_of(db, row), *freed)

    @staticmethod
    def _as_it_is(db: sqlite3.Connection, group: str, seq: int, now: float) -> Task:
        """Return a task; where the lease of its owner has ended, it is handed back first."""
        task = task_of(db, row_of(db, group, seq))
        if task.lease is None or task.lease >= now:
            return task
        expire(db, group, now)
        return task_of(db, row_of(db, group, seq))

    @staticmethod
    def _edges(db: sqlite3.Connection, group: str, seq: int, change: Change) -> None:
        for other in change.no_longer_on:
            db.execute("DELETE FROM needs WHERE task = ? AND on_task = ?", (seq, seq_of(other)))
        if change.no_longer_on:
            db.execute(
                "UPDATE tasks SET waiting = (SELECT count(*) FROM needs JOIN tasks AS t"
                " ON t.seq = on_task WHERE task = ? AND t.status != 'done') WHERE seq = ?",
                (seq, seq),
            )
        depend(db, group, seq, [seq_of(other) for other in change.depend_on])

    def delete(self, group: str, task_id: str, *, version: int, by: str) -> None:
        """Delete a task that nothing depends on."""
        now = self._time()
        seq = seq_of(task_id)
        with self.database.write() as db:
            task = self._as_it_is(db, group, seq, now)
            check_change(task, Change(), version=version, by=by)
            rows = db.execute("SELECT task FROM needs WHERE on_task = ?", (seq,)).fetchall()
            if rows:
                others = ", ".join([f"t{row[0]}" for row in rows[:10]])
                text = f"{task_id} is needed by {others}; take it off them first, or cancel it"
                raise TaskError("task.needed", text)
            db.execute("DELETE FROM needs WHERE task = ?", (seq,))
            db.execute("DELETE FROM tasks WHERE seq = ?", (seq,))
            db.execute(f"INSERT INTO gone VALUES (?, ?, {NEXT_CHANGE})", (seq, group))
            count_change(db)

    # -- sub-agents --------------------------------------------------------------------

    def save_run(self, run: Run) -> None:
        """Remember a run of a sub-agent, or what became of it."""
        row = attrs.asdict(run)
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        with self.database.write() as db:
            db.execute(
                f"INSERT OR REPLACE INTO runs ({columns}) VALUES ({marks})",
                tuple(row.values()),
            )

    def find_run(self, job: str, owner: str) -> Run | None:
        """Return what is remembered of a job; a foreign one is an unknown one."""
        with self.database.read() as db:
            row = db.execute(
                "SELECT * FROM runs WHERE job = ? AND owner = ?", (job, owner)
            ).fetchone()
        return None if row is None else Run(**dict(row))

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _set_free(db: sqlite3.Connection, seq: int) -> list[Task]:
    """Count down what waits for a task that is done now; return what is ready by that."""
    if db.execute("SELECT 1 FROM needs WHERE on_task = ? LIMIT 1", (seq,)).fetchone() is None:
        return []
    rows = db.execute(
        f"UPDATE tasks SET waiting = waiting - 1, change = {NEXT_CHANGE} WHERE seq IN"
        f" (SELECT task FROM needs WHERE on_task = ?) RETURNING {COLUMNS}",
        (seq,),
    ).fetchall()
    return [task for task in [task_of(db, row) for row in rows] if task.ready]


def _values(before: Task, change: Change, *, by: str, now: float) -> dict[str, Any]:
    """Return the columns that a change sets."""
    values: dict[str, Any] = {}
    for name in ("title", "description", "evidence", "status"):
        value = getattr(change, name)
        if value is not None:
            values[name] = value
    if change.priority is not None:
        values["priority"] = PRIORITIES.index(change.priority)
    if change.metadata is not None:
        merged = {**before.metadata, **change.metadata}
        text = json.dumps({k: v for k, v in merged.items() if v is not None})
        if len(text) > LIMITS["metadata"]:
            said = f"metadata is longer than {LIMITS['metadata']:,} characters"
            raise TaskError("task.too_long", said, kind="invalid", pointer="/metadata")
        values["metadata"] = text
    if change.status in _LET_GO:
        values["lease"] = None
        if change.status == "open":
            values["owner"] = None
    elif change.lease is not None and before.owner == by:
        values["lease"] = now + change.lease
    return values
