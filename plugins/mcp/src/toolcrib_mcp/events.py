"""Answers that wait for clients that come back for them; bounded, the oldest go first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore


__all__ = ["Kept"]

_MOST = 10_000


class Kept(EventStore):
    """Keeps what was sent on each stream, so that it can be sent again from a place on."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._number = 0
        self._events: OrderedDict[int, tuple[str, Any]] = OrderedDict()

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep one message and return its place."""
        self._number += 1
        self._events[self._number] = (stream_id, message)
        while len(self._events) > self._most:
            self._events.popitem(last=False)
        return str(self._number)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send again what came after a place on the same stream."""
        known = self._events.get(int(last_event_id)) if last_event_id.isdigit() else None
        if known is None:
            return None
        stream = known[0]
        for number, (other, message) in list(self._events.items()):
            if other == stream and number > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
