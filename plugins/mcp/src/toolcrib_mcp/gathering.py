"""An HTTP protocol for uvicorn that sends an answer in one write.

Written apart, an answer's head and body wake the client twice, and cost two system calls.
"""

from __future__ import annotations

import asyncio

from typing import Any, cast

from .receiving import ReceivingProtocol


__all__ = ["GatheringProtocol"]

# More than that is handed on at once, so that the transport's own limits count.
_MOST = 64 * 1024


class _Gathering:
    """A transport that gathers what is written before the loop looks at sockets again.

    Args:
        inner: Where it goes.
        taken_within: Seconds after which a client that takes nothing is closed on.
    """

    def __init__(
        self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop, taken_within: float
    ) -> None:
        self._inner = inner
        self._loop = loop
        self._taken_within = taken_within
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
        if self._inner.get_write_buffer_size():
            self._loop.call_later(self._taken_within, self._inner.abort)


class GatheringProtocol(ReceivingProtocol):
    """The protocol with bounds, over a transport that gathers."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection."""
        gathering = _Gathering(transport, self.loop, self.taken_within)
        super().connection_made(cast("asyncio.Transport", gathering))
