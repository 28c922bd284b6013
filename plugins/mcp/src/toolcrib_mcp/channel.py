"""The way back to a client's user and model while a call runs.

Handshake revisions let a server send requests; the newer one has rounds instead: the call
is answered with what it needs, and comes again with it, while its work waits in here.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
import warnings

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from toolcrib import Unavailable


__all__ = ["CURRENT", "TASKS", "Channel", "ClientAgents", "ClientAsk", "Logs", "can_tasks"]

CURRENT: ContextVar[Channel | None] = ContextVar("toolcrib_mcp_channel", default=None)
"""The client whose call runs."""

Request = ServerRequestContext[Any, Any]

TASKS = "io.modelcontextprotocol/tasks"
"""Name of the extension of the newer revision with which calls go on as tasks."""

_MOST_SAID = 500
_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}
_KEY = re.compile(r"[^A-Za-z0-9_-]+")
_ORDER = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def can_tasks(capabilities: types.ClientCapabilities | None) -> bool:
    """Tell whether a client does with tasks, by the newer generation."""
    return capabilities is not None and TASKS in (capabilities.extensions or {})


@attrs.define
class Wanted:
    """One thing that a running call needs of the client."""

    key: str
    request: Any
    result: type[Any]
    answer: asyncio.Future[Any]


class Channel:
    """One call's way to its client.

    Args:
        ctx: The request.

    Attributes:
        wanted: What waits for the next round, by key.
        finished: Whether the work is over.
        watched: Whether somebody wants to know how the work goes on.
        said: How it went on last.
        changed: Called when something is wanted, or no longer.
    """

    def __init__(self, ctx: Request, *, level: str = "debug") -> None:
        self.ctx = ctx
        self.level = level
        self.wanted: dict[str, Wanted] = {}
        self.finished = False
        self.watched = can_tasks(ctx.session.client_capabilities)
        self.said = ""
        self.changed: Callable[[], None] = lambda: None
        self._detached = False
        self._waiters: list[asyncio.Future[None]] = []
        self._numbers = itertools.count(1)
        self._loop = asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()
        self._step = 0.0
        self._logs = 0

    @property
    def modern(self) -> bool:
        """Whether the client speaks in rounds."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def wants_progress(self) -> bool:
        """Whether the client asked to hear how the call goes on."""
        meta: Mapping[str, Any] = self.ctx.meta or {}
        return meta.get("progress_token", meta.get("progressToken")) is not None

    @property
    def interactive(self) -> bool:
        """Whether anything at all can be asked of the client."""
        able = self.ctx.session.client_capabilities
        return able is not None and bool(able.model_fields_set)

    def can(self, what: str) -> bool:
        """Tell whether the client can do ``elicitation``, ``sampling`` or ``roots``."""
        able = self.ctx.session.client_capabilities
        if able is None or getattr(able, what, None) is None:
            return False
        return self.modern or self._detached or self.ctx.session.can_send_request

    async def ask(self, request: Any, result: type[Any], *, key: str = "") -> Any:
        """Send a request to the client, or let it wait for the next round; None: no answer."""
        if not self.modern and not self._detached:
            return await self._sent(self.ctx, request, result)
        key = _KEY.sub("_", key)[:64]
        if not key or key in self.wanted:
            key = f"input-{next(self._numbers)}"
        future: asyncio.Future[Any] = self._loop.create_future()
        self.wanted[key] = Wanted(key, request, result, future)
        self._stir()
        self.changed()
        raw = await future
        if isinstance(raw, result) or raw is None:
            return raw
        try:
            return result.model_validate(raw, by_name=False)
        except ValueError:
            return None  # What is no answer answers nothing.

    @staticmethod
    async def _sent(ctx: Request, request: Any, result: type[Any]) -> Any:
        from mcp.shared.message import ServerMessageMetadata  # noqa: PLC0415 - few calls ask

        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            return await ctx.session.send_request(request, result, metadata=related)
        except (MCPError, NoBackChannelError, ValueError):
            return None

    def next_round(self, ctx: Request, responses: Mapping[str, Any]) -> None:
        """Go on with what the client answered; what it left out stays open."""
        self.ctx = ctx
        self.answer(responses)

    def answer(self, responses: Mapping[str, Any]) -> None:
        """Take answers by key; what was not asked is passed over."""
        for key in list(self.wanted):
            if key in responses:
                one = self.wanted.pop(key)
                _settle(one.answer, responses[key])
        self.changed()

    def detach(self) -> None:
        """Cut off from the request: it is answered, and the work goes on."""
        self._detached = self.watched = True

    async def deliver(self, ctx: Request, meta: Mapping[str, Any]) -> None:
        """Ask what is wanted over a request that waits for the work's end."""
        for key, one in list(self.wanted.items()):
            params = getattr(one.request, "params", None)
            if params is not None:
                one.request.params = params.model_copy(update={"meta": dict(meta)})
            answer = await self._sent(ctx, one.request, one.result)
            self.wanted.pop(key, None)
            _settle(one.answer, answer)
        self.changed()

    async def stirred(self, timeout: float | None = None) -> bool:
        """Wait until something is wanted of the client, or the work is over.

        Returns:
            Whether that came to be within the timeout (seconds).
        """
        if self.wanted or self.finished:
            return True
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        timer = self._loop.call_later(timeout, waiter.cancel) if timeout is not None else None
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() or self._is_cancelled():
                raise
            return False
        finally:
            self._waiters.remove(waiter)
            if timer is not None:
                timer.cancel()
        return True

    @staticmethod
    def _is_cancelled() -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def finish(self) -> None:
        """Say that the work is over."""
        self.finished = True
        self._stir()

    def _stir(self) -> None:
        for waiter in self._waiters:
            _settle(waiter, None)

    def end(self) -> None:
        """Stop waiting for answers that will not come."""
        for one in self.wanted.values():
            _settle(one.answer, None)
        self.wanted.clear()

    # -- progress and logs -------------------------------------------------------------

    async def progress(self, data: Mapping[str, Any]) -> None:
        """Report progress; it always goes on, as the protocol wants it."""
        value, total = data.get("progress"), data.get("total")
        step = float(value) if isinstance(value, int | float) else self._step + 1.0
        if step < self._step or (step == self._step and self._step):
            return
        self._step = step
        message = data.get("message") or None
        if self._detached:
            self.said = str(message or "")[:_MOST_SAID]
            return
        await self.ctx.session.report_progress(step, total, message)

    def log(self, level: str, text: str, logger: str) -> None:
        """Send a line of a tool's log, from whatever thread it is written."""
        if _ORDER.index(level) >= _ORDER.index(self.level):
            self._logs += 1
            self._loop.call_soon_threadsafe(self._log, level, text, logger)

    def _log(self, level: str, text: str, logger: str) -> None:
        task = self._loop.create_task(self._logged(level, text, logger))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _logged(self, level: str, text: str, logger: str) -> None:
        if self._detached:
            return
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await self.ctx.session.send_log_message(
                level,  # type: ignore[arg-type]
                text,
                logger,
                related_request_id=self.ctx.request_id,
            )

    async def flush(self) -> None:
        """Send what was logged before the answer goes out."""
        if self._logs:
            await asyncio.sleep(0)
        if self._sending:
            await asyncio.wait(set(self._sending), timeout=1.0)


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    # No look before: a signal may cancel it between any two steps.
    with contextlib.suppress(asyncio.InvalidStateError):
        future.set_result(value)


class ClientAsk:
    """Asks the user of the client whose call runs."""

    async def question(
        self, text: str, *, options: Sequence[str] = (), default: str | None = None
    ) -> str | None:
        """Return the answer, or None."""
        field: dict[str, Any] = {"type": "string"}
        if options:
            field["enum"] = list(options)
        if default is not None:
            field["default"] = default
        schema = {"type": "object", "properties": {"answer": field}, "required": ["answer"]}
        values = await self.form(text, schema)
        return None if values is None else str(values.get("answer", ""))

    async def form(self, text: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the values of a form, or None."""
        channel = CURRENT.get()
        if channel is None or not channel.can("elicitation"):
            return None
        params = types.ElicitRequestFormParams(message=text, requested_schema=dict(schema))
        request = types.ElicitRequest(params=params)
        key = schema.get("title")
        named = key if isinstance(key, str) else ""
        answer = await channel.ask(request, types.ElicitResult, key=named)
        if answer is None or answer.action != "accept":
            return None
        return answer.content or {}

    async def url(self, text: str, url: str) -> bool:
        """Tell whether the user agreed to open an address."""
        channel = CURRENT.get()
        if channel is None or not channel.can("elicitation"):
            return False
        number = f"url-{id(channel):x}"
        params = types.ElicitRequestURLParams(message=text, url=url, elicitation_id=number)
        answer = await channel.ask(types.ElicitRequest(params=params), types.ElicitResult)
        return answer is not None and answer.action == "accept"


class ClientAgents:
    """Lets the model of the client whose call runs answer, where the client offers that."""

    async def run(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the client's model.

        Raises:
            Unavailable: the client does not offer its model.
        """
        channel = CURRENT.get()
        if task.get("kind") == "mcp.roots":
            return await _roots(channel)
        if task.get("kind") == "mcp.tasks":
            if channel is None or not channel.watched:
                text = "The client does not follow calls that go on after their answer."
                raise Unavailable(text, code="mcp.no_tasks")
            return {}
        if channel is None or not channel.can("sampling"):
            text = "The client does not let servers ask its model."
            raise Unavailable(text, code="mcp.no_sampling")
        messages = task.get("messages") or [
            {"role": "user", "content": {"type": "text", "text": str(task.get("prompt", ""))}}
        ]
        params = types.CreateMessageRequestParams.model_validate(
            {
                "messages": messages,
                "maxTokens": int(task.get("max_tokens") or 1024),
                "systemPrompt": task.get("system"),
                "temperature": task.get("temperature"),
                "stopSequences": task.get("stop"),
            },
            by_name=False,
        )
        request = types.CreateMessageRequest(params=params)
        answer = await channel.ask(request, types.CreateMessageResult)
        if answer is None:
            text = "The client's model was not asked: the user or the client declined."
            raise Unavailable(text, code="mcp.no_sampling")
        content = answer.content
        said = content.text if isinstance(content, types.TextContent) else ""
        return {"text": said, "model": answer.model, "stop_reason": answer.stop_reason}


async def _roots(channel: Channel | None) -> Mapping[str, Any]:
    if channel is None or not channel.can("roots"):
        return {"roots": []}
    answer = await channel.ask(types.ListRootsRequest(), types.ListRootsResult)
    roots = answer.roots if answer is not None else []
    return {"roots": [{"uri": str(root.uri), "name": root.name} for root in roots]}


class Logs(logging.Handler):
    """Sends what a tool logs to the client whose call runs, and to nobody else."""

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        channel = CURRENT.get()
        if channel is None:
            return
        name = record.name.removeprefix("toolcrib.pack.")
        level = _LEVELS.get(record.levelno // 10 * 10, "info")
        try:
            channel.log(level, record.getMessage(), name)
        except Exception:  # noqa: BLE001 - a log line must not end a call
            self.handleError(record)
