"""Streams on which a client of the newer revision hears what has changed.

What is told is that something changed, or how a task stands now. So what a client has not
taken yet is told once, as it is by then, and never becomes more than what can change.
"""

from __future__ import annotations

import asyncio
import functools

from collections.abc import Callable
from typing import Any, Literal

import attrs
import mcp_types as types

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ServerEvent,
    event_matches,
    event_to_notification,
)

from .channel import can_tasks
from .longcalls import LongCall, LongCalls, needs_tasks


__all__ = ["Listening"]

_MOST_STREAMS = 64
_MOST_NAMED = 1000


Told = Callable[[dict[str, Any]], Any]


class _TaskChanged(types.Notification[dict[str, Any], Literal["notifications/tasks"]]):
    method: Literal["notifications/tasks"] = "notifications/tasks"


@attrs.define(eq=False)
class _Stream:
    """One open stream.

    Attributes:
        pending: What is to be told, in the order in which it came to be.
    """

    wanted: types.SubscriptionFilter
    uris: frozenset[str]
    pending: dict[Any, Told] = attrs.field(factory=dict)
    closed: bool = False
    _stirred: asyncio.Event = attrs.field(factory=asyncio.Event)

    def tell(self, key: Any, told: Told) -> None:
        """Let something be told, once, as it is when its turn comes."""
        self.pending.setdefault(key, told)
        self._stirred.set()

    def close(self) -> None:
        """End after what is pending."""
        self.closed = True
        self._stirred.set()

    async def next(self) -> Told | None:
        """Return what makes the next thing to tell; None at the end."""
        while not self.pending:
            if self.closed:
                return None
            self._stirred.clear()
            await self._stirred.wait()
        return self.pending.pop(next(iter(self.pending)))


class Listening:
    """The streams of one client."""

    def __init__(self) -> None:
        self._streams: set[_Stream] = set()

    def __bool__(self) -> bool:
        return bool(self._streams)

    def publish(self, event: ServerEvent) -> None:
        """Tell of a change wherever that is wanted."""
        for stream in self._streams:
            if event_matches(stream.wanted, stream.uris, event):
                stream.tell(event, functools.partial(event_to_notification, event))

    def close(self) -> None:
        """End every stream."""
        for stream in self._streams:
            stream.close()

    async def serve(
        self,
        ctx: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
        tasks: LongCalls,
    ) -> types.SubscriptionsListenResult:
        """Serve one stream, until its client leaves or it is closed.

        Raises:
            MCPError: the client has too many, or names too much, or knows no tasks.
        """
        asked = params.notifications
        uris = list(asked.resource_subscriptions or ())
        ids = (asked.model_extra or {}).get("taskIds")
        ids = list(map(str, ids)) if isinstance(ids, list) else []
        if ids and not can_tasks(ctx.session.client_capabilities):
            raise needs_tasks()
        if len(self._streams) >= _MOST_STREAMS or len(uris) + len(ids) > _MOST_NAMED:
            message = "too many subscriptions; end one first"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        known = {each.id: each for each in tasks.all()}
        named = [known[each] for each in dict.fromkeys(ids) if each in known]
        wanted = types.SubscriptionFilter(
            tools_list_changed=asked.tools_list_changed or None,
            prompts_list_changed=asked.prompts_list_changed or None,
            resources_list_changed=asked.resources_list_changed or None,
            resource_subscriptions=uris or None,
            **({"taskIds": [each.id for each in named]} if named else {}),
        )
        stream = _Stream(wanted, frozenset(uris))
        return await self._run(ctx, stream, named)

    async def _run(
        self, ctx: ServerRequestContext[Any, Any], stream: _Stream, tasks: list[LongCall]
    ) -> types.SubscriptionsListenResult:
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}

        def changed(task: LongCall) -> None:
            stream.tell(task, lambda meta: _TaskChanged(params={**task.whole(), "_meta": meta}))

        self._streams.add(stream)
        for task in tasks:
            task.listeners.append(changed)
            if task.status != "working":
                changed(task)
        try:
            told: Any = types.SubscriptionsAcknowledgedNotification(
                params=types.SubscriptionsAcknowledgedNotificationParams(
                    notifications=stream.wanted, _meta=meta
                )
            )
            await ctx.session.send_notification(told, related_request_id=ctx.request_id)
            while (make := await stream.next()) is not None:
                told = make(meta)
                await ctx.session.send_notification(told, related_request_id=ctx.request_id)
        finally:
            self._streams.discard(stream)
            for task in tasks:
                task.listeners.remove(changed)
        return types.SubscriptionsListenResult(_meta=meta)
