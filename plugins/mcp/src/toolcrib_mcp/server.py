"""One configured server, seen from here: a live source of tools, and the rest it offers."""

from __future__ import annotations

import asyncio
import contextlib

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import attrs
import mcp_types as types

from toolcrib import Busy, Context, Implementation, PackHost, Unavailable, Validators

from . import calls, oauth
from .asking import Asking
from .connection import Connection, Handlers, Live
from .content import Content
from .listing import everything
from .news import News
from .owned import hiding
from .remotejobs import RemoteJobs
from .settings import ServerConfig
from .texts import cleaned, one_line
from .tools import Offer, Withheld, offers


__all__ = ["Server"]

_MOST_QUEUED = 64
_MOST_INSTRUCTIONS = 8 * 1024
_LOGS_KEPT = 64
_LOGS_A_SECOND = 64
_DEBOUNCE = 0.025


@attrs.frozen
class Logged:
    """One line of a server's log."""

    level: str
    text: str


class Server:
    """A live source: connects, lists, notices changes, runs calls.

    Args:
        config: Which server.
        host: What the pack was given.
        jobs: The kind of job that follows its tasks.

    Attributes:
        connection: How it is reached.
        news: What it tells of its tasks.
        offer: Its tools as they were last listed.
        warnings: What was odd about its lists.
    """

    def __init__(self, config: ServerConfig, host: PackHost, jobs: RemoteJobs) -> None:
        self.config = config
        self.name = config.name
        self.host = host
        self.hide = hiding(config)
        self.validators = Validators()
        self.offer = Offer()
        self.warnings: tuple[str, ...] = ()
        self.logs: deque[Logged] = deque(maxlen=_LOGS_KEPT)
        self.dropped = 0
        self.asking = Asking(self)
        self.jobs = jobs
        self.news = News()
        self.content = Content(self)
        self._changed: Callable[[], None] = lambda: None
        self._revoked = True
        self._slots = asyncio.Semaphore(config.concurrency)
        self._queued = 0
        self._log_second = (0, 0)
        self._relisting: asyncio.Task[None] | None = None
        self._stale = asyncio.Event()
        self.connection = Connection(
            config,
            root=str(host.workspace.root),
            handlers=Handlers(
                elicit=self.asking.elicit,
                sample=self.asking.sample if config.sampling else None,
                roots=self.asking.roots if config.roots else None,
                log=self._log,
                told=self._told,
                news=self.news,
            ),
            opened=self._opened,
            changed=self._state_changed,
            auth=lambda: oauth.stored(config, host.state),
        )

    # -- the live source ---------------------------------------------------------------

    async def open(self, changed: Callable[[], None]) -> None:
        """Start to connect, and wait for the first answer; a failure is told by ``tools``."""
        self._changed = changed
        self._relisting = asyncio.create_task(self._relist(), name=f"lists of {self.name}")
        self.connection.start()
        await self.connection.settled()

    async def tools(self) -> Iterable[Implementation]:
        """Return the tools as they are.

        Raises:
            Unavailable: the server is not connected; its tools were revoked before.
        """
        if self.connection.live is not None and self.connection.state == "connected":
            self._revoked = False
            return self.offer.implementations
        if not self._revoked:
            # First nothing of it is offered any more; then the reason is said.
            self._revoked = True
            asyncio.get_running_loop().call_soon(self._changed)
            return ()
        text = f"{self.connection.state}: {self.connection.problem or 'no answer yet'}"
        raise Unavailable(text, code="mcp.not_connected")

    async def close(self) -> None:
        """Disconnect, and end everything that was started."""
        if self._relisting is not None:
            self._relisting.cancel()
            await asyncio.wait([self._relisting])
        await self.connection.close()

    # -- what the connection tells -----------------------------------------------------

    async def _opened(self, live: Live) -> None:
        await self._read_tools(live)
        self.content.forget()
        await self.content.subscribe_again(live)

    async def _read_tools(self, live: Live) -> None:
        if live.capabilities.tools is None and live.version:
            self.offer, self.warnings = Offer(), ()
            return
        listed = await everything(live, "tools", timeout=self.config.connect_timeout)
        run = self._run
        self.offer = await asyncio.to_thread(offers, self.config, listed.items, run)
        self.warnings = listed.warnings
        for each in self.offer.withheld:
            self.host.logger.warning(
                "%s: tool %s withheld: %s", self.name, each.name, each.text
            )

    def _state_changed(self) -> None:
        problem = self.connection.problem
        self.host.logger.info("%s: %s %s", self.name, self.connection.state, problem)
        self._changed()

    async def _told(self, message: types.ServerNotification) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._stale.set()
        elif isinstance(
            message, types.ResourceListChangedNotification | types.PromptListChangedNotification
        ):
            self.content.forget()
        elif isinstance(message, types.ResourceUpdatedNotification):
            self.content.updated(str(message.params.uri))

    async def _relist(self) -> None:
        """Read the tools again when they changed; a burst of notices is one reading."""
        while True:
            await self._stale.wait()
            await asyncio.sleep(_DEBOUNCE)
            self._stale.clear()
            live = self.connection.live
            if live is None:
                continue
            try:
                async with asyncio.timeout(self.config.connect_timeout):
                    await self._read_tools(live)
            except Exception as error:  # noqa: BLE001 - the old list stays, and it is said
                self.warnings = (f"its changed list cannot be read: {one_line(error)}",)
                continue
            self._changed()

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Keep a line of the server's log: bounded, for people only, never for the model."""
        second = int(self.host.clock.monotonic())
        count = self._log_second[1] + 1 if self._log_second[0] == second else 1
        self._log_second = (second, count)
        if count > _LOGS_A_SECOND:
            self.dropped += 1
            return
        text = self.hide(one_line(params.data, 2000))
        self.logs.append(Logged(str(params.level), text))
        self.host.logger.debug("%s: %s: %s", self.name, params.level, text)

    # -- calls -------------------------------------------------------------------------

    async def _run(self, ctx: Context, tool: str, arguments: dict[str, Any]) -> Any:
        return await calls.call(self, ctx, tool, arguments)

    @contextlib.asynccontextmanager
    async def turn(self, ctx: Context) -> AsyncIterator[None]:
        """Wait for one of the server's turns.

        Raises:
            Busy: too many calls wait already.
        """
        if self._queued >= _MOST_QUEUED + self.config.concurrency:
            text = f"{self._queued} calls wait for {self.name} already. Try again later."
            raise Busy(text, code="mcp.busy")
        self._queued += 1
        try:
            async with self._slots:
                self.asking.begin(ctx)
                try:
                    yield
                finally:
                    self.asking.end(ctx)
        finally:
            self._queued -= 1

    def output_schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return what a tool's structured output has to fit, if it says so."""
        return self.offer.output_schemas.get(tool)

    def roots(self) -> types.ListRootsResult:
        """Return what the server is told of the workspace."""
        if not self.config.roots:
            return types.ListRootsResult(roots=[])
        root = self.host.workspace.root
        return types.ListRootsResult(
            roots=[types.Root(uri=root.as_uri(), name=root.name or str(root))]  # type: ignore[arg-type]
        )

    # -- for people and helpers --------------------------------------------------------

    def instructions(self) -> str:
        """Return what the server says about its use: bounded, untrusted text."""
        live = self.connection.live
        text = live.session.instructions if live is not None else None
        clean = cleaned(text or "").strip()
        return (
            clean if len(clean) <= _MOST_INSTRUCTIONS else clean[:_MOST_INSTRUCTIONS] + " […]"
        )

    def status(self) -> dict[str, Any]:
        """Return how it is, as a JSON-safe value."""
        live = self.connection.live
        info = live.session.server_info if live is not None else None
        withheld: Iterable[Withheld] = self.offer.withheld
        return {
            "server": self.name,
            "state": self.connection.state,
            "problem": self.connection.problem or None,
            "protocol": live.version if live is not None else None,
            "says_it_is": one_line(f"{info.name} {info.version}", 100) if info else None,
            "tools": len(self.offer.implementations) if live is not None else 0,
            "withheld": [f"{each.name}: {each.text}" for each in withheld][:20],
            "warnings": list(self.warnings),
            "waiting": self._queued,
        }
