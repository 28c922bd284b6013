"""How jobs of one kind are run, and what a kind offers whose jobs outlive their host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .control import DurableControl, JobControl


__all__ = ["AdoptingKind", "JobKind"]


class JobKind(Protocol):
    """How jobs of one kind are run."""

    @property
    def name(self) -> str:
        """The kind's name, such as ``process``."""

    async def run(
        self, control: JobControl | DurableControl, arguments: Mapping[str, Any]
    ) -> Any:
        """Run a job to its end and return its JSON-safe result.

        Cancelled when the job is stopped: end everything that was started.
        """


class AdoptingKind(Protocol):
    """A kind whose jobs go on when the process that started them has died."""

    @property
    def name(self) -> str:
        """The kind's name."""

    async def run(self, control: DurableControl, arguments: Mapping[str, Any]) -> Any:
        """Run a job to its end. Cancelled when the job is stopped."""

    async def adopt(self, control: DurableControl, arguments: Mapping[str, Any]) -> Any:
        """Take up a job that another process started, and return its result.

        Raises:
            LostError: it cannot be told how the job ended; nothing of it runs any more.
        """
