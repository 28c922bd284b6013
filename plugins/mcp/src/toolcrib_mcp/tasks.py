"""Long work that a server does as a task: asked about until it ends.

Both generations are spoken: the calls of 2025-11-25 that ask for a task, and the tasks
extension, with which a server may answer any call so.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs
import mcp_types as types

from mcp import MCPError
from toolcrib import Context, Failed, LostError, ToolFailure, Transient, Uncertain

from .calls import Lost, failure, request
from .listing import ANY
from .texts import one_line


if TYPE_CHECKING:
    from .connection import Live
    from .server import Server


__all__ = ["Begun", "Follower", "begun"]

_FINAL = frozenset({"completed", "failed", "cancelled"})
_LEAST, _MOST = 0.05, 10.0
_STOPPING = 1.0
_AGAIN = 1.0


class _Asked(types.Request[dict[str, Any], str]):
    # Requests are routed by this, where they go over HTTP.
    name_param: ClassVar[str | None] = "taskId"


class _Get(_Asked):
    method: Literal["tasks/get"] = "tasks/get"


class _Result(_Asked):
    method: Literal["tasks/result"] = "tasks/result"


class _Update(_Asked):
    method: Literal["tasks/update"] = "tasks/update"


class _Cancel(_Asked):
    method: Literal["tasks/cancel"] = "tasks/cancel"


class _Listen(types.Request[dict[str, Any], str]):
    method: Literal["subscriptions/listen"] = "subscriptions/listen"


@attrs.frozen
class Begun:
    """A task that a server has begun.

    Attributes:
        created: When, in the server's words; with the id it tells whether it is the same.
        state: What the server said of it last.
    """

    id: str
    created: str
    state: Mapping[str, Any] = attrs.field(factory=dict)


def begun(server: str, raw: Mapping[str, Any]) -> Begun:
    """Read which task a server has begun.

    Raises:
        Uncertain: it does not say which.
    """
    nested = raw.get("task")
    state = nested if isinstance(nested, Mapping) else raw
    task_id = state.get("taskId")
    if not isinstance(task_id, str) or not 0 < len(task_id) <= 1024:
        text = f"{server} started a task and does not say which."
        raise Uncertain(text, code="mcp.task_lost")
    return Begun(task_id, one_line(state.get("createdAt", ""), 100), state)


class Follower:
    """Follows one task to its end.

    Args:
        server: Who does it.
        task: Which.
        ctx: The call that began it, whose person is asked; None after a restart.
        say: Called with each new word on how it goes.
    """

    def __init__(
        self,
        server: Server,
        task: Begun,
        *,
        ctx: Context | None,
        say: Callable[[str], None],
    ) -> None:
        self._server = server
        self._task = task
        self._ctx = ctx
        self._say = say
        self._answered: set[str] = set()
        self._said = ""
        self._news = asyncio.Event()

    async def follow(self) -> Mapping[str, Any]:
        """Wait for the task's end, and return the raw result of the call.

        Raises:
            Failed: it failed, was cancelled, or took too long.
            LostError: nobody can tell how it ended.
            Uncertain: it ended without saying how.
        """
        limit = self._server.config.task_lifetime
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                with self._server.news.of(self._task.id) as self._news:
                    return await self._listening(self._to_end())
        except TimeoutError:
            if not scope.expired():
                raise
            await self.cancel()
            text = f"The task took longer than {limit:g} s; {self._server.name} was told so."
            raise Failed(text, code="mcp.task_failed") from None

    async def cancel(self) -> None:
        """Tell the server to stop; what it makes of it is its own."""
        live = self._server.connection.live
        if live is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_STOPPING):
                    await self._send(live, _Cancel)

    async def _listening(self, work: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Hear of the task while it is followed, where that has to be asked for."""
        hearing = asyncio.create_task(self._hear())
        try:
            return await work
        finally:
            hearing.cancel()
            await asyncio.wait({hearing}, timeout=_STOPPING)

    async def _hear(self) -> None:
        """Ask to be told of the task, once for each connection; who refuses is only asked."""
        known = None
        while True:
            live = self._server.connection.live
            if live is not None and live is not known and live.modern:
                known = live
                params = {"notifications": {"taskIds": [self._task.id]}}
                with contextlib.suppress(Exception):
                    await live.session.send_request(_Listen(params=params), ANY)
            await asyncio.sleep(_AGAIN)

    async def _to_end(self) -> Mapping[str, Any]:
        task = dict(self._task.state)
        while task.get("status") not in _FINAL:
            self._tell(task)
            live = await self._live()
            new = self._questions(task)
            if new and self._ctx is not None:
                answers = await self._server.asking.answers(self._ctx, {"inputRequests": new})
                self._answered.update(new)
                await self._send(live, _Update, **answers)
            elif task.get("status") == "input_required" and not live.modern and self._ctx:
                # The result's channel carries the questions.
                return await self._result(live)
            await self._pause(_interval(task))
            task = await self._state()
        return await self._ended(task)

    async def _pause(self, seconds: float) -> None:
        """Wait for so long, or until the server tells something of the task."""
        # However much it tells, it is not asked more often.
        await asyncio.sleep(_LEAST)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds - _LEAST):
                await self._news.wait()
        self._news.clear()

    def _questions(self, task: Mapping[str, Any]) -> dict[str, Any]:
        asked = task.get("inputRequests")
        if not isinstance(asked, Mapping):
            return {}
        return {key: one for key, one in asked.items() if key not in self._answered}

    def _tell(self, task: Mapping[str, Any]) -> None:
        said = one_line(task.get("statusMessage") or task.get("status") or "", 500)
        if said != self._said:
            self._said = said
            self._say(said)

    async def _live(self) -> Live:
        """Return the connection, once there is one again."""
        connection = self._server.connection
        while True:
            live = connection.live
            if live is not None and not live.tap.ended and connection.state == "connected":
                return live
            if not self._server.config.remote or connection.state in {"failed", "closed"}:
                text = f"the connection to {self._server.name} was lost, and its task with it"
                raise LostError(text)
            await asyncio.sleep(0.1)

    async def _state(self) -> dict[str, Any]:
        """Ask how the task stands, again if the connection is lost meanwhile."""
        while True:
            live = await self._live()
            try:
                task = dict(await self._send(live, _Get))
            except (Lost, Transient, TimeoutError):
                await asyncio.sleep(0.1)
                continue
            except ToolFailure as error:
                text = f"{self._server.name} does not know the task any more: {error}"
                raise LostError(text) from error
            created = task.get("createdAt")
            known = self._task.created
            if known and isinstance(created, str) and one_line(created, 100) != known:
                text = f"{self._server.name} has another task of that id now"
                raise LostError(text)
            return task

    async def _result(self, live: Live) -> Mapping[str, Any]:
        if self._ctx is None:
            return await self._send(live, _Result)
        self._server.asking.begin(self._ctx)
        try:
            return await self._send(live, _Result)
        finally:
            self._server.asking.end(self._ctx)

    async def _ended(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        name, status, result = self._server.name, task.get("status"), task.get("result")
        if status == "completed" and isinstance(result, Mapping):
            return result
        if status == "completed":
            live = await self._live()
            if not live.modern:
                return await self._result(live)
            text = f"{name} finished the task without a result."
            raise Uncertain(text, code="mcp.task_lost")
        error = task.get("error")
        said = error.get("message") if isinstance(error, Mapping) else task.get("statusMessage")
        text = f"The task of {name} {status}: {one_line(said or 'no reason given')}"
        raise Failed(text, code="mcp.task_failed")

    async def _send(self, live: Live, kind: type[Any], **more: Any) -> Mapping[str, Any]:
        message = kind(params={"taskId": self._task.id, **more})
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
