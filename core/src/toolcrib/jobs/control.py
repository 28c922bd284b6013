"""What a running job is given: its id, and where its output goes."""

from __future__ import annotations

from pathlib import Path

from .log import JobLog


__all__ = ["DurableControl", "JobControl"]


class JobControl:
    """What a running job is given whose output is kept in memory."""

    def __init__(self, job_id: str, limit: int) -> None:
        self.id = job_id
        self._limit = limit
        self._kept = bytearray()
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Add output; the oldest gives way, counted, when there is too much."""
        self._kept += data
        surplus = len(self._kept) - self._limit
        if surplus > 0:
            del self._kept[:surplus]
            self._dropped += surplus

    @property
    def kept_from(self) -> int:
        """Offset of the oldest byte that is still kept."""
        return self._dropped

    @property
    def size(self) -> int:
        """Bytes written in all."""
        return self._dropped + len(self._kept)

    def tail(self, size: int) -> bytes:
        """Return the last bytes of its output."""
        return bytes(self._kept[-size:]) if size else b""

    def read(self, offset: int, size: int) -> bytes:
        """Return output from an offset; asking again gives the same bytes."""
        start = max(offset - self._dropped, 0)
        return bytes(self._kept[start : start + size])


class DurableControl:
    """What a running job is given whose output is kept on disk.

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
