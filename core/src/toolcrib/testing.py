"""The kit for pack authors: fixtures, a context for direct calls, and contract checks.

In a pack's ``conftest.py``::

    pytest_plugins = ["toolcrib.testing"]

    @pytest.fixture
    def toolcrib_pack():
        from my_package import pack
        return pack

Then ``async_run(session.call("pack.tool", {...}))`` takes a call through all stages,
``fake_ctx`` is enough for ``await tool.call(fake_ctx, …)``, and ``check_pack(pack)``
lists everything that would go wrong with the pack elsewhere. A ``Clock`` stands still until
a test moves it, and ``killed_host`` runs a host that dies in the middle of its work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import subprocess
import sys

from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from .canonical import digest_bytes
from .errors import SchemaError, Unavailable
from .host import Folder, NobodyAsks, SystemClock, _Cancellation, _Diagnostics
from .lifetimes import Lifetimes
from .outcome import ArtifactLink, Outcome
from .policy.value import Policy
from .question import Allow
from .sync import SyncSession
from .toolbox import Toolbox
from .vocabulary import Mode


if TYPE_CHECKING:
    from .question import Decision, Question
    from .signature import Resource


__all__ = [
    "Clock",
    "FakeContext",
    "async_run",
    "check_pack",
    "fake_ctx",
    "killed_host",
    "session",
]

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


def async_run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, for tests without an asyncio plugin."""
    return asyncio.run(work)


@pytest.fixture
def fake_ctx(tmp_path: Path) -> FakeContext:
    """A context for calling a handler directly."""
    return FakeContext(tmp_path)


@pytest.fixture
def toolcrib_policy(toolcrib_pack: Any, tmp_path: Path) -> Policy:
    """The policy of the ``session`` fixture; override it for another."""
    return Policy(local=[toolcrib_pack], workspace=tmp_path, state=tmp_path / ".toolcrib")


class _Session:
    """A session for tests: one call at a time, blocking."""

    def __init__(self, inner: SyncSession) -> None:
        self.inner = inner

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        approve: bool | Callable[[Question], Decision | None] = True,
    ) -> Outcome:
        """Take a call through all stages.

        Args:
            tool: The tool's id.
            arguments: A JSON object, or its text.
            approve: Whether questions are answered with yes, or what answers them.
        """
        if approve is True:
            approver: Any = _yes
        else:
            approver = approve or None
        outcome: Outcome = self.inner.call(tool, arguments, approver=approver)
        return outcome


def _yes(_question: Question) -> Decision:
    return Allow(by="tester")


@pytest.fixture
def session(toolcrib_policy: Policy) -> Iterator[_Session]:
    """A session that runs all stages for the pack that ``toolcrib_pack`` gives."""
    with Toolbox.sync(toolcrib_policy) as box, box.session("test") as inner:
        yield _Session(inner)


def check_pack(pack: Any, *, manifest: Path | None = None) -> list[str]:
    """Return everything that would go wrong with a pack elsewhere; empty is good.

    Checked: the manifest is current, the pack activates, each tool is offered in every
    dialect of the core, its schemas can be enforced, a call with an unknown argument is
    refused before the handler runs, and effects are declared rather than left widest.

    Args:
        pack: The ``Pack``, or an object with hooks.
        manifest: The package's ``toolcrib.json``.
    """
    from . import authoring  # noqa: PLC0415 - only this check reads it

    found: list[str] = []
    if manifest is not None:
        found += [f"manifest: {line}" for line in authoring.check(manifest.read_bytes(), pack)]
    return found + async_run(_checked(pack))


async def _checked(pack: Any) -> list[str]:
    from .activation.activepack import ActivePack  # noqa: PLC0415 - as above
    from .schema import normalize  # noqa: PLC0415 - as above

    found: list[str] = []
    async with Toolbox(Policy(local=[pack])) as box:
        found += [f"{r.subject}: {r.text} [{r.code}]" for r in box.catalog.refusals]
        for pack_id in box.catalog.packs:
            active = await box.activate(pack_id)
            if not isinstance(active, ActivePack):
                found.append(f"{pack_id}: {active.text} [{active.code}]")
        async with box.session() as s:
            for name in ("openai", "openai-responses", "anthropic", "mcp"):
                view = await s.view(name)
                found += [f"{r.subject}: in {name}: {r.text}" for r in view.refusals]
            for tool_id, entry in box.catalog.tools.items():
                with contextlib.suppress(SchemaError):
                    normalize(entry.tool.input_schema)
                outcome = await s.call(tool_id, {"no such parameter": 0})
                open_schema = entry.tool.input_schema.get("additionalProperties", False)
                if outcome.status not in {"invalid", "unavailable"} and not open_schema:
                    found.append(f"{tool_id}: an unknown argument is not refused")
    return found
