"""Jobs that live as long as the toolbox."""

from __future__ import annotations

import asyncio
import os

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.errors import Busy, NotFound, Refused

from .control import JobControl
from .kind import JobKind, Kinds
from .owned import OwnedJobs
from .record import JobRecord, JobStatus


if TYPE_CHECKING:
    from toolcrib.context import Clock


__all__ = ["MemoryJobs"]


class _Running:
    def __init__(self, record: JobRecord, control: JobControl) -> None:
        self.record = record
        self.control = control
        self.task: asyncio.Task[None] | None = None
        self.done = asyncio.Event()

    def now(self) -> JobRecord:
        control = self.control
        return attrs.evolve(self.record, size=control.size, kept_from=control.kept_from)


class MemoryJobs:
    """Jobs that live as long as the toolbox.

    Args:
        clock: Where times come from.
        output_limit: Bytes of output kept for each job.
        most: Jobs that may run at once for one owner.
    """

    def __init__(self, clock: Clock, *, output_limit: int = 1 << 20, most: int = 16) -> None:
        self._clock = clock
        self._output_limit = output_limit
        self._most = most
        self._kinds = Kinds()
        self._jobs: dict[str, _Running] = {}

    def register(self, kind: JobKind) -> None:
        """Make a kind of job known; the first of a name stays."""
        self._kinds.add(kind)

    def kind(self, name: str) -> JobKind | None:
        """Return a kind by its name."""
        return self._kinds.get(name)

    def owned(self, owner: str) -> OwnedJobs:
        """Return the jobs of one conversation, as its tools see them."""
        return OwnedJobs(self, owner)

    async def start(self, kind: str, arguments: Mapping[str, Any], *, owner: str) -> JobRecord:
        """Start a job.

        Raises:
            NotFound: no such kind.
            Busy: the owner runs as many as it may.
        """
        runner = self._kinds.needed(kind)
        mine = [j for j in self._jobs.values() if j.record.owner == owner]
        if sum(j.record.status == "running" for j in mine) >= self._most:
            text = f"{self._most} jobs are running already; stop or wait for one first"
            raise Busy(text, code="job.busy")
        job_id = "job_" + os.urandom(6).hex()
        record = JobRecord(id=job_id, kind=kind, owner=owner, started=self._clock.time())
        job = self._jobs[job_id] = _Running(record, JobControl(job_id, self._output_limit))
        job.task = asyncio.create_task(self._run(job, runner, dict(arguments)), name=job_id)
        return job.now()

    async def _run(self, job: _Running, kind: JobKind, arguments: dict[str, Any]) -> None:
        status: JobStatus = "done"
        result = error = None
        try:
            result = await kind.run(job.control, arguments)
        except asyncio.CancelledError:
            status = "stopped"
        except Exception as failure:  # noqa: BLE001 - pack code; kept as the job's error
            status, error = "failed", f"{type(failure).__name__}: {failure}"
        finally:
            # Final states are final: this is the only place that sets one.
            job.record = attrs.evolve(
                job.record,
                status=status,
                result=result,
                error=error,
                ended=self._clock.time(),
            )
            job.done.set()

    def _find(self, job_id: str, owner: str) -> _Running:
        job = self._jobs.get(job_id)
        # A foreign job answers like an unknown one.
        if job is None or job.record.owner != owner:
            text = f"no job {job_id!r}"
            raise NotFound(text, code="job.unknown")
        return job

    async def get(self, job_id: str, *, owner: str) -> JobRecord:
        """Return a job as it is now."""
        return self._find(job_id, owner).now()

    async def output(self, job_id: str, *, owner: str, offset: int, size: int) -> bytes:
        """Return output from an offset; asking again gives the same bytes."""
        if offset < 0 or size < 0:
            text = "offset and size are zero or more"
            raise Refused(text, code="job.range")
        return self._find(job_id, owner).control.read(offset, size)

    async def wait(self, job_id: str, *, owner: str, timeout: float | None) -> JobRecord:
        """Wait until a job ended or the timeout (seconds) passed; zero looks once."""
        job = self._find(job_id, owner)
        if not job.done.is_set() and timeout != 0:
            waiter = asyncio.ensure_future(job.done.wait())
            try:
                await asyncio.wait({waiter}, timeout=timeout)
            finally:
                waiter.cancel()
        return job.now()

    async def stop(self, job_id: str, *, owner: str) -> JobRecord:
        """Stop a job and everything it started; a job that ended stays as it ended."""
        job = self._find(job_id, owner)
        if job.task is not None and not job.task.done():
            job.task.cancel()
            await asyncio.wait({job.task})
            if not job.done.is_set():
                # Cancelled before its first step, so its own ending never ran.
                job.record = attrs.evolve(
                    job.record, status="stopped", ended=self._clock.time()
                )
                job.done.set()
        return job.now()

    async def stop_all(self, owner: str) -> tuple[JobRecord, ...]:
        """Stop what runs for an owner, and for those below it; return what that was."""
        found = [
            job.record
            for job in self._jobs.values()
            if not job.done.is_set() and f"{job.record.owner}/".startswith(f"{owner}/")
        ]
        stops = (self.stop(record.id, owner=record.owner) for record in found)
        return tuple(await asyncio.gather(*stops))

    async def list(self, *, owner: str) -> tuple[JobRecord, ...]:
        """Return the jobs of an owner, oldest first."""
        return tuple(j.now() for j in self._jobs.values() if j.record.owner == owner)

    async def close(self) -> None:
        """Stop everything, and let kinds close what they hold."""
        for job in list(self._jobs.values()):
            await self.stop(job.record.id, owner=job.record.owner)
        await self._kinds.close()
