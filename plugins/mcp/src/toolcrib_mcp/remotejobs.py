"""Tasks of servers as jobs: a call that takes long ends, and its work goes on.

The job follows the task at its server. That of a remote server outlives this process: the
next one that knows the kind asks the server how it stands.
"""

from __future__ import annotations

import asyncio
import json

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib import Context, Failed, LostError, Result, Text, ToolFailure

from .tasks import Begun, Follower, begun
from .texts import one_line


if TYPE_CHECKING:
    from .server import Server


__all__ = ["KIND", "RemoteJobs", "as_job", "raw_of"]

KIND = "mcp.task"
"""Name of the job kind."""

_MOST_KEPT = 4 * 1024 * 1024
_MARGIN = 1.0
_FINAL = frozenset({"done", "failed", "stopped", "lost"})


class RemoteJobs:
    """The job kind.

    Args:
        find: From a server's name to the server; raises if there is none.

    Attributes:
        callers: The calls that began what this process follows, by server and task.
        waiting: Of these, the ones that still wait; they hear how it goes.
        ended: What such a call was told last: a raw result, or how it failed.
    """

    name = KIND

    def __init__(self, find: Callable[[str], Server]) -> None:
        self._find = find
        self.callers: dict[tuple[str, str], Context] = {}
        self.waiting: set[tuple[str, str]] = set()
        self.ended: dict[tuple[str, str], Mapping[str, Any] | Exception] = {}

    async def run(self, control: Any, arguments: Mapping[str, Any]) -> Any:
        """Follow a task to its end."""
        return await self._follow(control, arguments, dict(arguments["state"]))

    async def adopt(self, control: Any, arguments: Mapping[str, Any]) -> Any:
        """Follow a task that another process began.

        Raises:
            LostError: its server is not there any more, or does not know it.
        """
        return await self._follow(control, arguments, {})

    async def _follow(
        self, control: Any, arguments: Mapping[str, Any], state: Mapping[str, Any]
    ) -> Any:
        name, task_id = str(arguments["server"]), str(arguments["task"])
        try:
            server = self._find(name)
        except ToolFailure as error:
            raise LostError(str(error)) from error
        await server.connection.settled()
        key = (name, task_id)

        def say(text: str) -> None:
            control.write(text.encode() + b"\n")
            if key in self.waiting:
                self.callers[key].report(text)

        follower = Follower(
            server,
            Begun(task_id, str(arguments["created"]), state),
            ctx=self.callers.get(key),
            say=say,
        )
        try:
            raw = await follower.follow()
        except asyncio.CancelledError:
            # A remote server goes on without this process, and the next one asks it.
            if not (getattr(control, "leaving", False) and server.config.remote):
                await follower.cancel()
            raise
        except Exception as error:
            self._tell(key, error)
            raise
        finally:
            self.callers.pop(key, None)
        self._tell(key, raw)
        return {"server": name, "tool": arguments["tool"], "raw": _bounded(raw)}

    def _tell(self, key: tuple[str, str], what: Mapping[str, Any] | Exception) -> None:
        if key in self.waiting:
            self.ended[key] = what


async def as_job(
    server: Server, ctx: Context, tool: str, raw: Mapping[str, Any]
) -> Mapping[str, Any] | Result:
    """Follow the task that a call was answered with, as a job of the conversation.

    Returns:
        The raw result, if the task ended while the call may wait; else what tells which
        job goes on.
    """
    task = begun(server.name, raw)
    kind: RemoteJobs = ctx.jobs.register(server.jobs)
    key = (server.name, task.id)
    kind.callers[key] = ctx
    kind.waiting.add(key)
    try:
        try:
            job = await ctx.jobs.start(KIND, _arguments(server, tool, task))
        except ToolFailure:
            # As many jobs run as may. The server has begun, so the call follows it itself.
            return await _followed(server, ctx, task)
        return await _ended(server, ctx, kind, key, job.id)
    finally:
        kind.waiting.discard(key)
        kind.ended.pop(key, None)


def _arguments(server: Server, tool: str, task: Begun) -> dict[str, Any]:
    state = {k: v for k, v in task.state.items() if k != "_meta"}
    return {
        "server": server.name,
        "tool": tool,
        "task": task.id,
        "created": task.created,
        "state": state if len(json.dumps(state, default=str)) < 65536 else {},
    }


async def _followed(server: Server, ctx: Context, task: Begun) -> Mapping[str, Any]:
    follower = Follower(server, task, ctx=ctx, say=ctx.report)
    try:
        return await follower.follow()
    except asyncio.CancelledError:
        await follower.cancel()
        raise


async def _ended(
    server: Server, ctx: Context, kind: RemoteJobs, key: tuple[str, str], job_id: str
) -> Mapping[str, Any] | Result:
    try:
        record = await ctx.jobs.wait(job_id, timeout=_patience(server, ctx))
    except asyncio.CancelledError:
        await ctx.jobs.stop(job_id)
        raise
    if record.status not in _FINAL:
        text = (
            f"{server.name} has not finished; it goes on as the job {job_id}. "
            f"Do something else meanwhile; mcp.tasks with this job shows how it stands, "
            "waits for it, and gives the result."
        )
        return Result(f"goes on as {job_id}", [Text(text)], metadata={"job": job_id})
    told = kind.ended.get(key)
    if isinstance(told, LostError):
        raise ConnectionError(str(told)) from told
    if isinstance(told, Exception):
        raise told
    if told is None:
        text = f"The task of {server.name} was stopped."
        raise Failed(text, code="mcp.task_failed")
    return told


def _patience(server: Server, ctx: Context) -> float:
    """Return for how many seconds a call waits for a task before it leaves it as a job."""
    if ctx.deadline is None:
        return server.config.task_wait
    left = ctx.deadline - ctx.host.clock.monotonic()
    return max(min(server.config.task_wait, left - min(_MARGIN, left / 4)), 0.0)


def _bounded(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a raw result that is small enough to be kept with the job."""
    try:
        size = len(json.dumps(raw))
    except (TypeError, ValueError, RecursionError):
        size = _MOST_KEPT + 1
    if size <= _MOST_KEPT:
        return dict(raw)
    text = f"[the result of {size} bytes is too large to be kept with the job]"
    return {"content": [{"type": "text", "text": text}], "isError": raw.get("isError") is True}


def raw_of(result: Any) -> tuple[str, str, Mapping[str, Any]] | None:
    """Return server, tool and raw result of a job that is done, if it is one of these."""
    if not isinstance(result, Mapping) or not isinstance(result.get("raw"), Mapping):
        return None
    return one_line(result.get("server")), one_line(result.get("tool")), result["raw"]
