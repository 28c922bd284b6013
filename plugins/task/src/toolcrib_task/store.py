"""The store of tasks: what any engine must do, and the one in SQLite.

Every change is one transaction that holds the file for writing, so nothing is lost
between processes. Each change of a task has a number; "what changed since" is one query.
"""

from __future__ import annotations

import json
import sqlite3

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from .changing import Change, check_change
from .database import Database
from .graph import check_new, depend, resolved
from .model import PRIORITIES, NewTask, Task, TaskError
from .rows import current_change, expire, next_change, row_of, seq_of, task_of
from .schema import APPLICATION, MIGRATIONS


__all__ = ["Change", "SqliteTasks", "TaskStore"]


class TaskStore(Protocol):
    """What an engine for tasks does; every method is one atomic step."""

    def create(self, group: str, tasks: Sequence[NewTask]) -> tuple[Task, ...]:
        """Make tasks: all, or none."""

    def get(self, group: str, task_id: str) -> Task:
        """Return a task."""

    def update(
        self, group: str, task_id: str, change: Change, *, version: int, by: str
    ) -> tuple[Task, ...]:
        """Change a task if it has this version; return it, then what it set free."""

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

    def delete(self, group: str, task_id: str, *, version: int, by: str) -> None:
        """Delete a task that nothing depends on."""

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
        """Return a page of tasks: working first, then by priority and age."""

    def changes(
        self, group: str, since: int, limit: int
    ) -> tuple[tuple[Task, ...], tuple[str, ...], int]:
        """Return tasks changed and ids deleted since a number, and the number now."""

    def counts(self, group: str) -> dict[str, int]:
        """Return how many tasks are in each state."""


class SqliteTasks:
    """Tasks in one file.

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
            change = next_change(db)
            made: list[int] = []
            for new in tasks:
                row = db.execute(
                    "INSERT INTO tasks (grp, title, description, status, priority, repeatable,"
                    " metadata, created, updated, change) VALUES (?,?,?,'open',?,?,?,?,?,?)"
                    " RETURNING seq",
                    (
                        *(group, new.title, new.description),
                        *(PRIORITIES.index(new.priority), new.repeatable),
                        *(json.dumps(dict(new.metadata)), now, now, change),
                    ),
                ).fetchone()
                made.append(row[0])
            for number, new in enumerate(tasks):
                if new.depends_on:
                    depend(db, group, made[number], resolved(new.depends_on, made, number))
            # What was just made is in the cache; one query reads it back, waiting and all.
            return tuple(task_of(db, row_of(db, group, seq)) for seq in made)

    # -- looking -----------------------------------------------------------------------

    def get(self, group: str, task_id: str) -> Task:
        """Return a task."""
        self._expire(group)
        with self.database.read() as db:
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
        self._expire(group)
        where, values = ["grp = ?"], [group]
        if status:
            where.append(f"status IN ({', '.join('?' * len(status))})")
            values += status
        if owner is not None:
            where.append("owner = ?")
            values.append(owner)
        if ready is not None:
            where.append(
                "(status = 'open' AND waiting = 0)"
                if ready
                else "NOT (status = 'open' AND waiting = 0)"
            )
        with self.database.read() as db:
            if after is not None:
                row = row_of(db, group, seq_of(after))
                where.append("(priority, seq) > (?, ?)")
                values += [row["priority"], row["seq"]]
            rows = db.execute(
                f"SELECT * FROM tasks WHERE {' AND '.join(where)}"
                " ORDER BY priority, seq LIMIT ?",
                (*values, limit),
            ).fetchall()
            return tuple(task_of(db, row) for row in rows)

    def changes(
        self, group: str, since: int, limit: int
    ) -> tuple[tuple[Task, ...], tuple[str, ...], int]:
        """Return tasks changed and ids deleted since a number, and the number now."""
        self._expire(group)
        with self.database.read() as db:
            rows = db.execute(
                "SELECT * FROM tasks WHERE grp = ? AND change > ? ORDER BY change, seq LIMIT ?",
                (group, since, limit),
            ).fetchall()
            full = len(rows) == limit
            now = rows[-1]["change"] if full else current_change(db)
            if full:
                # A change is shown whole or not at all, or the next page would miss some.
                rows = db.execute(
                    "SELECT * FROM tasks WHERE grp = ? AND change > ? AND change <= ?"
                    " ORDER BY change, seq",
                    (group, since, now),
                ).fetchall()
            gone = db.execute(
                "SELECT seq FROM gone WHERE grp = ? AND change > ? AND change <= ?",
                (group, since, now),
            ).fetchall()
            return (
                tuple(task_of(db, row) for row in rows),
                tuple(f"t{row[0]}" for row in gone),
                now,
            )

    def counts(self, group: str) -> dict[str, int]:
        """Return how many tasks are in each state, and how many are ready."""
        self._expire(group)
        with self.database.read() as db:
            rows = db.execute(
                "SELECT status, count(*), sum(status = 'open' AND waiting = 0) FROM tasks"
                " WHERE grp = ? GROUP BY status",
                (group,),
            ).fetchall()
        found = {row[0]: row[1] for row in rows}
        return {**found, "ready": sum(row[2] for row in rows)}

    def groups(self) -> tuple[str, ...]:
        """Return the lists that hold tasks."""
        with self.database.read() as db:
            rows = db.execute("SELECT DISTINCT grp FROM tasks ORDER BY grp").fetchall()
        return tuple(row[0] for row in rows)

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values, one task at a time."""
        for group in self.groups():
            after = None
            while page := self.select(group, after=after, limit=500):
                yield from ({"list": group, **task.facts()} for task in page)
                after = page[-1].id

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
        status = "working" if working else "claimed"
        with self.database.write() as db:
            expire(db, group, now)
            if task_id is not None:
                row = self._claimable(db, group, task_id, by)
                seq = row["seq"]
            else:
                found = db.execute(
                    "SELECT seq FROM tasks WHERE grp = ? AND status = 'open' AND waiting = 0"
                    " ORDER BY priority, seq LIMIT 1",
                    (group,),
                ).fetchone()
                if found is None:
                    return None
                seq = found[0]
            row = db.execute(
                "UPDATE tasks SET status = CASE WHEN status = 'working' THEN 'working' ELSE ?"
                " END, owner = ?, lease = ?, attempt = attempt + (status = 'open'),"
                " version = version + 1, updated = ?, change = ? WHERE seq = ? RETURNING *",
                (status, by, now + lease, now, next_change(db), seq),
            ).fetchone()
            return task_of(db, row)

    def _claimable(
        self, db: sqlite3.Connection, group: str, task_id: str, by: str
    ) -> sqlite3.Row:
        row = row_of(db, group, seq_of(task_id))
        task = task_of(db, row)
        # Claiming again what one has is how a lease is made longer.
        mine = task.status in {"claimed", "working"} and task.owner == by
        if not (task.ready or mine):
            text = f"{task.described()}. Claim another one, or leave the id out."
            raise TaskError("task.not_ready", text)
        return row

    def update(
        self, group: str, task_id: str, change: Change, *, version: int, by: str
    ) -> tuple[Task, ...]:
        """Change a task if it has this version; return it, then what it set free."""
        now = self._time()
        with self.database.write() as db:
            expire(db, group, now)
            before = task_of(db, row_of(db, group, seq_of(task_id)))
            check_change(before, change, version=version, by=by)
            number = next_change(db)
            seq = seq_of(task_id)
            if change.no_longer_on or change.depend_on:
                self._edges(db, group, seq, change)
            row = self._set(db, before, change, by=by, now=now, number=number)
            freed: list[sqlite3.Row] = []
            if change.status == "done":
                freed = db.execute(
                    "UPDATE tasks SET waiting = waiting - 1, change = ? WHERE seq IN"
                    " (SELECT task FROM needs WHERE on_task = ?) RETURNING *",
                    (number, seq),
                ).fetchall()
            return (
                task_of(db, row),
                *(task_of(db, other) for other in freed if not other["waiting"]),
            )

    def _edges(self, db: sqlite3.Connection, group: str, seq: int, change: Change) -> None:
        for other in change.no_longer_on:
            db.execute("DELETE FROM needs WHERE task = ? AND on_task = ?", (seq, seq_of(other)))
        if change.no_longer_on:
            db.execute(
                "UPDATE tasks SET waiting = (SELECT count(*) FROM needs JOIN tasks AS t"
                " ON t.seq = on_task WHERE task = ? AND t.status != 'done') WHERE seq = ?",
                (seq, seq),
            )
        depend(db, group, seq, [seq_of(other) for other in change.depend_on])

    def _set(
        self,
        db: sqlite3.Connection,
        before: Task,
        change: Change,
        *,
        by: str,
        now: float,
        number: int,
    ) -> sqlite3.Row:
        values: dict[str, Any] = {}
        for name in ("title", "description", "evidence", "status"):
            if getattr(change, name) is not None:
                values[name] = getattr(change, name)
        if change.priority is not None:
            values["priority"] = PRIORITIES.index(change.priority)
        if change.metadata is not None:
            merged = {**before.metadata, **change.metadata}
            values["metadata"] = json.dumps({k: v for k, v in merged.items() if v is not None})
        if change.status in {"open", "done", "failed", "uncertain", "cancelled"}:
            values["lease"] = None
            if change.status == "open":
                values["owner"] = None
        elif change.lease is not None and before.owner == by:
            values["lease"] = now + change.lease
        columns = "".join(f"{name} = ?, " for name in values)
        row: sqlite3.Row = db.execute(
            f"UPDATE tasks SET {columns}version = version + 1, updated = ?, change = ?"
            " WHERE seq = ? RETURNING *",
            (*values.values(), now, number, seq_of(before.id)),
        ).fetchone()
        return row

    def delete(self, group: str, task_id: str, *, version: int, by: str) -> None:
        """Delete a task that nothing depends on."""
        with self.database.write() as db:
            seq = seq_of(task_id)
            task = task_of(db, row_of(db, group, seq))
            check_change(task, Change(), version=version, by=by)
            rows = db.execute("SELECT task FROM needs WHERE on_task = ?", (seq,)).fetchall()
            if rows:
                others = ", ".join(f"t{row[0]}" for row in rows[:10])
                text = f"{task_id} is needed by {others}; take it off them first, or cancel it"
                raise TaskError("task.needed", text)
            db.execute("DELETE FROM needs WHERE task = ?", (seq,))
            db.execute("DELETE FROM tasks WHERE seq = ?", (seq,))
            db.execute("INSERT INTO gone VALUES (?, ?, ?)", (seq, group, next_change(db)))

    # -- leases ------------------------------------------------------------------------

    def _expire(self, group: str) -> None:
        """Hand back what dead owners hold, if there is any."""
        now = self._time()
        with self.database.read() as db:
            late = db.execute(
                "SELECT 1 FROM tasks WHERE lease < ? AND grp = ? LIMIT 1", (now, group)
            ).fetchone()
        if late is not None:
            with self.database.write() as db:
                expire(db, group, now)

    def close(self) -> None:
        """Close the file."""
        self.database.close()
