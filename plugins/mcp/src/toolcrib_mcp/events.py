"""Answers that wait for clients that come back for them; bounded, the oldest go first."""

from __future__ import annotations

from collections import OrderedDict, deque
from contextvars import ContextVar
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCError, JSONRPCResponse


__all__ = ["LOG", "Kept", "Log"]

# Answers that are kept, and messages before each of them.
_MOST = 100
_MOST_OF_ONE = 200
_LONGEST_NUMBER = 18


class Log:
    """What was sent on the streams of one session.

    The SDK names a stream by the number of its request, and every client counts from one:
    without a log of its own, a session that comes back would be sent what others were.
    An answer is kept until so many others came after it, however long it was waited for.
    """

    def __init__(self) -> None:
        self._number = 0
        self._streams: dict[str, deque[tuple[int, Any]]] = {}
        # Those whose answer is known, in the order of answers.
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, stream: str) -> None:
        """Forget what was sent to a request of the same number, if that is over."""
        if stream in self._ended:
            self._forget(stream)

    def add(self, stream: str, message: Any) -> str:
        """Keep one message and return its place."""
        self._number += 1
        kept = self._streams.setdefault(stream, deque(maxlen=_MOST_OF_ONE))
        kept.append((self._number, message))
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._ended[stream] = None
        if len(self._ended) > _MOST:
            self._forget(next(iter(self._ended)))
        return str(self._number)

    def _forget(self, stream: str) -> None:
        self._ended.pop(stream)
        self._streams.pop(stream, None)

    def after(self, place: str) -> tuple[str, list[tuple[int, Any]]] | None:
        """Return the stream of a place, and what came after it on that stream."""
        if not (place.isascii() and place.isdigit() and len(place) <= _LONGEST_NUMBER):
            return None
        for stream, kept in self._streams.items():
            later = [each for each in kept if each[0] >= int(place)]
            if later and later[0][0] == int(place):
                return stream, [each for each in later[1:] if each[1] is not None]
        return None


LOG: ContextVar[Log | None] = ContextVar("toolcrib_mcp_log", default=None)
"""The log of the session that a request belongs to, or that it begins.

What runs for a session is started by the request that begins it, and so finds its log.
"""


class Kept(EventStore):
    """Keeps what was sent, so that it can be sent again from a place on."""

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep one message and return its place."""
        log = LOG.get()
        return log.add(stream_id, message) if log is not None else "0"

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send again what came after a place on the same stream."""
        log = LOG.get()
        found = log.after(last_event_id) if log is not None else None
        if found is None:
            return None
        stream, later = found
        for number, message in later:
            await send_callback(EventMessage(message, str(number)))
        return stream
