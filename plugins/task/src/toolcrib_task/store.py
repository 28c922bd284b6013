"""The store of tasks: what any engine must do, and the one in SQLite.

Every change is one transaction that holds the file for writing, so nothing is lost
between processes. Each change of a task has a number; "what changed since" is one query.
"""

from __future__ import annotations

import json
import sqlite3

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from .database import Database
from .graph import check_new, depend, resolved
from .model import FINAL, LIMITS, MOVES, PRIORITIES, NewTask, Priority, Status, Task, TaskError
from .schema import APPLICATION, MIGRATIONS


__all__ = ["Change", "SqliteTasks", "TaskStore"]


@attrs.frozen(kw_only=True)
class Change:
    """What an update sets; None leaves a thing as it is."""

    status: Status | None = None
    title: str | None = None
    description: str | None = None
    priority: Priority | None = None
    depend_on: tuple[str, ...] = ()
    no_longer_on: tuple[str, ...] = ()
    evidence: str | None = None
    metadata: Mapping[str, Any] | None = None
    lease: float | None = None


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
            change = self._next(db)
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
            return tuple(self._task(db, self._row(db, group, seq)) for seq in made)

    # -- looking -----------------------------------------------------------------------

    def get(self, group: str, task_id: str) -> Task:
        """Return a task."""
        self._expire(group)
        with self.database.read() as db:
            return self._task(db, self._row(db, group, _seq(task_id)))

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
                row = self._row(db, group, _seq(after))
                where.append("(priority, seq) > (?, ?)")
                values += [row["priority"], row["seq"]]
            rows = db.execute(
                f"SELECT * FROM tasks WHERE {' AND '.join(where)}"
                " ORDER BY priority, seq LIMIT ?",
                (*values, limit),
            ).fetchall()
            return tuple(self._task(db, row) for row in rows)

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
            now = rows[-1]["change"] if full else self._current(db)
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
                tuple(self._task(db, row) for row in rows),
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
            self._expired(db, group, now)
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
                (status, by, now + lease, now, self._next(db), seq),
            ).fetchone()
            return self._task(db, row)

    def _claimable(
        self, db: sqlite3.Connection, group: str, task_id: str, by: str
    ) -> sqlite3.Row:
        row = self._row(db, group, _seq(task_id))
        task = self._task(db, row)
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
            self._expired(db, group, now)
            before = self._task(db, self._row(db, group, _seq(task_id)))
            _check(before, change, version=version, by=by)
            number = self._next(db)
            seq = _seq(task_id)
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
                self._task(db, row),
                *(self._task(db, other) for other in freed if not other["waiting"]),
            )

    def _edges(self, db: sqlite3.Connection, group: str, seq: int, change: Change) -> None:
        for other in change.no_longer_on:
            db.execute("DELETE FROM needs WHERE task = ? AND on_task = ?", (seq, _seq(other)))
        if change.no_longer_on:
            db.execute(
                "UPDATE tasks SET waiting = (SELECT count(*) FROM needs JOIN tasks AS t"
                " ON t.seq = on_task WHERE task = ? AND t.status != 'done') WHERE seq = ?",
                (seq, seq),
            )
        depend(db, group, seq, [_seq(other) for other in change.depend_on])

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
            (*values.values(), now, number, _seq(before.id)),
        ).fetchone()
        return row

    def delete(self, group: str, task_id: str, *, version: int, by: str) -> None:
        """Delete a task that nothing depends on."""
        with self.database.write() as db:
            seq = _seq(task_id)
            task = self._task(db, self._row(db, group, seq))
            _check(task, Change(), version=version, by=by)
            rows = db.execute("SELECT task FROM needs WHERE on_task = ?", (seq,)).fetchall()
            if rows:
                others = ", ".join(f"t{row[0]}" for row in rows[:10])
                text = f"{task_id} is needed by {others}; take it off them first, or cancel it"
                raise TaskError("task.needed", text)
            db.execute("DELETE FROM needs WHERE task = ?", (seq,))
            db.execute("DELETE FROM tasks WHERE seq = ?", (seq,))
            db.execute("INSERT INTO gone VALUES (?, ?, ?)", (seq, group, self._next(db)))

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
                self._expired(db, group, now)

    def _expired(self, db: sqlite3.Connection, group: str, now: float) -> None:
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
                    *(self._next(db), row["seq"]),
                ),
            )

    # -- rows --------------------------------------------------------------------------

    @staticmethod
    def _next(db: sqlite3.Connection) -> int:
        number: int = db.execute(
            "UPDATE counter SET number = number + 1 RETURNING number"
        ).fetchone()[0]
        return number

    @staticmethod
    def _current(db: sqlite3.Connection) -> int:
        number: int = db.execute("SELECT number FROM counter").fetchone()[0]
        return number

    @staticmethod
    def _row(db: sqlite3.Connection, group: str, seq: int) -> sqlite3.Row:
        row: sqlite3.Row | None = db.execute(
            "SELECT * FROM tasks WHERE seq = ? AND grp = ?", (seq, group)
        ).fetchone()
        if row is None:
            text = f"there is no task t{seq}; task.list shows what there is"
            raise TaskError("task.unknown", text, kind="not_found")
        return row

    @staticmethod
    def _task(db: sqlite3.Connection, row: sqlite3.Row) -> Task:
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

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def _seq(task_id: str) -> int:
    digits = task_id.removeprefix("t")
    if task_id[:1] != "t" or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        text = f"{task_id!r} is no id of a task; ids look like t12"
        raise TaskError("task.unknown", text, kind="not_found")
    return int(digits)


def _check(task: Task, change: Change, *, version: int, by: str) -> None:
    """Refuse what does not fit the task as it is."""
    if task.version != version:
        text = f"{task.described()}. Version {version} is stale: look again, then decide."
        raise TaskError("task.stale", text)
    held = task.status in {"claimed", "working"}
    if held and task.owner != by:
        text = f"{task.described()}. Only {task.owner} may change it before its lease ends."
        raise TaskError("task.foreign", text)
    if change.status is not None and change.status not in MOVES[task.status]:
        text = f"{task.described()}. It cannot become {change.status}."
        raise TaskError("task.transition", text)
    if change.status == "done" and task.waits_for:
        text = f"{task.described()}. It cannot be done before {', '.join(task.waits_for)}."
        raise TaskError("task.transition", text)
    if task.status in FINAL and change != Change():
        text = f"{task.described()}. What is over is not changed; make a new task."
        raise TaskError("task.final", text)
    if change.status == "done" and task.status == "uncertain" and not change.evidence:
        text = f"{task.described()}. Say in evidence how you know that it was done."
        raise TaskError("task.no_evidence", text, kind="invalid", pointer="/evidence")
    for name in ("title", "description", "evidence"):
        value = getattr(change, name)
        if value is not None and len(value) > LIMITS[name]:
            text = f"{name} is longer than {LIMITS[name]:,} characters"
            raise TaskError("task.too_long", text, kind="invalid", pointer=f"/{name}")
