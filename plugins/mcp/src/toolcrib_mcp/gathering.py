"""An HTTP protocol for uvicorn that bounds heads, and sends an answer in one write.

Written apart, an answer's head and body wake the client twice, and cost two system calls.
The head of a request is read before anybody has shown a token, so how much of it there is
and how long it takes are bounded here.
"""

from __future__ import annotations

import asyncio

from typing import Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol


__all__ = ["GatheringProtocol"]

# More than that is handed on at once, so that the transport's own limits count.
_MOST = 64 * 1024
_HEAD = 64 * 1024


class _Gathering:
    """A transport that gathers what is written before the loop looks at sockets again."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, data: bytes) -> None:
        """Write, with what else is written in this turn of the loop."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST:
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
            self._parts, self._size = [], 0
            self._inner.write(data)

    def close(self) -> None:
        """Close after what was written."""
        self._flush()
        self._inner.close()


class GatheringProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The protocol that uvicorn would choose, over a transport that gathers."""

    head_within: ClassVar[float] = 30.0
    """Seconds from the first byte of a request, or from connecting, to the end of its head."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection."""
        self._head = 0
        self._deadline: asyncio.TimerHandle | None = None
        super().connection_made(_Gathering(transport, asyncio.get_running_loop()))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection."""
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that does not end is not kept on being read."""
        self._head += len(data)
        super().data_received(data)
        state = getattr(getattr(self, "conn", None), "their_state", None)
        if state is not None:
            # The parser written in Python tells of no heads; it has to be asked.
            (self._await_head if state.__name__ == "IDLE" else self._head_is_here)()
        if self._deadline is not None and self._head > _HEAD:
            self._refuse_head("431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """Wait for the end of the head that begins."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head_is_here()
        super().on_headers_complete()

    def _await_head(self) -> None:
        if self._deadline is None:
            self._head = 0
            loop = asyncio.get_running_loop()
            late = "408 Request Timeout"
            self._deadline = loop.call_later(self.head_within, self._refuse_head, late)

    def _head_is_here(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse_head(self, status: str) -> None:
        self._head_is_here()
        if not self.transport.is_closing():
            head = f"HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(head.encode())
            self.transport.close()
