"""How jobs of one kind are run, and what a kind offers whose jobs outlive their host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from toolcrib.errors import NotFound

from .control import DurableControl, JobControl


__all__ = ["AdoptingKind", "JobKind", "Kinds"]


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


class Kinds(dict[str, JobKind]):
    """The kinds that a store of jobs knows, by name."""

    def add(self, kind: JobKind) -> bool:
        """Make a kind known; False: one of that name is there already, and stays."""
        known = kind.name in self
        self.setdefault(kind.name, kind)
        return not known

    def needed(self, name: str) -> JobKind:
        """Return a kind.

        Raises:
            NotFound: there is none of that name.
        """
        kind = self.get(name)
        if kind is None:
            text = f"no job kind {name!r}; there are: {', '.join(sorted(self)) or 'none'}"
            raise NotFound(text, code="job.unknown_kind")
        return kind

    async def close(self) -> None:
        """Let kinds close what they hold."""
        for kind in self.values():
            let_go = getattr(kind, "let_go", None)
            if let_go is not None:
                await let_go()
