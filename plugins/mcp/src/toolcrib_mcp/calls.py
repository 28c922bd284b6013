"""One call of a remote tool: queued, bounded in time, cancelled for real, honest when lost."""

from __future__ import annotations

import asyncio

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

import mcp_types as types

from mcp import MCPError
from toolcrib import (
    Context,
    Failed,
    Invalid,
    NotFound,
    Result,
    ToolFailure,
    Transient,
    Unavailable,
)

from . import remote
from .connection import Live
from .listing import ANY
from .results import normal
from .stdio import OVERSIZE
from .texts import one_line, told
from .wire import RAW


if TYPE_CHECKING:
    from .server import Server


__all__ = ["MOST_ROUNDS", "Lost", "call", "failure", "request"]

MOST_ROUNDS = 10
_MOST_REPORTS = 256


class Lost(ConnectionError):  # noqa: N818 - it says what is so
    """Raised when a request was sent and its answer cannot come any more.

    A call with effects ends as *uncertain*; only one that is idempotent, by the word of a
    server that policy trusts, is tried again.
    """


async def call(server: Server, ctx: Context, tool: str, arguments: dict[str, Any]) -> Result:
    """Call a tool and return its whole result."""
    async with server.turn(ctx):
        live = server.connection.require()
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if tool in server.offer.tasks and not live.modern:
            params["task"] = {"ttl": int(server.config.task_lifetime * 1000)}
        for _ in range(MOST_ROUNDS):
            raw = await _once(server, ctx, live, params)
            if raw.get("resultType") == "task" or "task" in raw:
                from .remotejobs import as_job  # noqa: PLC0415 - it follows by requests

                found = await as_job(server, ctx, tool, raw)
                if isinstance(found, Result):
                    return found
                raw = found
            if raw.get("resultType") != "input_required":
                schema = server.output_schema(tool)
                return await normal(ctx, server.name, raw, schema, server.validators)
            params = {**params, **await server.asking.answers(ctx, raw)}
            # The server keeps nothing between the rounds, so each may go to a new opening.
            live = server.connection.require()
    text = (
        f"{server.name} asked for input more than {MOST_ROUNDS} times; the call was given up."
    )
    raise Failed(text, code="mcp.too_many_rounds")


async def _once(
    server: Server, ctx: Context, live: Live, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    try:
        return await _asked(server, ctx, live, params)
    except MCPError as error:
        if error.code in {OVERSIZE, remote.OVERSIZE_REPLY}:
            return {"content": [{"type": "text", "text": f"[{told(error.message)}]"}, None]}
        if error.code == types.URL_ELICITATION_REQUIRED and isinstance(error.error.data, dict):
            await server.asking.urls(ctx, error.error.data)
            return await _asked(server, ctx, live, params)
        raise failure(server, live, error, tool=str(params["name"])) from error


async def _asked(
    server: Server, ctx: Context, live: Live, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    if live.modern:
        body = types.CallToolRequestParams.model_validate(params, by_name=False)
        return await request(server, live, types.CallToolRequest(params=body), ctx=ctx)
    idle = _Idle(server.config.idle_timeout)
    reports = _Reports(ctx, idle)
    raw = await idle.wait(live.tap.ask("tools/call", params, live.version, reports))
    return raw if isinstance(raw, Mapping) else {}


async def request(
    server: Server, live: Live, message: Any, *, ctx: Context | None = None
) -> Mapping[str, Any]:
    """Send a request with an idle limit, and return its raw result.

    Raises:
        MCPError: the server answered an error.
        Lost: the answer cannot come any more.
    """
    idle = _Idle(server.config.idle_timeout)
    answer = await idle.wait(
        live.session.send_request(
            message, ANY, progress_callback=_Reports(ctx, idle) if ctx is not None else None
        )
    )
    meta = answer.get("_meta") or {}
    return live.tap.taken(meta) if RAW in meta else answer


class _Reports:
    """Progress of a call: keeps it alive, and tells whoever waits."""

    def __init__(self, ctx: Context | None, idle: _Idle) -> None:
        self._ctx = ctx
        self._idle = idle
        self._told = 0
        self._last = float("-inf")

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        if progress <= self._last:
            return  # It does not go on, so it keeps nothing alive.
        self._last = progress
        self._idle.alive()
        self._told += 1
        if self._ctx is not None and self._told <= _MOST_REPORTS:
            whole = total if total and total > 0 else None
            text = one_line(message, 500) if message else ""
            self._ctx.report(text, progress=progress, total=whole)


class _Idle:
    """Bounds the time without progress; the call's own deadline is the core's."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope: asyncio.Timeout | None = None

    def alive(self) -> None:
        """Start to count again."""
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self._seconds)

    async def wait(self, work: Awaitable[Any]) -> Any:
        """Wait for work; whatever ends the waiting is told to the server first."""
        scope = self._scope = asyncio.timeout(self._seconds)
        try:
            async with scope:
                return await work
        except TimeoutError:
            if not scope.expired():
                raise
            seconds = self._seconds
            text = f"no answer and no progress for {seconds:g} s; the server was told to stop"
            raise TimeoutError(text) from None


def failure(server: Server, live: Live, error: MCPError, *, tool: str = "") -> Exception:
    """Return what an error of the protocol means for a call."""
    text = told(server.hide(error.message))
    code = error.code
    if code == remote.NOT_SENT:
        server.connection.reconnect(text)
        return Transient(f"{server.name} cannot be reached ({text}). Nothing was sent.")
    if _was_lost(live, error):
        return Lost(f"the connection to {server.name} was lost: {text}")
    if text == "Session terminated" or (code == -32001 and "session" in text.lower()):
        # The server does not know the session: it looked at nothing else of the request.
        server.connection.reconnect("the server ended the session")
        return Transient(f"{server.name} ended the session. Nothing was done.")
    if code == remote.FORBIDDEN:
        text = f"{server.name} wants a login ({text}). Ask the user to log in again."
        return Unavailable(text, code="mcp.login")
    if code == types.INVALID_PARAMS:
        return Invalid(
            "", f"{server.name} does not accept the call: {text}", code="mcp.invalid"
        )
    if code == types.METHOD_NOT_FOUND:
        return NotFound(f"{server.name} has no such thing: {text}", code="mcp.not_found")
    return _other(server, text)


def _other(server: Server, text: str) -> ToolFailure:
    said = text or "an error without words"
    return Failed(f"{server.name} answered an error: {said}", code="mcp.error")


def _was_lost(live: Live, error: MCPError) -> bool:
    """Tell a lost answer from an error of the server that happens to have the same code."""
    if error.code == remote.LOST or error.message.startswith("Failed to parse JSON response"):
        return True
    if error.code != types.CONNECTION_CLOSED:
        return False
    return live.tap.ended or error.message.startswith(("SSE stream", "Connection closed"))
