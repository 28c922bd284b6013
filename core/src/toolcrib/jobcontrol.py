"""What a durable job is given, and what a kind offers whose jobs outlive their host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from .joblog import JobLog


__all__ = ["AdoptingKind", "DurableControl"]


class DurableControl:
    """What a running job is given.

    Attributes:
        id: The job's id.
        folder: A private folder of the job's own, kept with its record.
        limit: Bytes of output that are kept.
        leaving: Whether it is cancelled because the host closes: what goes on outside of
            this process is then left as it is.
    """

    leaving = False

    def __init__(self, job_id: str, folder: Path, limit: int) -> None:
        self.id = job_id
        self.folder = folder
        self.limit = limit
        self._log = JobLog(folder, limit)

    def write(self, data: bytes) -> None:
        """Add output."""
        self._log.write(data)

    def tail(self, size: int) -> bytes:
        """Return the last bytes of its output."""
        # Somebody else may have written it: what is on disk counts.
        log = JobLog(self.folder, self.limit)
        return log.read(max(log.size - size, 0), size)

    def close(self) -> None:
        """Close what is open."""
        self._log.close()


class AdoptingKind(Protocol):
    """A kind whose jobs go on when the process that started them has died."""

    @property
    def name(self) -> str:
        """The kind's name."""

    async def run(self, control: Any, arguments: Mapping[str, Any]) -> Any:
        """Run a job to its end. Cancelled when the job is stopped."""

    async def adopt(self, control: DurableControl, arguments: Mapping[str, Any]) -> Any:
        """Take up a job that another process started, and return its result.

        Raises:
            LostError: it cannot be told how the job ended; nothing of it runs any more.
        """
