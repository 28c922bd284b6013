"""Long work that a server does as a task: followed to its end inside the call.

Both generations are spoken: the calls of 2025-11-25 that ask for a task, and the tasks
extension, with which a server may answer any call so. A cancelled call cancels the task.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types

from mcp import MCPError
from toolcrib import Context, Failed, Uncertain

from .texts import one_line


if TYPE_CHECKING:
    from .connection import Live
    from .server import Server


__all__ = ["Tasks"]

_FINAL = frozenset({"completed", "failed", "cancelled"})
_LEAST, _MOST = 0.05, 10.0


class _Get(types.Request[dict[str, Any], Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: dict[str, Any]


class _Result(types.Request[dict[str, Any], Literal["tasks/result"]]):
    method: Literal["tasks/result"] = "tasks/result"
    params: dict[str, Any]


class _Update(types.Request[dict[str, Any], Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: dict[str, Any]


class _Cancel(types.Request[dict[str, Any], Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: dict[str, Any]


class Tasks:
    """Follows the tasks of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def follow(
        self, ctx: Context, live: Live, raw: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Wait for a task's end, and return the result of the call.

        Raises:
            Failed: the task failed.
            Uncertain: it ended without saying how.
        """
        nested = raw.get("task")
        task = dict(nested if isinstance(nested, Mapping) else raw)
        task_id = task.get("taskId")
        if not isinstance(task_id, str):
            text = f"{self._server.name} started a task and does not say which."
            raise Uncertain(text, code="mcp.task_lost")
        try:
            return await self._followed(ctx, live, task_id, task)
        except asyncio.CancelledError:
            with contextlib.suppress(MCPError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._send(live, _Cancel(params={"taskId": task_id}))
            raise

    async def _followed(
        self, ctx: Context, live: Live, task_id: str, task: dict[str, Any]
    ) -> Mapping[str, Any]:
        answered: set[str] = set()
        while task.get("status") not in _FINAL:
            ctx.report(one_line(task.get("statusMessage") or task.get("status") or "", 500))
            asked = task.get("inputRequests")
            new = (
                {k: v for k, v in asked.items() if k not in answered}
                if isinstance(asked, dict)
                else {}
            )
            if new:
                answers = await self._server.asking.answers(ctx, {"inputRequests": new})
                answered.update(new)
                await self._send(live, _Update(params={"taskId": task_id, **answers}))
            elif task.get("status") == "input_required" and not live.modern:
                # The result's channel carries the questions.
                return await self._send(live, _Result(params={"taskId": task_id}))
            await asyncio.sleep(_interval(task))
            task = dict(await self._send(live, _Get(params={"taskId": task_id})))
        return await self._ended(live, task_id, task)

    async def _ended(
        self, live: Live, task_id: str, task: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        status = task.get("status")
        result = task.get("result")
        if status == "completed" and isinstance(result, Mapping):
            return result
        if status == "completed" and not live.modern:
            return await self._send(live, _Result(params={"taskId": task_id}))
        error = task.get("error")
        said = error.get("message") if isinstance(error, Mapping) else task.get("statusMessage")
        if status == "completed":
            text = f"{self._server.name} finished the task without a result."
            raise Uncertain(text, code="mcp.task_lost")
        text = (
            f"The task of {self._server.name} {status}: {one_line(said or 'no reason given')}"
        )
        raise Failed(text, code="mcp.task_failed")

    async def _send(self, live: Live, message: Any) -> Mapping[str, Any]:
        from .calls import failure, request  # noqa: PLC0415 - calls follow tasks as well

        try:
            return await request(self._server, live, message)
        except MCPError as error:
            raise failure(self._server, live, error) from error


def _interval(task: Mapping[str, Any]) -> float:
    for key in ("pollIntervalMs", "pollInterval"):
        value = task.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return min(max(value / 1000, _LEAST), _MOST)
    return 0.5
