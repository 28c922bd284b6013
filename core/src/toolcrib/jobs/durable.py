"""Jobs that outlive the process that started them: records in SQLite, output in files.

A kind whose work goes on outside of this process (a program under a keeper of its own)
has a method ``adopt``. After a restart it is asked to take up what is still running; jobs
of other kinds are ``lost`` then, and say so. Several processes may share one folder: a job
belongs to the one that runs it for as long as that one lives.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs

from toolcrib.errors import Busy, NotFound, Refused

from .control import DurableControl
from .file import open_jobs
from .identity import is_alive, start_of
from .kind import JobKind
from .log import JobLog
from .owned import OwnedJobs
from .record import FINAL, JobRecord, JobStatus, LostError


if TYPE_CHECKING:
    from toolcrib.context import Clock


__all__ = ["DurableJobs"]

_LOOK = 0.2


@attrs.define
class _Live:
    task: asyncio.Task[None]
    control: DurableControl
    stopping: bool = False


class DurableJobs:
    """Jobs kept in a folder.

    Args:
        clock: Where times come from.
        folder: Private folder (0700), made if it is not there.
        output_limit: Bytes of output kept for each job.
        most: Jobs that may run at once for one owner.
        kept: Jobs that ended and are remembered, for each owner.

    Raises:
        RecordError: the folder holds a file that is not ours, or is damaged.
    """

    def __init__(
        self,
        clock: Clock,
        folder: Path,
        *,
        output_limit: int = 1 << 20,
        most: int = 16,
        kept: int = 200,
    ) -> None:
        self._clock = clock
        self._folder = folder
        self._output_limit = output_limit
        self._most = most
        self._kept = kept
        self._kinds: dict[str, JobKind] = {}
        self._live: dict[str, _Live] = {}
        self._waiting: list[str] = []
        self._me = (os.getpid(), start_of(os.getpid()))
        self._opened: sqlite3.Connection | None = None

    @property
    def _database(self) -> sqlite3.Connection:
        if self._opened is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._opened = open_jobs(self._folder / "jobs.db")
        return self._opened

    def register(self, kind: JobKind) -> None:
        """Make a kind of job known; what is left of it from before is taken up."""
        if kind.name in self._kinds:
            return
        self._kinds[kind.name] = kind
        if self._opened is None and not (self._folder / "jobs.db").exists():
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            # Without a loop nothing can be taken up; the first call on one does it.
            self._waiting.append(kind.name)
        else:
            self._take_up(kind)

    def kind(self, name: str) -> JobKind | None:
        """Return a kind by its name."""
        return self._kinds.get(name)

    def owned(self, owner: str) -> OwnedJobs:
        """Return the jobs of one conversation, as its tools see them."""
        return OwnedJobs(self, owner)

    # -- starting --------------------------------------------------------------------

    async def start(self, kind: str, arguments: Mapping[str, Any], *, owner: str) -> JobRecord:
        """Start a job.

        Raises:
            NotFound: no such kind.
            Busy: the owner runs as many as it may.
        """
        runner = self._kinds.get(kind)
        if runner is None:
            known = ", ".join(sorted(self._kinds)) or "none"
            text = f"no job kind {kind!r}; there are: {known}"
            raise NotFound(text, code="job.unknown_kind")
        job_id = "job_" + os.urandom(6).hex()
        with self._database as database:
            database.execute("BEGIN IMMEDIATE")
            found = database.execute(
                "SELECT count(*) FROM jobs WHERE owner = ? AND status = 'running'", (owner,)
            ).fetchone()
            if found[0] >= self._most:
                text = f"{self._most} jobs are running already; stop or wait for one first"
                raise Busy(text, code="job.busy")
            database.execute(
                "INSERT INTO jobs (id, kind, owner, status, arguments, started, host_pid,"
                " host_start) VALUES (?, ?, ?, 'running', ?, ?, ?, ?)",
                (
                    job_id,
                    kind,
                    owner,
                    json.dumps(dict(arguments)),
                    self._clock.time(),
                    *self._me,
                ),
            )
        self._forget_old(owner)
        self._begin(job_id, runner.run, dict(arguments))
        return self._record(self._row(job_id, owner))

    def _begin(self, job_id: str, work: Any, arguments: dict[str, Any]) -> None:
        folder = self._folder / job_id
        folder.mkdir(mode=0o700, exist_ok=True)
        control = DurableControl(job_id, folder, self._output_limit)
        work = self._run(job_id, partial(work, control, arguments))
        task = asyncio.create_task(work, name=job_id)
        self._live[job_id] = _Live(task, control)

    async def _run(self, job_id: str, work: Any) -> None:
        status: JobStatus = "done"
        result = error = None
        try:
            result = await work()
        except asyncio.CancelledError:
            if not self._live[job_id].stopping:
                # The toolbox closes: what goes on outside is left for the next one.
                return
            status = "stopped"
        except LostError as failure:
            status, error = "lost", str(failure)
        except Exception as failure:  # noqa: BLE001 - pack code; kept as the job's error
            status, error = "failed", f"{type(failure).__name__}: {failure}"
        self._live[job_id].control.close()
        self._end(job_id, status, result=result, error=error)

    def _end(
        self, job_id: str, status: JobStatus, *, result: Any = None, error: str | None = None
    ) -> None:
        log = JobLog(self._folder / job_id)
        with self._database as database:
            # Final states are final: only a running job gets one.
            database.execute(
                "UPDATE jobs SET status = ?, result = ?, error = ?, ended = ?, size = ?,"
                " kept_from = ? WHERE id = ? AND status = 'running'",
                (
                    *(status, None if result is None else json.dumps(result), error),
                    *(self._clock.time(), log.size, log.kept_from, job_id),
                ),
            )

    # -- after a restart -----------------------------------------------------------------

    def _take_up(self, kind: JobKind) -> None:
        rows = self._database.execute(
            "SELECT id, arguments, host_pid, host_start FROM jobs"
            " WHERE status = 'running' AND kind = ?",
            (kind.name,),
        ).fetchall()
        adopt = getattr(kind, "adopt", None)
        for job_id, arguments, pid, start in rows:
            if job_id in self._live or ((pid, start) != self._me and is_alive(pid, start)):
                continue
            with self._database as database:
                taken = database.execute(
                    "UPDATE jobs SET host_pid = ?, host_start = ? WHERE id = ?"
                    " AND status = 'running' AND host_pid = ? AND host_start = ?",
                    (*self._me, job_id, pid, start),
                ).rowcount
            if not taken:
                continue
            if adopt is None:
                text = "the process that ran it is gone, and it could not go on without it"
                self._end(job_id, "lost", error=text)
            else:
                self._begin(job_id, adopt, json.loads(arguments))

    def _settle(self) -> None:
        """Take up what other processes left when they died."""
        self._waiting.clear()
        for kind in self._kinds.values():
            self._take_up(kind)

    # -- looking -------------------------------------------------------------------------

    def _row(self, job_id: str, owner: str) -> sqlite3.Row:
        row = self._database.execute(
            "SELECT * FROM jobs WHERE id = ? AND owner = ?", (job_id, owner)
        ).fetchone()
        if row is None:
            # A foreign job answers like an unknown one.
            text = f"no job {job_id!r}"
            raise NotFound(text, code="job.unknown")
        return cast("sqlite3.Row", row)

    def _record(self, row: sqlite3.Row) -> JobRecord:
        log = JobLog(self._folder / row["id"])
        ended = row["status"] in FINAL
        return JobRecord(
            id=row["id"],
            kind=row["kind"],
            owner=row["owner"],
            status=row["status"],
            size=row["size"] if ended else log.size,
            kept_from=row["kept_from"] if ended else log.kept_from,
            result=None if row["result"] is None else json.loads(row["result"]),
            error=row["error"],
            started=row["started"],
            ended=row["ended"],
        )

    async def get(self, job_id: str, *, owner: str) -> JobRecord:
        """Return a job as it is now."""
        if self._row(job_id, owner)["status"] == "running" and job_id not in self._live:
            self._settle()
        return self._record(self._row(job_id, owner))

    async def output(self, job_id: str, *, owner: str, offset: int, size: int) -> bytes:
        """Return output from an offset; asking again gives the same bytes."""
        if offset < 0 or size < 0:
            text = "offset and size are zero or more"
            raise Refused(text, code="job.range")
        self._row(job_id, owner)
        return JobLog(self._folder / job_id).read(offset, size)

    async def wait(self, job_id: str, *, owner: str, timeout: float | None) -> JobRecord:
        """Wait until a job ended or the timeout (seconds) passed; zero looks once."""
        record = await self.get(job_id, owner=owner)
        end = None if timeout is None else self._clock.monotonic() + timeout
        while record.status not in FINAL:
            left = None if end is None else end - self._clock.monotonic()
            if left is not None and left <= 0:
                break
            live = self._live.get(job_id)
            if live is not None:
                await asyncio.wait({live.task}, timeout=left)
            else:
                await asyncio.sleep(_LOOK if left is None else min(_LOOK, left))
            record = await self.get(job_id, owner=owner)
        return record

    async def stop(self, job_id: str, *, owner: str) -> JobRecord:
        """Stop a job and everything it started; a job that ended stays as it ended."""
        record = await self.get(job_id, owner=owner)
        if record.status in FINAL:
            return record
        live = self._live.get(job_id)
        if live is None:
            text = f"{job_id} is run by another process, which is alive; stop it there"
            raise Refused(text, code="job.elsewhere")
        live.stopping = True
        live.task.cancel()
        await asyncio.wait({live.task})
        # Cancelled before its first step, its own ending never ran.
        self._end(job_id, "stopped")
        return await self.get(job_id, owner=owner)

    async def list(self, *, owner: str) -> tuple[JobRecord, ...]:
        """Return the jobs of an owner, oldest first."""
        self._settle()
        rows = self._database.execute(
            "SELECT * FROM jobs WHERE owner = ? ORDER BY seq", (owner,)
        ).fetchall()
        return tuple(self._record(row) for row in rows)

    def _forget_old(self, owner: str) -> None:
        rows = self._database.execute(
            "SELECT id FROM jobs WHERE owner = ? AND status != 'running'"
            " ORDER BY seq DESC LIMIT -1 OFFSET ?",
            (owner, self._kept),
        ).fetchall()
        for (job_id,) in rows:
            with self._database as database:
                database.execute("DELETE FROM jobs WHERE id = ?", (job_id,))
            shutil.rmtree(self._folder / job_id, ignore_errors=True)

    async def close(self) -> None:
        """Let go: what can go on without this process does, the rest is stopped."""
        for job_id, live in list(self._live.items()):
            if live.task.done():
                continue
            kind = self._database.execute(
                "SELECT kind FROM jobs WHERE id = ?", (job_id,)
            ).fetchone()
            live.stopping = not hasattr(self._kinds.get(kind[0]), "adopt")
            live.control.leaving = not live.stopping
            live.task.cancel()
            await asyncio.wait({live.task})
            if live.stopping:
                self._end(job_id, "stopped")
        for kind in self._kinds.values():
            let_go = getattr(kind, "let_go", None)
            if let_go is not None:
                await let_go()
        if self._opened is not None:
            self._opened.close()
            self._opened = None
