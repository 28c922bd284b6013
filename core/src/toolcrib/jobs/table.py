"""The table of jobs: what every process that shares a folder knows of them."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toolcrib.errors import Failed

from .file import open_jobs
from .identity import is_alive, start_of
from .record import JobStatus


__all__ = ["JobTable"]


class JobTable:
    """Rows of jobs, each changed in one transaction.

    Args:
        path: The file, made if it is not there.

    Raises:
        RecordError: it is not ours, or is damaged; it was not touched.
        Failed: raised by every method where the file cannot be used (``job.store``).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = open_jobs(path)
        self._me = (os.getpid(), start_of(os.getpid()))

    def _rows(self, statement: str, values: Iterable[Any] = ()) -> list[sqlite3.Row]:
        """Run a statement and return its rows."""
        with self._told():
            return self._database.execute(statement, tuple(values)).fetchall()

    def _changed(self, statement: str, values: Iterable[Any]) -> int:
        """Run a statement and return how many rows it changed."""
        with self._told():
            return self._database.execute(statement, tuple(values)).rowcount

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            text = f"the file of jobs {self._path} cannot be used: {error}"
            raise Failed(text, code="job.store") from error

    def add(
        self, job_id: str, kind: str, owner: str, arguments: str, *, now: float, most: int
    ) -> bool:
        """Add a job that this process runs, unless its owner runs as many as it may."""
        with self._told(), self._database as database:
            database.execute("BEGIN IMMEDIATE")
            found = database.execute(
                "SELECT count(*) FROM jobs WHERE owner = ? AND status = 'running'", (owner,)
            ).fetchone()
            if found[0] >= most:
                return False
            database.execute(
                "INSERT INTO jobs (id, kind, owner, status, arguments, started, host_pid,"
                " host_start) VALUES (?, ?, ?, 'running', ?, ?, ?, ?)",
                (job_id, kind, owner, arguments, now, *self._me),
            )
        return True

    def end(
        self,
        job_id: str,
        status: JobStatus,
        *,
        result: str | None,
        error: str | None,
        now: float,
        kept: tuple[int, int],
    ) -> None:
        """Give a running job its final state; ``kept`` is size and start of its output."""
        # Final states are final: only a running job gets one.
        self._changed(
            "UPDATE jobs SET status = ?, result = ?, error = ?, ended = ?, size = ?,"
            " kept_from = ? WHERE id = ? AND status = 'running'",
            (status, result, error, now, *kept, job_id),
        )

    def left(self, kind: str) -> list[tuple[str, str, int, str]]:
        """Return running jobs of a kind whose process is gone, or is this one.

        With their arguments, and number and start of their process.
        """
        rows = self._rows(
            "SELECT id, arguments, host_pid, host_start FROM jobs"
            " WHERE status = 'running' AND kind = ?",
            (kind,),
        )
        return [
            (job_id, arguments, pid, start)
            for job_id, arguments, pid, start in rows
            if (pid, start) == self._me or not is_alive(pid, start)
        ]

    def take(self, job_id: str, pid: int, start: str) -> bool:
        """Make a job of a process that is gone one of this one, unless another was faster."""
        taken = self._changed(
            "UPDATE jobs SET host_pid = ?, host_start = ? WHERE id = ?"
            " AND status = 'running' AND host_pid = ? AND host_start = ?",
            (*self._me, job_id, pid, start),
        )
        return taken == 1

    def find(self, job_id: str, owner: str) -> sqlite3.Row | None:
        """Return the row of a job of an owner."""
        rows = self._rows("SELECT * FROM jobs WHERE id = ? AND owner = ?", (job_id, owner))
        return rows[0] if rows else None

    def of(self, owner: str) -> list[sqlite3.Row]:
        """Return the rows of an owner, oldest first."""
        return self._rows("SELECT * FROM jobs WHERE owner = ? ORDER BY seq", (owner,))

    def running_below(self, owner: str) -> list[tuple[str, str]]:
        """Return ids and owners of what runs for an owner, and for those below it."""
        below = f"{owner}/"
        rows = self._rows(
            "SELECT id, owner FROM jobs WHERE status = 'running'"
            " AND (owner = ? OR substr(owner, 1, ?) = ?) ORDER BY seq",
            (owner, len(below), below),
        )
        return [(row[0], row[1]) for row in rows]

    def ask_to_stop(self, job_id: str, now: float) -> None:
        """Note that a job is to be stopped by whoever runs it."""
        self._changed("UPDATE jobs SET stop_asked = ? WHERE id = ?", (now, job_id))

    def asked_to_stop(self) -> list[str]:
        """Return ids of running jobs that are to be stopped."""
        rows = self._rows(
            "SELECT id FROM jobs WHERE status = 'running' AND stop_asked IS NOT NULL"
        )
        return [row[0] for row in rows]

    def host_of(self, job_id: str) -> tuple[int, bool]:
        """Return the number of the process that runs a job, and whether it lives."""
        statement = "SELECT host_pid, host_start FROM jobs WHERE id = ?"
        ((pid, start),) = self._rows(statement, (job_id,))
        return pid, is_alive(pid, start)

    def kind_of(self, job_id: str) -> str:
        """Return the kind of a job."""
        ((kind,),) = self._rows("SELECT kind FROM jobs WHERE id = ?", (job_id,))
        return str(kind)

    def forget_all_but(self, kept: int, owner: str) -> list[str]:
        """Forget jobs that ended long ago, and return their ids."""
        rows = self._rows(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE owner = ?"
            " AND status != 'running' ORDER BY seq DESC LIMIT -1 OFFSET ?) RETURNING id",
            (owner, kept),
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._database.close()
