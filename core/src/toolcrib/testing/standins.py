"""Stand-ins for what a running host gives: a context, time, and the end of the host."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys

from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolcrib.canonical import digest_bytes
from toolcrib.errors import Unavailable
from toolcrib.host import Folder, NobodyAsks, SystemClock, _Cancellation, _Diagnostics
from toolcrib.lifetimes import Lifetimes
from toolcrib.outcome import ArtifactLink
from toolcrib.vocabulary import Mode


if TYPE_CHECKING:
    from toolcrib.signature import Resource


__all__ = ["Clock", "FakeContext", "killed_host"]

T = TypeVar("T")


class _Store:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(
        self, data: bytes, *, media_type: str, title: str | None = None
    ) -> ArtifactLink:
        link = ArtifactLink(digest_bytes(data), len(data), media_type, title)
        self.kept[link.digest] = data
        return link

    async def get(self, digest: str, *, start: int = 0, size: int | None = None) -> bytes:
        end = None if size is None else start + size
        return self.kept[digest][start:end]


class _FakeHost:
    """What a pack is given in a direct call."""

    agents = None

    def __init__(self, root: Path, settings: Mapping[str, Any]) -> None:
        self.pack = "fake"
        self.workspace = Folder(root)
        self.clock = SystemClock()
        self.logger = logging.getLogger("toolcrib.pack.fake")
        self.settings = settings
        self.state = root / ".state"
        self.context: FakeContext | None = None

    async def use(self, resource: Any) -> Any:
        """Return the value that the context gives."""
        if self.context is None:  # pragma: no cover - it is set at once
            raise AssertionError
        return await self.context.use(resource)


class FakeContext:
    """A context for calling a handler directly, without any stage.

    Args:
        root: The workspace folder.
        secrets: What ``ctx.secret(name)`` gives.
        settings: The pack's settings.
        app: The app value.

    Attributes:
        reports: What the handler reported.
        notes: What it noted.
    """

    def __init__(
        self,
        root: Path,
        *,
        secrets: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        app: Any = None,
    ) -> None:
        self.invocation_id = "call_fake"
        self.tool_id = "fake.tool"
        self.conversation = "fake"
        self.principal = "tester"
        self.mode = Mode.ASK
        self.app = app
        self.host = _FakeHost(root, settings or {})
        self.host.context = self
        self.workspace = self.host.workspace
        self.artifacts = _Store()
        self.ask = NobodyAsks()
        self.cancellation = _Cancellation()
        self.diagnostics = _Diagnostics()
        self.logger = self.host.logger
        self.deadline: float | None = None
        self.attempt = 1
        self.calls = 1
        self.idempotency_key = "fake"
        self.reports: list[str] = []
        self.notes: list[str] = []
        self._secrets = dict(secrets or {})
        self._lifetimes: Lifetimes | None = None

    def bars(self, resource: Resource) -> bool:
        """Bar nothing: there are no rules here."""
        return False

    async def secret(self, name: str, *, destination: str | None = None) -> str:
        """Return a secret that the test gave."""
        if name not in self._secrets:
            text = f"secret {name!r} is not available"
            raise Unavailable(text, code="secret.unknown")
        return self._secrets[name]

    async def use(self, resource: Any) -> Any:
        """Open a resource on first use; ``close`` closes it."""
        if self._lifetimes is None:
            self._lifetimes = Lifetimes("session")
        return await self._lifetimes.use(resource, lambda: self)

    async def close(self) -> None:
        """Close what was opened."""
        if self._lifetimes is not None:
            await self._lifetimes.close()

    def wait(self, awaitable: Coroutine[Any, Any, T]) -> T:
        """Run something async for a sync handler."""
        return asyncio.run(awaitable)

    def report(
        self, message: str, *, progress: float | None = None, total: float | None = None
    ) -> None:
        """Keep what was reported."""
        self.reports.append(message)

    def sub_logger(self) -> logging.Logger:
        """Return the logger."""
        return self.logger

    def note(self, word: str) -> None:
        """Keep a note."""
        self.notes.append(word)


class Clock:
    """Time that only a test moves, for whatever takes a function like ``time.time``.

    Attributes:
        now: Seconds; set it to move on.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def killed_host(code: str, *arguments: object) -> str:
    """Run a host that kills itself, as a crash would, and return what it printed.

    Args:
        code: Python that ends in ``os.kill(os.getpid(), signal.SIGKILL)``.
        arguments: What it finds in ``sys.argv[1:]``, as text.

    Raises:
        AssertionError: it ended in another way; with what it wrote on stderr.
        subprocess.TimeoutExpired: it did not end within a minute.
    """
    done = subprocess.run(  # noqa: S603 - the test's own code
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != -signal.SIGKILL:
        raise AssertionError(done.stderr or f"it ended with {done.returncode}")
    return done.stdout
