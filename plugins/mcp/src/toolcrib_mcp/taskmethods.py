"""The methods with which a client follows its tasks, of both generations."""

from __future__ import annotations

import asyncio
import functools

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import mcp_types as types

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .channel import Channel, can_tasks
from .gateway import Client
from .longcalls import RELATED, LongCall, needs_tasks


__all__ = ["FIRST", "TaskMethods"]

Context = ServerRequestContext[Any, Any]
Find = Callable[[Context], Awaitable[Client]]

FIRST = "2025-11-25"
"""The only revision of the first generation."""

_CAPABILITY = types.ServerTasksCapability(
    list=types.TasksListCapability(),
    cancel=types.TasksCancelCapability(),
    requests=types.ServerTasksRequestsCapability(
        tools=types.TasksToolsCapability(call=types.TasksCallCapability())
    ),
)


class _Update(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] = {}  # noqa: RUF012 - a field of a model


class _Status(types.Notification[dict[str, Any], Literal["notifications/tasks/status"]]):
    method: Literal["notifications/tasks/status"] = "notifications/tasks/status"


class TaskMethods:
    """Answers ``tasks/…``.

    Args:
        client: From a request to its client.
    """

    capability = _CAPABILITY

    def __init__(self, client: Find) -> None:
        self._client = client
        self._sending: set[asyncio.Task[None]] = set()

    def add_to(self, server: Server[Any]) -> None:
        """Let a server answer the methods, and calls that ask for a task."""
        server.add_request_handler("tasks/get", types.GetTaskRequestParams, self._get)
        server.add_request_handler("tasks/cancel", types.CancelTaskRequestParams, self._cancel)
        server.add_request_handler("tasks/update", _Update, self._update)
        server.add_request_handler(
            "tasks/result", types.GetTaskPayloadRequestParams, self._result
        )
        server.add_request_handler("tasks/list", types.PaginatedRequestParams, self._list)
        # The SDK knows no result of this kind for the older revision, and leaves alone
        # what is answered here.
        server.middleware.append(self._called)

    async def _called(self, ctx: Context, call_next: Any) -> Any:
        """Answer a call of the first generation that asks for a task."""
        params = ctx.params or {}
        asked = params.get("task")
        if (
            ctx.method != "tools/call"
            or ctx.protocol_version != FIRST
            or not isinstance(asked, dict)
        ):
            return await call_next(ctx)
        typed = types.CallToolRequestParams.model_validate(params, by_name=False)
        ttl = asked.get("ttl")
        seconds = ttl / 1000 if isinstance(ttl, int | float) and ttl > 0 else None
        client = await self._client(ctx)
        made = await client.begin(Channel(ctx, level=client.level), typed, ttl=seconds)
        made.listeners.append(functools.partial(self._told, ctx))
        return {"task": made.legacy()}

    def _told(self, ctx: Context, task: LongCall) -> None:
        """Tell the client that asked for a task how it stands, if it can hear it."""
        told: Any = _Status(params=task.legacy())
        sending = asyncio.get_running_loop().create_task(ctx.session.send_notification(told))
        self._sending.add(sending)
        sending.add_done_callback(self._sent)

    def _sent(self, sending: asyncio.Task[None]) -> None:
        self._sending.discard(sending)
        if not sending.cancelled():
            sending.exception()  # It may be gone; it asks if it wants to know.

    async def _find(self, ctx: Context, task_id: str, *, both: bool = True) -> LongCall:
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            if not can_tasks(ctx.session.client_capabilities):
                raise needs_tasks()
            _check_name(ctx, task_id)
        elif ctx.protocol_version != FIRST or not both:
            raise _unknown_method(ctx)
        return (await self._client(ctx)).long.find(task_id)

    async def _get(self, ctx: Context, params: types.GetTaskRequestParams) -> Any:
        found = await self._find(ctx, params.task_id)
        return found.legacy() if ctx.protocol_version == FIRST else found.whole()

    async def _cancel(self, ctx: Context, params: types.CancelTaskRequestParams) -> Any:
        found = await self._find(ctx, params.task_id)
        if ctx.protocol_version != FIRST:
            found.cancel()
            return {}
        if found.work.done() or found.withdrawn:
            message = f"the task is over: {found.status}"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        found.cancel()
        return found.legacy()

    async def _update(self, ctx: Context, params: _Update) -> Any:
        found = await self._find(ctx, params.task_id, both=False)
        found.channel.answer(params.input_responses)
        return {}

    async def _result(self, ctx: Context, params: types.GetTaskPayloadRequestParams) -> Any:
        """Wait for the end; what the call asks meanwhile is asked over this request."""
        if ctx.protocol_version != FIRST:
            raise _unknown_method(ctx)
        found = await self._find(ctx, params.task_id)
        related = {RELATED: {"taskId": found.id}}
        while not (found.withdrawn or found.work.done()):
            await found.channel.stirred()
            await found.channel.deliver(ctx, related)
        if found.status == "cancelled":
            raise MCPError(code=types.INVALID_REQUEST, message="the task was cancelled")
        if found.status == "failed":
            raise MCPError.from_error_data(found.error())
        result = found.work.result()
        return {**result, "_meta": {**result.get("_meta", {}), **related}}

    async def _list(self, ctx: Context, params: types.PaginatedRequestParams) -> Any:
        if ctx.protocol_version != FIRST:
            raise _unknown_method(ctx)
        client = await self._client(ctx)
        return {"tasks": [each.legacy() for each in client.long.all()]}


def _unknown_method(ctx: Context) -> MCPError:
    return MCPError(code=types.METHOD_NOT_FOUND, message="Method not found", data=ctx.method)


def _check_name(ctx: Context, task_id: str) -> None:
    """See to it that the header by which requests are routed names the same task."""
    if ctx.request is None:
        return
    if decode_header_value(ctx.request.headers.get(MCP_NAME_HEADER)) != task_id:
        message = f"{MCP_NAME_HEADER} header does not match the request body's 'taskId'"
        raise MCPError(code=types.HEADER_MISMATCH, message=message)
