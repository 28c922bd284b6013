"""The store of goals in SQLite."""

from __future__ import annotations

import json
import sqlite3

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

from toolcrib_store import Database

from .model import ENDED, Budget, Goal, GoalError, digest_of
from .moves import SAME, TO, Action, failed, fits, may, may_judge
from .rows import goal_of, row_of, unfinished, unseen, used_seconds
from .schema import APPLICATION, MIGRATIONS, MISFITS


__all__ = ["Action", "SqliteGoals"]


class SqliteGoals:
    """Goals in one file (:class:`toolcrib_goal.engine.GoalStore`).

    Args:
        path: Where; None: in memory.
        time: Seconds since the epoch.
    """

    def __init__(self, path: Path | None, *, time: Callable[[], float]) -> None:
        self._time = time
        self.database = Database(path, application=APPLICATION, migrations=MIGRATIONS)

    def create(
        self,
        group: str,
        conversation: str,
        objective: str,
        budget: Budget,
        *,
        begun: int | None = None,
    ) -> Goal:
        """Make a goal for a conversation that has none."""
        fits("objective", objective, "/objective")
        if not objective.strip():
            text = "a goal needs an objective"
            raise GoalError("goal.empty", text, kind="invalid", pointer="/objective")
        now = self._time()
        with self.database.write() as db:
            found = unfinished(db, group, conversation)
            if found is not None:
                known = self._goal(found)
                text = f"{known.described()}. End it before there is another one."
                raise GoalError("goal.exists", text)
            row = db.execute(
                "INSERT INTO goals (grp, conversation, objective, status, calls, seconds,"
                " tokens, seen_calls, since, created, updated)"
                " VALUES (?,?,?,'active',?,?,?,?,?,?,?)"
                " RETURNING *",
                (
                    *(group, conversation, objective),
                    *(budget.calls, budget.seconds, budget.tokens, begun, now, now, now),
                ),
            ).fetchone()
            return self._goal(row)

    # -- looking -----------------------------------------------------------------------

    def get(self, group: str, goal_id: str) -> Goal:
        """Return a goal."""
        with self.database.read() as db:
            return self._goal(row_of(db, group, goal_id))

    def current(self, group: str, conversation: str) -> Goal | None:
        """Return the goal that a conversation works on, or its last one."""
        with self.database.read() as db:
            row = db.execute(
                "SELECT * FROM goals WHERE grp = ? AND conversation = ?"
                " ORDER BY status IN ('complete', 'dropped'), seq DESC LIMIT 1",
                (group, conversation),
            ).fetchone()
            return None if row is None else self._goal(row)

    def select(
        self, group: str, *, status: str | None = None, limit: int = 50
    ) -> tuple[Goal, ...]:
        """Return goals, the newest first."""
        with self.database.read() as db:
            rows = db.execute(
                "SELECT * FROM goals WHERE grp = ? AND (? IS NULL OR status = ?)"
                " ORDER BY seq DESC LIMIT ?",
                (group, status, status, limit),
            ).fetchall()
            return tuple(self._goal(row) for row in rows)

    def verdicts(self, group: str, goal_id: str) -> list[dict[str, Any]]:
        """Return every verdict that was given on a goal, in order."""
        with self.database.read() as db:
            seq = row_of(db, group, goal_id)["seq"]
            rows = db.execute("SELECT * FROM verdicts WHERE goal = ? ORDER BY seq", (seq,))
            return [
                {**dict(row), "goal": goal_id, "passed": bool(row["passed"])} for row in rows
            ]

    def check(self) -> list[str]:
        """Return what is damaged, or does not fit together; empty is good."""
        found = self.database.check()
        if not found:
            with self.database.read() as db:
                rows = db.execute(MISFITS).fetchall()
            found = [f"g{row[0]} of {row[1]}: {row[2]}" for row in rows]
        return found

    def export(self) -> Iterator[dict[str, Any]]:
        """Give everything as JSON-safe values, one goal at a time."""
        with self.database.read() as db:
            rows = db.execute("SELECT seq, grp FROM goals ORDER BY seq").fetchall()
        for seq, group in rows:
            goal_id = f"g{seq}"
            verdicts = self.verdicts(group, goal_id)
            yield {"workspace": group, **self.get(group, goal_id).facts(), "verdicts": verdicts}

    # -- changing ----------------------------------------------------------------------

    def act(
        self, group: str, goal_id: str, action: Action, *, by: str, version: int, text: str = ""
    ) -> Goal:
        """Do something with a goal, if it has this version."""
        with self.database.write() as db:
            row = row_of(db, group, goal_id)
            goal = self._goal(row)
            may(goal, action, by=by, version=version, text=text)
            values = self._values(goal, row, action, by=by, text=text)
            return self._save(db, row["seq"], values)

    def _values(
        self, goal: Goal, row: sqlite3.Row, action: Action, *, by: str, text: str
    ) -> dict[str, Any]:
        # Whatever is changed, a verdict or request about what was before counts no more.
        values: dict[str, Any] = {
            **dict.fromkeys(("requester", "evidence", "digest", "verdict"), None),
            "status": TO.get(action, goal.status if goal.status != "verifying" else "active"),
            "reason": None,
            "used_seconds": self._used(row),
        }
        if action == "request":
            attempted = goal.attempt + 1
            values |= {
                "attempt": attempted,
                "requester": by,
                "evidence": text,
                "digest": digest_of(attrs.evolve(goal, attempt=attempted), text),
            }
        elif action == "edit":
            values |= {
                "objective": text,
                "revision": goal.revision + 1,
                "same": 0,
                "last": None,
            }
            if goal.status == "budget_limited":
                values["reason"] = goal.reason
        elif action == "progress":
            values |= self._progress(row, text)
        elif action in {"pause", "block", "drop"}:
            values["reason"] = text or None
        elif action == "resume":
            values |= {"same": 0, "last": None}
        running = values["status"] in {"active", "verifying"}
        values["since"] = self._time() if running else None
        return values

    def _progress(self, row: sqlite3.Row, text: str) -> dict[str, Any]:
        same = row["same"] + 1 if row["last"] == text else 1
        values: dict[str, Any] = {"same": same, "last": text}
        if same >= SAME:
            values |= {
                "status": "blocked",
                "reason": f"no progress: the same was said {same} times",
            }
        return values

    def verdict(
        self, group: str, goal_id: str, *, by: str, passed: bool, digest: str, grounds: str
    ) -> Goal:
        """Judge a request for completion; only this makes a goal complete."""
        with self.database.write() as db:
            row = row_of(db, group, goal_id)
            goal = self._goal(row)
            may_judge(goal, by=by, digest=digest, grounds=grounds)
            now = self._time()
            db.execute(
                "INSERT INTO verdicts (goal, attempt, passed, by, digest, grounds, given)"
                " VALUES (?,?,?,?,?,?,?)",
                (row["seq"], goal.attempt, passed, by, digest, grounds, now),
            )
            given = {
                "by": by,
                "passed": passed,
                "digest": digest,
                "grounds": grounds,
                "at": now,
            }
            values: dict[str, Any] = {
                "verdict": json.dumps(given),
                "used_seconds": self._used(row),
                "status": "complete" if passed else "active",
                "since": None if passed else now,
            }
            if not passed:
                values |= failed(row["same"], row["last"], grounds)
            return self._save(db, row["seq"], values)

    def count(
        self,
        group: str,
        conversation: str,
        *,
        begun: int | None = None,
        calls: int = 0,
        seconds: float = 0.0,
        tokens: int = 0,
    ) -> Goal | None:
        """Count what a conversation used; only the host calls this."""
        with self.database.write() as db:
            row = db.execute(
                "SELECT * FROM goals WHERE grp = ? AND conversation = ? AND status IN"
                " ('active', 'verifying') ORDER BY seq DESC LIMIT 1",
                (group, conversation),
            ).fetchone()
            if row is None:
                return None
            used = {
                "used_calls": row["used_calls"] + calls + unseen(row, begun),
                "used_seconds": self._used(row) + seconds,
                "used_tokens": row["used_tokens"] + tokens,
                "seen_calls": row["seen_calls"] if begun is None else begun,
                "since": self._time(),
            }
            columns = ", ".join(f"{name} = ?" for name in used)
            row = db.execute(
                f"UPDATE goals SET {columns} WHERE seq = ? RETURNING *",
                (*used.values(), row["seq"]),
            ).fetchone()
            goal = self._goal(row)
            over = goal.budget.over()
            if over is None:
                return goal
            values = {
                **dict.fromkeys(("requester", "evidence", "digest"), None),
                "status": "budget_limited",
                "reason": over,
                "since": None,
            }
            return self._save(db, row["seq"], values)

    def raise_budget(self, group: str, goal_id: str, budget: Budget) -> Goal:
        """Set other limits and let work go on; for people, never for a tool."""
        with self.database.write() as db:
            row = row_of(db, group, goal_id)
            goal = self._goal(row)
            if goal.status in ENDED:
                text = f"{goal.described()}."
                raise GoalError("goal.ended", text)
            limits = {
                name: getattr(budget, name) if getattr(budget, name) is not None else row[name]
                for name in ("calls", "seconds", "tokens")
            }
            values: dict[str, Any] = {**limits, "used_seconds": self._used(row)}
            if goal.status == "budget_limited":
                values |= {"status": "active", "reason": None, "since": self._time()}
            return self._save(db, row["seq"], values)

    # -- rows --------------------------------------------------------------------------

    def _save(self, db: sqlite3.Connection, seq: int, values: dict[str, Any]) -> Goal:
        columns = "".join(f"{name} = ?, " for name in values)
        row = db.execute(
            f"UPDATE goals SET {columns}version = version + 1, updated = ? WHERE seq = ?"
            " RETURNING *",
            (*values.values(), self._time(), seq),
        ).fetchone()
        return self._goal(row)

    def _used(self, row: sqlite3.Row) -> float:
        return used_seconds(row, self._time())

    def _goal(self, row: sqlite3.Row) -> Goal:
        return goal_of(row, self._time())

    def close(self) -> None:
        """Close the file."""
        self.database.close()
