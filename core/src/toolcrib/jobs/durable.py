"""Jobs that outlive the process that started them: records in SQLite, output in files.

A kind whose work goes on outside of this process (a program under a keeper of its own)
has a method ``adopt``. After a restart it is asked to take up what is still running; jobs
of other kinds are ``lost`` then, and say so. Several processes may share one folder: a job
belongs to the one that runs it for as long as that one lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.errors import Busy, Failed, NotFound, Refused

from .control import DurableControl
from .kind import JobKind, Kinds
from .log import JobLog
from .owned import OwnedJobs
from .record import FINAL, JobRecord, JobStatus, LostError
from .table import JobTable


if TYPE_CHECKING:
    from toolcrib.context import Clock


__all__ = ["DurableJobs"]

_LOOK = 0.2
"""Seconds between looks at what other processes did."""


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
        patience: Seconds that another process is given to stop a job of its own.

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
        patience: float = 10.0,
    ) -> None:
        self._clock = clock
        self._folder = folder
        self._output_limit = output_limit
        self._most = most
        self._kept = kept
        self._patience = patience
        self._kinds = Kinds()
        self._live: dict[str, _Live] = {}
        self._watcher: asyncio.Task[None] | None = None
        self._waiting: list[str] = []
        self._opened: JobTable | None = None

    @property
    def _table(self) -> JobTable:
        if self._opened is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._opened = JobTable(self._path)
        return self._opened

    @property
    def _path(self) -> Path:
        return self._folder / "jobs.db"

    def register(self, kind: JobKind) -> None:
        """Make a kind of job known; what is left of it from before is taken up."""
        if not self._kinds.add(kind):
            return
        if self._opened is None and not self._path.exists():
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
        runner = self._kinds.needed(kind)
        job_id = "job_" + os.urandom(6).hex()
        given = json.dumps(dict(arguments))
        now, most = self._clock.time(), self._most
        if not self._table.add(job_id, kind, owner, given, now=now, most=most):
            # Some of them may be those of a process that has died meanwhile.
            self._settle()
            if not self._table.add(job_id, kind, owner, given, now=now, most=most):
                text = f"{most} jobs are running already; stop or wait for one first"
                raise Busy(text, code="job.busy")
        for old in self._table.forget_all_but(self._kept, owner):
            shutil.rmtree(self._folder / old, ignore_errors=True)
        self._begin(job_id, runner.run, dict(arguments))
        return self._record(self._row(job_id, owner))

    def _begin(self, job_id: str, work: Any, arguments: dict[str, Any]) -> None:
        folder = self._folder / job_id
        folder.mkdir(mode=0o700, exist_ok=True)
        control = DurableControl(job_id, folder, self._output_limit)
        work = self._run(job_id, partial(work, control, arguments))
        task = asyncio.create_task(work, name=job_id)
        self._live[job_id] = _Live(task, control)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._honour(), name="jobs to stop")

    async def _run(self, job_id: str, work: Any) -> None:
        status: JobStatus = "done"
        result = error = None
        try:
            result = json.dumps(await work())
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
        self,
        job_id: str,
        status: JobStatus,
        *,
        result: str | None = None,
        error: str | None = None,
    ) -> None:
        log = JobLog(self._folder / job_id)
        kept = log.size, log.kept_from
        now = self._clock.time()
        self._table.end(job_id, status, result=result, error=error, now=now, kept=kept)

    # -- after a restart -----------------------------------------------------------------

    def _take_up(self, kind: JobKind) -> None:
        adopt = getattr(kind, "adopt", None)
        for job_id, arguments, pid, start in self._table.left(kind.name):
            if job_id in self._live or not self._table.take(job_id, pid, start):
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
        row = self._table.find(job_id, owner)
        if row is None:
            # A foreign job answers like an unknown one.
            text = f"no job {job_id!r}"
            raise NotFound(text, code="job.unknown")
        return row

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

    # -- stopping ------------------------------------------------------------------------

    async def stop(self, job_id: str, *, owner: str) -> JobRecord:
        """Stop a job and everything it started; a job that ended stays as it ended.

        Another process that runs it is asked to, and given some time.

        Raises:
            Refused: it did not react (``job.elsewhere``); it will when it does.
        """
        record = await self.get(job_id, owner=owner)
        if record.status not in FINAL:
            record = await self._stop(job_id, owner)
        if record.status not in FINAL:
            raise Refused(self._why_not(job_id), code="job.elsewhere")
        return record

    async def stop_all(self, owner: str) -> tuple[JobRecord, ...]:
        """Stop what runs for an owner, and for those below it; return what that was.

        What another process runs, and did not stop, is still ``running``.
        """
        if self._opened is None and not self._path.exists():
            return ()
        self._settle()
        running = self._table.running_below(owner)
        return tuple(await asyncio.gather(*(self._stop(*one) for one in running)))

    async def _stop(self, job_id: str, owner: str) -> JobRecord:
        self._table.ask_to_stop(job_id, self._clock.time())
        end = self._clock.monotonic() + self._patience
        while True:
            live = self._live.get(job_id)
            if live is not None:
                await self._cancel(job_id, live)
            # Also takes the job up if the process that ran it has died meanwhile.
            record = await self.get(job_id, owner=owner)
            if record.status in FINAL or self._clock.monotonic() >= end:
                return record
            if job_id not in self._live:
                await asyncio.sleep(_LOOK / 2)

    async def _cancel(self, job_id: str, live: _Live) -> None:
        live.stopping = True
        # What is cancelled before its first step never takes it, nor its own ending.
        await asyncio.sleep(0)
        live.task.cancel()
        await asyncio.wait({live.task})
        self._end(job_id, "stopped")

    async def _honour(self) -> None:
        """Stop what other processes want stopped, for as long as anything runs here."""
        while any(not live.task.done() for live in self._live.values()):
            await asyncio.sleep(_LOOK)
            asked: list[str] = []
            # A file that is busy, or full, now may be readable the next time.
            with contextlib.suppress(Failed):
                asked = [one for one in self._table.asked_to_stop() if one in self._live]
            await asyncio.gather(*(self._cancel(one, self._live[one]) for one in asked))

    def _why_not(self, job_id: str) -> str:
        pid, alive = self._table.host_of(job_id)
        if alive:
            return (
                f"{job_id} is run by process {pid}, which was asked to stop it and has not"
                " reacted; it will when it does. End that process to be sure."
            )
        return (
            f"process {pid}, which ran {job_id}, is gone; the job is stopped as soon as an"
            " app with the pack that started it is opened"
        )

    async def list(self, *, owner: str) -> tuple[JobRecord, ...]:
        """Return the jobs of an owner, oldest first."""
        self._settle()
        return tuple(self._record(row) for row in self._table.of(owner))

    async def close(self) -> None:
        """Let go: what can go on without this process does, the rest is stopped."""
        if self._watcher is not None:
            self._watcher.cancel()
        # What was started a moment ago takes its first step, or it would never begin.
        await asyncio.sleep(0)
        for job_id, live in list(self._live.items()):
            if live.task.done():
                continue
            kind = self._kinds.get(self._table.kind_of(job_id))
            live.stopping = not hasattr(kind, "adopt")
            live.control.leaving = not live.stopping
            live.task.cancel()
            await asyncio.wait({live.task})
            if live.stopping:
                self._end(job_id, "stopped")
        await self._kinds.close()
        if self._opened is not None:
            self._opened.close()
            self._opened = None
