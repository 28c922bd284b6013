"""The jobs of one conversation, whatever keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from .kind import JobKind
from .record import JobRecord


__all__ = ["JobStore", "OwnedJobs"]


class JobStore(Protocol):
    """What keeps jobs: in memory or in a folder."""

    def register(self, kind: JobKind) -> None:
        """Make a kind of job known; the first of a name stays."""

    def kind(self, name: str) -> JobKind | None:
        """Return a kind by its name."""

    async def start(self, kind: str, arguments: Mapping[str, Any], *, owner: str) -> JobRecord:
        """Start a job."""

    async def get(self, job_id: str, *, owner: str) -> JobRecord:
        """Return a job as it is now."""

    async def output(self, job_id: str, *, owner: str, offset: int, size: int) -> bytes:
        """Return output from an offset; asking again gives the same bytes."""

    async def wait(self, job_id: str, *, owner: str, timeout: float | None) -> JobRecord:
        """Wait until a job ended or the timeout (seconds) passed; zero looks once."""

    async def stop(self, job_id: str, *, owner: str) -> JobRecord:
        """Stop a job and everything it started."""

    async def stop_all(self, owner: str) -> tuple[JobRecord, ...]:
        """Stop what runs for an owner, and for those below it; return what that was."""

    async def list(self, *, owner: str) -> tuple[JobRecord, ...]:
        """Return the jobs of an owner, oldest first."""


@attrs.frozen
class OwnedJobs:
    """The jobs of one conversation (:class:`toolcrib.context.Jobs`)."""

    _jobs: JobStore
    _owner: str

    def register(self, kind: JobKind) -> JobKind:
        """Make a kind known to the app's jobs, and return the one that counts.

        A kind of that name that is there already stays: one kind is shared by all packs.
        """
        self._jobs.register(kind)
        return self._jobs.kind(kind.name) or kind

    async def start(self, kind: str, arguments: Mapping[str, Any]) -> JobRecord:
        """Start a job of a kind."""
        return await self._jobs.start(kind, arguments, owner=self._owner)

    async def get(self, job_id: str) -> JobRecord:
        """Return a job as it is now."""
        return await self._jobs.get(job_id, owner=self._owner)

    async def output(self, job_id: str, *, offset: int = 0, size: int = 65536) -> bytes:
        """Return output from an offset."""
        return await self._jobs.output(job_id, owner=self._owner, offset=offset, size=size)

    async def wait(self, job_id: str, *, timeout: float | None = None) -> JobRecord:
        """Wait until it is in a final state, or the timeout (seconds) passes."""
        return await self._jobs.wait(job_id, owner=self._owner, timeout=timeout)

    async def stop(self, job_id: str) -> JobRecord:
        """Stop it and everything it started."""
        return await self._jobs.stop(job_id, owner=self._owner)

    async def list(self) -> tuple[JobRecord, ...]:
        """Return the conversation's jobs, oldest first."""
        return await self._jobs.list(owner=self._owner)
