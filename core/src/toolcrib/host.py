"""The core's own small, real defaults of the host interfaces."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from .errors import Unavailable
from .lifetimes import guard_cycle
from .logs import scoped


if TYPE_CHECKING:
    from .context import Agents, Artifacts, Ask, Clock, Jobs, PackHost, Secrets, Workspace
    from .conversation.session import Session
    from .signature import Resource, Signature
    from .vocabulary import Mode


__all__ = ["Folder", "Host", "NobodyAsks", "RunContext", "SystemClock"]

T = TypeVar("T")


class SystemClock:
    """The machine's clock."""

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def _resolved(path: str | Path) -> Path:
    return Path(path).resolve()


@attrs.frozen
class Folder:
    """A folder that a session works in."""

    root: Path = attrs.field(converter=_resolved)
    trusted: bool = False


class NobodyAsks:
    """Answers that nobody is there; the default until an app passes its own."""

    async def question(
        self, text: str, *, options: Sequence[str] = (), default: str | None = None
    ) -> str | None:
        """Return None: nobody answered."""

    async def form(self, text: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return None: nobody answered."""

    async def url(self, text: str, url: str) -> bool:
        """Return False: nobody agreed."""
        return False


@attrs.define(kw_only=True)
class Host:
    """The environment that a pack is given (:class:`toolcrib.PackHost`)."""

    pack: str
    workspace: Workspace
    clock: Clock
    agents: Agents | None
    logger: logging.Logger
    settings: Mapping[str, Any]
    _state_root: Path
    _opener: Callable[[Host, Any], Awaitable[Any]] | None = None

    @property
    def state(self) -> Path:
        """The pack's private folder (0700), made on first use."""
        folder = self._state_root / "packs" / self.pack
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    async def use(self, resource: Any) -> Any:
        """Return the value of a toolbox's ``@pack.resource``, opened on first use."""
        if self._opener is None:
            text = "this host opens no resources"
            raise Unavailable(text)
        return await self._opener(self, resource)


class _Cancellation:
    """Cancellation as a handler sees it; safe to read from a thread."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: threading.Event | None = None

    def _set(self) -> None:
        if self._event is None:
            self._event = threading.Event()
        self._event.set()

    @property
    def requested(self) -> bool:
        return self._event is not None and self._event.is_set()

    def check(self) -> None:
        if self.requested:
            raise asyncio.CancelledError


class _Diagnostics:
    __slots__ = ("facts",)

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        self.facts[name] = value


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


# Not attrs: made once per attempt of every call, and most of it is never looked at.
class RunContext:
    """The context of one attempt of one call, or of one resource (``attempt`` 0)."""

    __slots__ = (
        "_barrier",
        "_loop",
        "_notes",
        "_opening",
        "_progress",
        "_session",
        "_sub_logger",
        "attempt",
        "cancellation",
        "deadline",
        "diagnostics",
        "host",
        "idempotency_key",
        "invocation_id",
        "signature",
        "tool_id",
    )

    def __init__(
        self,
        session: Session,
        host: PackHost,
        *,
        tool_id: str,
        invocation_id: str = "",
        attempt: int = 0,
        deadline: float | None = None,
        idempotency_key: str = "",
        cancellation: Any = None,
        diagnostics: _Diagnostics | None = None,
        notes: list[str] | None = None,
        progress: Callable[[str, float | None, float | None], None] | None = None,
        opening: tuple[Any, ...] = (),
        loop: asyncio.AbstractEventLoop | None = None,
        signature: Signature | None = None,
    ) -> None:
        self._session = session
        self.signature = signature
        self.host = host
        self.tool_id = tool_id
        self.invocation_id = invocation_id
        self.attempt = attempt
        self.deadline = deadline
        self.idempotency_key = idempotency_key
        self.cancellation = cancellation if cancellation is not None else _Cancellation()
        self.diagnostics = diagnostics if diagnostics is not None else _Diagnostics()
        self._notes = notes if notes is not None else []
        self._progress = progress
        self._opening = opening
        self._sub_logger: logging.Logger | None = None
        self._loop = loop
        self._barrier: Callable[[Resource], bool] | None = None

    @property
    def conversation(self) -> str:
        """The conversation's name."""
        return self._session.conversation

    @property
    def principal(self) -> str:
        """On whose behalf the call runs."""
        return self._session.principal

    @property
    def mode(self) -> Mode:
        """The session's mode."""
        return self._session.mode

    @property
    def app(self) -> Any:
        """The value that the app gave the session."""
        return self._session.app

    @property
    def workspace(self) -> Workspace:
        """The folder that the session works in."""
        return self._session.workspace

    @property
    def artifacts(self) -> Artifacts:
        """The session's artifacts."""
        return self._session.artifacts

    @property
    def ask(self) -> Ask:
        """Questions to the person at the other end."""
        return self._session.ask

    @property
    def jobs(self) -> Jobs:
        """The conversation's jobs."""
        return self._session.jobs

    @property
    def calls(self) -> int:
        """How many calls of the conversation, and of those it started, have begun."""
        return self._session.calls

    @property
    def logger(self) -> logging.Logger:
        """The pack's logger."""
        return self.host.logger

    def sub_logger(self) -> logging.Logger:
        """Return the logger of this invocation; the same one each time."""
        if self._sub_logger is None:
            self._sub_logger = scoped(self.host.logger, self.invocation_id)
        return self._sub_logger

    def bars(self, resource: Resource) -> bool:
        """Tell whether a rule keeps this call from something that it came upon."""
        if self._barrier is None:
            self._barrier = self._session.authority.barrier(self.tool_id, self.signature)
        return self._barrier(resource)

    async def secret(self, name: str, *, destination: str | None = None) -> str:
        """Return a secret that policy binds to this tool."""
        secrets: Secrets | None = self._session.secrets_for(self.tool_id)
        if secrets is None:
            text = f"secret {name!r} is not available to {self.tool_id}"
            raise Unavailable(text, code="secret.unknown")
        return await secrets.get(name, destination=destination)

    async def use(self, resource: Any) -> Any:
        """Return the value of a ``@pack.resource``, opened on first use."""
        guard_cycle(self._opening, resource)
        session = self._session
        lifetimes = session.lifetimes_of(resource.scope)
        # A resource of the toolbox outlives the session, so it sees no app value,
        # principal or artifacts of the session that happens to open it.
        owner = session if resource.scope == "session" else session.anonymous()
        host = self.host
        chain = (*self._opening, resource)

        def context() -> RunContext:
            return RunContext(owner, host, tool_id=self.tool_id, opening=chain)

        return await lifetimes.use(resource, context)

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait, from a handler that runs in a thread, for something async.

        Raises:
            RuntimeError: called on the event loop, which it would block for ever.
        """
        if self._loop is None or _on_a_loop():
            close = getattr(awaitable, "close", None)
            if close is not None:
                close()  # Or Python warns that nobody awaited it.
            text = "ctx.wait() is for sync handlers; in an async one, await"
            raise RuntimeError(text)

        async def awaited() -> T:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def report(
        self, message: str, *, progress: float | None = None, total: float | None = None
    ) -> None:
        """Report progress of this call."""
        if self._progress is not None:
            self._progress(message, progress, total)

    def note(self, word: str) -> None:
        """Add a note such as ``degraded`` to the outcome."""
        if word not in self._notes:
            self._notes.append(word)
