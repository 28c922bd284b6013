"""The ledger: what was asked, decided, run and came out, so that nothing runs twice."""

from __future__ import annotations

import time

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from toolcrib.vocabulary import Durability

from .approvals import Approvals
from .calls import Calls
from .database import connect
from .grants import Grants
from .queries import Queries
from .retention import Retention
from .runs import Runs
from .stops import Stops


__all__ = ["Ledger"]


class Ledger(Calls, Approvals, Grants, Queries, Retention, Stops):
    """A durable record of calls, questions and grants, shared by processes and threads.

    A call that was not asked costs two writes: :meth:`intent` before its handler starts
    and :meth:`outcome` after. Every write is on disk when the method returns: it
    survives ``kill -9``, and with ``Durability.FULL`` a power loss. All methods block
    for microseconds, or while another process writes.
    """

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        durability: Durability | str = Durability.NORMAL,
        clock: Callable[[], float] = time.time,
        wait: float = 10.0,
        max_bytes: int | None = None,
    ) -> Ledger:
        """Open a ledger, making it if it does not exist.

        Args:
            path: The file, of mode 0600 in a folder that only this user can change;
                None keeps everything in memory.
            durability: What a write survives.
            clock: Seconds since the epoch.
            wait: Seconds to wait while another process writes.
            max_bytes: Largest size of the file; beyond it nothing may run.

        Raises:
            RecordError: the file cannot be used; it says why and what to do, and the
                file is as it was.
        """
        if path is None:
            from .memory import MemoryLedger  # noqa: PLC0415 - it builds on this module

            return MemoryLedger.create(clock=clock)
        file = Path(path).absolute()
        connection = connect(
            file, durability=Durability(durability), wait=wait, max_bytes=max_bytes
        )
        runs = Runs(file.with_name(file.name + ".runs"))
        return cls(connection, place=str(file), clock=clock, runs=runs)

    def close(self) -> None:
        """Close the ledger; the last try to write what could not be written."""
        with self._lock:
            if self._unwritten and self._connection is not None:
                self._salvage()
            super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
