"""An HTTP protocol for uvicorn that bounds what a connection takes: bytes, time and room.

Whoever is at the other end may have shown no token yet, and need not go on. So a request's
head and body come in time, answers are taken in time, and only so many connections are
open at once.
"""

from __future__ import annotations

import asyncio
import math

from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .crowd import HOLDER, room, to_make_room


__all__ = ["ReceivingProtocol"]

_HEAD = 64 * 1024
# Bytes that may stand around each byte of a body: chunks of one byte have five.
_FRAMES = 16
# What the parser written in Python awaits of the client, by the name of its state.
_PARTS = {"IDLE": "head", "SEND_BODY": "body"}


class ReceivingProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The protocol that uvicorn would choose, with bounds."""

    head_within: ClassVar[float] = 30.0
    """Seconds from the first byte of a request, or from connecting, to the end of its head."""

    body_idle: ClassVar[float] = 30.0
    """Seconds in which a body has to go on."""

    body_within: ClassVar[float] = 300.0
    """Seconds in which all of a body has to come."""

    rest_within: ClassVar[float] = 5.0
    """Seconds for the rest of a body whose request is answered already."""

    taken_within: ClassVar[float] = 60.0
    """Seconds in which a client has to take some of what is sent to it."""

    # -- the connection ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection, or refuse it where there is no room."""
        self._part = ""
        self._size = self._body = 0
        self._timer: asyncio.TimerHandle | None = None
        self._untaken: asyncio.TimerHandle | None = None
        self._holder: str | None = None
        self.came = self._since = self._moved = self.loop.time()
        super().connection_made(transport)
        if len(self.connections) > room():
            self._make_room()
        self._await("head")
        self._arm()

    def _make_room(self) -> None:
        here: list[ReceivingProtocol] = [
            each for each in self.connections if not each.transport.is_closing()
        ]
        if len(here) > room():
            leaving = to_make_room(each for each in here if each is not self) or self
            leaving.refuse("503 Service Unavailable")
            if leaving.transport.get_write_buffer_size():
                leaving.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection."""
        self._disarm()
        if self._untaken is not None:
            self._untaken.cancel()
        super().connection_lost(exc)

    def refuse(self, status: str) -> None:
        """Close, with an answer where one is due and none is under way."""
        self._disarm()
        if not self.transport.is_closing():
            if not self._is_answering():
                head = f"HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                self.transport.write(head.encode())
            self.transport.close()

    def _is_answering(self) -> bool:
        """Tell whether an answer goes out, or has gone out to a request that still comes."""
        cycle = self.cycle
        if cycle is None or not cycle.response_started:
            return False
        return not cycle.response_complete or self._part == "body"

    # -- whose it is -------------------------------------------------------------------

    @property
    def holder(self) -> str | None:
        """The token that was shown on it last, if one was."""
        scope: dict[str, Any] = self.cycle.scope if self.cycle is not None else {}
        if HOLDER in scope:
            self._holder = scope[HOLDER][1]
        return self._holder

    @property
    def at_work(self) -> bool:
        """Whether a request of it is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    # -- what comes in -----------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that does not end is not kept on being read."""
        self._moved = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        self._look()
        if not self._part and not self.at_work:
            # No part of anything, such as an empty line; no other clock runs for it.
            self._await("head")
            self._arm()
        if self._size > self._most():
            self.refuse("431 Request Header Fields Too Large")

    def _most(self) -> float:
        """Return of how many bytes what is awaited may be.

        The size of a body is the application's to judge; what stands around its chunks,
        and after them, nobody else sees.
        """
        if self._part == "body" and not hasattr(self, "conn"):
            return _HEAD + _FRAMES * self._body
        return _HEAD if self._part == "head" else math.inf

    def on_message_begin(self) -> None:
        """Wait for the end of the head that begins."""
        super().on_message_begin()
        self._await("head")

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._body += len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """The head is whole; a field that comes after the body is no part of it."""
        self._await("body")
        super().on_headers_complete()
        self.headers: list[tuple[bytes, bytes]] = []

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._await("")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is out; what is left of its request is not waited for as long."""
        self.came = self.loop.time()
        _ = self.holder
        super().on_response_complete()
        self._look()
        if self._part == "body" and self.cycle.response_complete:
            self._disarm()
            self._timer = self.loop.call_later(self.rest_within, self.refuse, "")

    def _look(self) -> None:
        """Await what is due next."""
        parser = getattr(self, "conn", None)
        if parser is not None:
            # The one written in Python tells of no parts; it has to be asked.
            part = _PARTS.get(parser.their_state.__name__, "")
            self._await(part if part != "head" or parser.trailing_data[0] else "")
        self._arm()

    def _await(self, part: str) -> None:
        if part != self._part:
            self._part = part
            self._size = self._body = 0
            self._disarm()

    def _arm(self) -> None:
        """Start the clock of the part that is awaited; most requests come whole."""
        if self._part and self._timer is None and not self.transport.is_closing():
            self._since = self.loop.time()
            wait = self.head_within if self._part == "head" else self.body_idle
            self._timer = self.loop.call_later(wait, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.flow.read_paused or (self._part == "head" and self.at_work):
            # It is not the client that is waited for.
            self._arm()
            return
        left = 0.0
        if self._part == "body":
            until = min(self._moved + self.body_idle, self._since + self.body_within)
            left = until - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._late)
        else:
            self.refuse("408 Request Timeout")

    # -- what goes out -----------------------------------------------------------------

    def pause_writing(self) -> None:
        """Wait for a client that takes nothing, and not for ever."""
        super().pause_writing()
        if self._untaken is None:
            self._untaken = self.loop.call_later(self.taken_within, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
