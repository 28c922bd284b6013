"""What a running tool is given: its context, and the host behind it.

These are interfaces. The core's small real defaults live in :mod:`toolcrib.host`; an
app may replace any of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .vocabulary import Mode


if TYPE_CHECKING:
    from logging import Logger

    from .outcome import ArtifactLink
    from .signature import Resource, Signature


__all__ = [
    "Agents",
    "Artifacts",
    "Ask",
    "Cancellation",
    "Clock",
    "Context",
    "Diagnostics",
    "Job",
    "Jobs",
    "PackHost",
    "Secrets",
    "Workspace",
]

T = TypeVar("T")


class Clock(Protocol):
    """Time, so that tests can set it."""

    def time(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Workspace(Protocol):
    """The folder that a session works in."""

    @property
    def root(self) -> Path:
        """The folder, absolute, links resolved."""

    @property
    def trusted(self) -> bool:
        """Whether the user trusts code and settings found in it."""


class Secrets(Protocol):
    """Secrets by name, bound to the tool and destination that policy names."""

    async def get(self, name: str, *, destination: str | None = None) -> str:
        """Return a secret's value for this tool.

        Raises:
            toolcrib.Unavailable: no such secret for this tool and destination.
        """


class Ask(Protocol):
    """Questions to the person at the other end; every wait has a deadline."""

    async def question(
        self, text: str, *, options: Sequence[str] = (), default: str | None = None
    ) -> str | None:
        """Return the answer, or None if nobody answered."""

    async def form(self, text: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return values for a flat object schema, or None if nobody answered."""

    async def url(self, text: str, url: str) -> bool:
        """Tell whether the person agreed to open an address."""


class Artifacts(Protocol):
    """Content-addressed storage of the session's namespace."""

    async def put(
        self, data: bytes, *, media_type: str, title: str | None = None
    ) -> ArtifactLink:
        """Store bytes and return the link."""

    async def get(self, digest: str, *, start: int = 0, size: int | None = None) -> bytes:
        """Return bytes, or a range of them; a foreign digest is an unknown one."""


class Job(Protocol):
    """Something that outlives a call, as it is at one moment."""

    @property
    def id(self) -> str:
        """Its durable id."""

    @property
    def kind(self) -> str:
        """What runs it, such as ``process``."""

    @property
    def owner(self) -> str:
        """The conversation that started it."""

    @property
    def status(self) -> str:
        """``running``, or a final state: ``done failed stopped lost``."""


class Jobs(Protocol):
    """Everything that outlives a call, of every kind, behind one protocol."""

    def register(self, kind: Any) -> Any:
        """Make a kind known, and return the one of that name that counts."""

    async def start(self, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Start a job of a kind."""

    async def get(self, job_id: str) -> Job:
        """Return a job as it is now."""

    async def output(self, job_id: str, *, offset: int = 0, size: int = 65536) -> bytes:
        """Return output from an offset; asking again gives the same bytes."""

    async def wait(self, job_id: str, *, timeout: float | None = None) -> Job:
        """Wait until it is in a final state, or the timeout passes."""

    async def stop(self, job_id: str) -> Job:
        """Stop it and everything it started."""

    async def list(self) -> Sequence[Job]:
        """Return the session's jobs, oldest first."""


class Agents(Protocol):
    """The app's runner for sub-agents; a child never has more authority."""

    async def run(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run a sub-agent to its end and return what it said."""


class PackHost(Protocol):
    """What a pack is given when it is activated."""

    @property
    def pack(self) -> str:
        """The pack's id."""

    @property
    def workspace(self) -> Workspace:
        """The folder that sessions work in."""

    @property
    def clock(self) -> Clock:
        """Time."""

    @property
    def logger(self) -> Logger:
        """The pack's logger."""

    @property
    def agents(self) -> Agents | None:
        """The app's runner for sub-agents, if it has one."""

    @property
    def state(self) -> Path:
        """A folder of the pack's own (0700), made on first use."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The pack's table of the policy file, ``[pack.<id>]``."""

    async def use(self, resource: Callable[[Context], AsyncIterator[T]]) -> T:
        """Return the value of a ``@pack.resource(scope="toolbox")``, opened on first use.

        For functions that are given the host and no context, such as an async preview.
        """


class Cancellation(Protocol):
    """Whether the call was cancelled; a sync handler looks, an async one is interrupted."""

    @property
    def requested(self) -> bool:
        """Whether the call was cancelled or its deadline passed."""

    def check(self) -> None:
        """Raise ``asyncio.CancelledError`` if the call was cancelled."""


class Diagnostics(Protocol):
    """Facts for people who look into a call later; the model never sees them."""

    def add(self, name: str, value: Any) -> None:
        """Add a JSON-safe fact to the receipt."""


class Context(Protocol):
    """What a handler is given first; nothing in it can be set by the model."""

    @property
    def invocation_id(self) -> str:
        """The durable id of the call; shared by receipt, events and diagnostics."""

    @property
    def tool_id(self) -> str:
        """The tool's id, as it was called."""

    @property
    def conversation(self) -> str:
        """The conversation's name."""

    @property
    def principal(self) -> str:
        """On whose behalf the call runs."""

    @property
    def mode(self) -> Mode:
        """The session's mode."""

    @property
    def app(self) -> Any:
        """The value that the app gave the session."""

    @property
    def host(self) -> PackHost:
        """What the pack was given."""

    @property
    def workspace(self) -> Workspace:
        """The folder that the session works in."""

    @property
    def artifacts(self) -> Artifacts:
        """The conversation's artifacts."""

    @property
    def ask(self) -> Ask:
        """Questions to the person at the other end."""

    @property
    def jobs(self) -> Jobs:
        """The conversation's jobs."""

    @property
    def calls(self) -> int:
        """How many calls of the conversation, and of those it started, have begun.

        This one included; counted from what is recorded, so also over restarts.
        """

    @property
    def cancellation(self) -> Cancellation:
        """Whether the call was cancelled."""

    @property
    def diagnostics(self) -> Diagnostics:
        """Facts for people who look into the call later."""

    @property
    def logger(self) -> Logger:
        """The pack's logger."""

    @property
    def deadline(self) -> float | None:
        """When the call has to end, on the clock's monotonic time."""

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1; 0 for a resource that opens."""

    @property
    def idempotency_key(self) -> str:
        """Stable key of the call, the same in every attempt."""

    @property
    def signature(self) -> Signature | None:
        """What the call was authorised to touch; None for a resource that opens."""

    def bars(self, resource: Resource) -> bool:
        """Tell whether a rule keeps this call from something that it came upon.

        A call is judged by what its signature names. One that names a folder and looks
        at what lies below it asks this for each file before it shows anything of it, and
        leaves out what is barred: what a rule denies, or asks about without having been
        answered.
        """

    async def secret(self, name: str, *, destination: str | None = None) -> str:
        """Return a secret that policy binds to this tool (and destination)."""

    async def use(self, resource: Callable[[Context], AsyncIterator[T]]) -> T:
        """Return the value of a ``@pack.resource``, opened on first use."""

    def report(
        self, message: str, *, progress: float | None = None, total: float | None = None
    ) -> None:
        """Report progress of this call; its identity is the core's to give."""

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait, from a handler that runs in a thread, for something async."""

    def sub_logger(self) -> Logger:
        """Return the logger of this invocation; the same one each time."""

    def note(self, word: str) -> None:
        """Add a note such as ``degraded`` to the outcome."""
