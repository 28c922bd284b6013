"""Calls that go on after they were answered: tasks, in the words of both generations.

In 2025-11-25 a client asks for a task with its call. With the tasks extension of the newer
revision the server decides: a call that takes long is answered with a task, where the
client can do with one. A task is its client's alone and lives as long as the server.
"""

from __future__ import annotations

import asyncio
import secrets
import time

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs
import mcp_types as types

from mcp import MCPError

from .channel import TASKS, Channel


__all__ = ["RELATED", "LongCall", "LongCalls", "needs_tasks"]

RELATED = "io.modelcontextprotocol/related-task"

_MOST = 64
_KEPT = 1800.0
_LONGEST = 4 * 3600.0
_POLL = 500


@attrs.define(eq=False)
class LongCall:
    """One call that goes on.

    Attributes:
        kept: Seconds from its beginning for which it can be asked about.
        listeners: Called with it whenever its status is another one.
    """

    id: str
    work: asyncio.Task[Any]
    channel: Channel
    kept: float
    began: float = attrs.field(factory=time.time)
    changed: float = attrs.field(factory=time.time)
    withdrawn: bool = False
    listeners: list[Callable[[LongCall], None]] = attrs.field(factory=list)
    _last: tuple[str, str] = ("", "")
    _told: str = "working"

    @property
    def status(self) -> str:
        """The state, in the protocol's words; final ones never change."""
        if self.withdrawn or (self.work.done() and self.work.cancelled()):
            return "cancelled"
        if self.work.done():
            return "completed" if self.work.exception() is None else "failed"
        return "input_required" if self.channel.wanted else "working"

    def cancel(self) -> None:
        """Withdraw the call, unless it is over."""
        if not self.work.done():
            self.withdrawn = True
            self.channel.end()
            self.work.cancel()
            self.look()

    def look(self) -> None:
        """Tell its listeners, if its status is another one than they know."""
        if self.status != self._told:
            self._told = self.status
            self._facts()
            for listener in list(self.listeners):
                listener(self)

    def error(self) -> types.ErrorData:
        """Return why it failed."""
        failure = self.work.exception()
        if isinstance(failure, MCPError):
            return failure.error
        return types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error")

    def legacy(self) -> dict[str, Any]:
        """Return the state in the form of 2025-11-25."""
        return {**self._facts(), "ttl": int(self.kept * 1000), "pollInterval": _POLL}

    def modern(self) -> dict[str, Any]:
        """Return the state in the form of the extension."""
        return {**self._facts(), "ttlMs": int(self.kept * 1000), "pollIntervalMs": _POLL}

    def whole(self) -> dict[str, Any]:
        """Return the state with all that belongs to it, in the form of the extension."""
        out = self.modern()
        if out["status"] == "input_required":
            out["inputRequests"] = {
                key: one.request.model_dump(by_alias=True, mode="json", exclude_none=True)
                for key, one in self.channel.wanted.items()
            }
        elif out["status"] == "completed":
            out["result"] = self.work.result()
        elif out["status"] == "failed":
            out["error"] = self.error().model_dump(exclude_none=True)
        return out

    def _facts(self) -> dict[str, Any]:
        now = (self.status, self.channel.said)
        if now != self._last:
            self._last, self.changed = now, time.time()
        facts = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": datetime.fromtimestamp(self.began, UTC).isoformat(),
            "lastUpdatedAt": datetime.fromtimestamp(self.changed, UTC).isoformat(),
        }
        return {**facts, "statusMessage": self.channel.said} if self.channel.said else facts


class LongCalls:
    """The tasks of one client; bounded, and each is kept for as long as was said."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._calls: dict[str, LongCall] = {}

    def keep(
        self, work: asyncio.Task[Any], channel: Channel, *, ttl: float | None = None
    ) -> LongCall | None:
        """Make a task of a call that runs; None if there are too many.

        Args:
            work: The call.
            channel: Its way to the client, which is cut off from the request here.
            ttl: Seconds that the client wants it kept.
        """
        self.tidy()
        if len(self._calls) >= _MOST:
            return None
        channel.detach()
        kept = min(ttl, _LONGEST) if ttl else _KEPT
        made = LongCall(secrets.token_urlsafe(24), work, channel, kept, self._clock())
        self._calls[made.id] = made
        channel.changed = made.look
        work.add_done_callback(lambda _: made.look())
        made.look()
        return made

    def find(self, task_id: str) -> LongCall:
        """Return a task.

        Raises:
            MCPError: this client has none of that id.
        """
        self.tidy()
        found = self._calls.get(task_id)
        if found is None:
            raise _no_such_task()
        return found

    def all(self) -> list[LongCall]:
        """Return every task, oldest first."""
        self.tidy()
        return list(self._calls.values())

    @property
    def working(self) -> bool:
        """Whether any of them still runs."""
        return any(not each.work.done() for each in self.all())

    def tidy(self) -> None:
        """Forget what was kept for long enough; what still runs then is withdrawn."""
        now = self._clock()
        for each in list(self._calls.values()):
            if now > each.began + each.kept:
                each.cancel()
                del self._calls[each.id]

    async def close(self) -> None:
        """Withdraw everything."""
        calls = list(self._calls.values())
        self._calls.clear()
        for each in calls:
            each.cancel()
        if calls:
            await asyncio.wait([each.work for each in calls])


def _no_such_task() -> MCPError:
    """Return the answer about a task that this client does not have."""
    return MCPError(code=types.INVALID_PARAMS, message="there is no such task")


def needs_tasks() -> MCPError:
    """Return the answer to a client that asks for tasks and did not say it knows them."""
    data: Mapping[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    text = f"a client that declares {TASKS} is needed"
    return MCPError(
        code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message=text, data=dict(data)
    )
