"""One connection to one server: opened, lost, opened again, closed, by one task.

Every context manager of the SDK is entered and left by the owner task, whoever asks for
what; so connections may be closed in any order and from any task. Each opening has a
generation of its own, and what belongs to an older one is not believed any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import random

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import listen
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from toolcrib import ToolFailure, Unavailable

from . import remote
from .greeting import greet
from .news import News, bindings
from .owned import Owned, hiding
from .settings import ServerConfig
from .stdio import PipeReader, PipeWriter
from .texts import one_line, told
from .wire import Tap, Watched


__all__ = ["Connection", "Handlers", "Live"]

_CLIENT = types.Implementation(name="toolcrib", version="0.1.0")
_STABLE = 30.0
_TASKS = "io.modelcontextprotocol/tasks"


@attrs.frozen(kw_only=True)
class Handlers:
    """What a server may ask of us, and tell us."""

    elicit: Any = None
    sample: Any = None
    roots: Any = None
    log: Any = None
    told: Callable[[types.ServerNotification], Awaitable[None]]
    news: News = attrs.field(factory=News)


@attrs.define(kw_only=True)
class Live:
    """One opening of a connection."""

    session: ClientSession
    tap: Tap
    generation: int
    owned: Owned | None = None

    @property
    def version(self) -> str:
        """The revision of the protocol that is spoken."""
        return self.session.protocol_version or ""

    @property
    def modern(self) -> bool:
        """Whether it is a revision without handshake."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> types.ServerCapabilities:
        """What the server says it can do."""
        return self.session.server_capabilities or types.ServerCapabilities()


class Connection:
    """A server that is kept connected.

    Args:
        config: Which server, and how.
        root: The workspace folder.
        handlers: What it may ask and tell.
        opened: Awaited with each new opening; raising means that it failed.
        changed: Called whenever the state changed.

    Attributes:
        state: ``connecting connected reconnecting failed closed``.
        problem: Why it is not connected.
        live: The present opening, if it is connected.
        generation: Number of openings so far.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        root: str,
        handlers: Handlers,
        opened: Callable[[Live], Awaitable[None]],
        changed: Callable[[], None],
        auth: Callable[[], Any] = lambda: None,
    ) -> None:
        self.config = config
        self.state = "connecting"
        self.problem = ""
        self.live: Live | None = None
        self.generation = 0
        self.tail = ""
        self._root = root
        self._handlers = handlers
        self._opened = opened
        self._changed = changed
        self._auth = auth
        self._hide = hiding(config)
        self._legacy = config.revision == "legacy"
        self._settled = asyncio.Event()
        self._again = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # -- for everybody -----------------------------------------------------------------

    def start(self) -> None:
        """Start to connect; returns at once."""
        self._task = asyncio.create_task(self._own(), name=f"mcp {self.config.name}")

    async def settled(self) -> None:
        """Wait until it is connected, or the first attempts have failed."""
        await self._settled.wait()

    def require(self) -> Live:
        """Return the present opening.

        Raises:
            Unavailable: it is not connected; nothing was sent.
        """
        live = self.live
        if live is None or live.tap.ended:
            why = f": {self.problem}" if self.problem else ""
            text = f"The server {self.config.name} is {self.state}{why}. Nothing was sent."
            raise Unavailable(text, code="mcp.not_connected")
        return live

    def reconnect(self, why: str) -> None:
        """Give the present opening up, and open it again."""
        if not self._stop.is_set():
            self.problem = why
            self._again.set()

    async def close(self) -> None:
        """End the connection and everything that was started for it; twice is once."""
        self._stop.set()
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        self.state = "closed"

    # -- the owner task ----------------------------------------------------------------

    async def _own(self) -> None:
        attempts = 0
        loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            self._again.clear()
            began = loop.time()
            fatal = await self._once()
            if self._stop.is_set():
                break
            if loop.time() - began > _STABLE:
                attempts = 0
            attempts += 1
            if fatal or attempts > self.config.recover:
                self._set("failed")
                self._settled.set()
                await self._either(self._again)
                attempts = 0
                continue
            self._set("reconnecting")
            if attempts > 1:
                self._settled.set()
            await self._pause(attempts)
        self.live = None
        self._set("closed")
        self._settled.set()

    async def _once(self) -> bool:
        """Open, stay open, and close; return whether trying again is of no use."""
        try:
            async with self._open() as live:
                self.live = live
                async with self._limit():
                    await self._opened(live)
                self.problem = ""
                self._set("connected")
                self._settled.set()
                await self._while_open(live)
        except asyncio.CancelledError:
            if self._stop.is_set() or asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            self.problem = "the connection was cancelled"
        except BaseException as error:  # noqa: BLE001 - whatever a server does is its own
            return self._failed(error)
        finally:
            self.live = None
        return False

    def _failed(self, error: BaseException) -> bool:
        while isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        text = error.text if isinstance(error, ToolFailure) else str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            text = f"it does not greet as the protocol says: {where}: {first['msg']}"
        if isinstance(error, TimeoutError):
            text = text or f"it did not answer within {self.config.connect_timeout:g} s"
        where = f" (it wrote: {one_line(self.tail[-300:])})" if self.tail.strip() else ""
        self.problem = self._hide(told(f"{text or type(error).__name__}{where}", 600))
        if isinstance(error, MCPError) and error.code == remote.FORBIDDEN:
            self.problem += f"; run: toolcrib mcp login {self.config.name}"
            return True
        return isinstance(error, ToolFailure) and error.code in {"mcp.not_started", "mcp.login"}

    async def _while_open(self, live: Live) -> None:
        """Wait until the opening is over, whoever ends it."""
        waits = [
            asyncio.ensure_future(live.tap.lost.wait()),
            asyncio.ensure_future(self._stop.wait()),
            asyncio.ensure_future(self._again.wait()),
        ]
        if self.config.ping and not live.modern:
            waits.append(asyncio.ensure_future(self._unhealthy(live)))
        news = asyncio.create_task(self._listen(live)) if live.modern else None
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in (*waits, *([news] if news else [])):
                wait.cancel()
            await asyncio.gather(*waits, *([news] if news else []), return_exceptions=True)
        if not self._stop.is_set() and not self.problem:
            self.problem = "the server closed the connection"
            if live.owned is not None:
                code = await live.owned.exit_code()
                self.problem = "the server exited" + (f" with {code}" if code else "")
        # Everything that it offered is revoked before anything is tried again.
        self.live = None
        if not self._stop.is_set():
            self._set("reconnecting")

    async def _unhealthy(self, live: Live) -> None:
        """Return when a server has left several health checks unanswered."""
        missed = 0
        while missed < 3:
            await asyncio.sleep(self.config.ping)
            try:
                async with asyncio.timeout(max(self.config.ping, 1.0)):
                    await live.session.send_ping()
                missed = 0
            except MCPError:
                missed = 0  # An error is an answer.
            except TimeoutError:
                missed += 1
        self.problem = f"it left {missed} health checks unanswered"

    async def _listen(self, live: Live) -> None:
        """Hear of changes where the protocol has a stream for them."""
        able = live.capabilities
        wanted: dict[str, Any] = {
            "tools_list_changed": bool(able.tools and able.tools.list_changed),
            "prompts_list_changed": bool(able.prompts and able.prompts.list_changed),
            "resources_list_changed": bool(able.resources and able.resources.list_changed),
        }
        wait = self.config.first_delay
        while any(wanted.values()):
            with contextlib.suppress(MCPError, TimeoutError, RuntimeError):
                async with listen(live.session, **wanted) as events:
                    wait = self.config.first_delay
                    async for _ in events:
                        await self._handlers.told(types.ToolListChangedNotification())
            await asyncio.sleep(wait)
            wait = min(wait * 2, self.config.longest_delay)

    async def _pause(self, attempt: int) -> None:
        config = self.config
        wait = min(config.first_delay * 2 ** (attempt - 1), config.longest_delay)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait * random.uniform(0.8, 1.2)):  # noqa: S311 - jitter
                await self._either(self._again)

    async def _either(self, event: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _set(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self._changed()

    # -- opening -----------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[Live]:
        self.generation += 1
        async with contextlib.AsyncExitStack() as stack:
            async with self._limit():
                live = await self._connected(stack)
            yield live

    @contextlib.asynccontextmanager
    async def _limit(self) -> AsyncIterator[None]:
        """Bound an opening in time, and end it when the connection is closed meanwhile."""
        stop = asyncio.ensure_future(self._stop.wait())
        async with asyncio.timeout(self.config.connect_timeout) as scope:
            stop.add_done_callback(lambda f: None if f.cancelled() else scope.reschedule(0.0))
            try:
                yield
            finally:
                stop.cancel()

    async def _connected(self, stack: contextlib.AsyncExitStack) -> Live:
        owned: Owned | None = None
        reader: Any
        writer: Any
        if self.config.remote:
            opened = remote.streams(self.config, auth=self._auth())
            found, writer = await stack.enter_async_context(opened)
            reader = Watched(found)
        else:
            owned = await Owned.start(self.config, root=self._root)
            stack.push_async_callback(self._ended, owned)
            reader, writer = Watched(PipeReader(owned.output)), PipeWriter(owned.input)
        tap = Tap(reader, writer)
        session = ClientSession(
            dispatcher=tap,
            client_info=_CLIENT,
            elicitation_callback=self._handlers.elicit,
            sampling_callback=self._handlers.sample,
            list_roots_callback=self._handlers.roots,
            logging_callback=self._handlers.log,
            log_level=self.config.log_level,  # type: ignore[arg-type]
            message_handler=self._heard,
            extensions={_TASKS: {}},
            notification_bindings=bindings(self._handlers.news),
        )
        await stack.enter_async_context(session)
        live = Live(session=session, tap=tap, generation=self.generation, owned=owned)
        try:
            await greet(session, config=self.config, legacy=self._legacy)
        except MCPError:
            # If the newer greeting upset it, the next opening will not use it.
            self._legacy = self._legacy or tap.ended
            raise
        return live

    async def _ended(self, owned: Owned) -> None:
        # Reading what it said last takes a moment; a server that is gone said it already.
        await owned.stop()
        self.tail = owned.tail

    async def _heard(self, message: types.ServerNotification | Exception) -> None:
        if not isinstance(message, Exception):
            await self._handlers.told(message)
