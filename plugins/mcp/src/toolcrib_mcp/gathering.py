"""An HTTP protocol for uvicorn that sends an answer's head and body in one write.

Written apart, each of the two wakes the client, and costs a system call.
"""

from __future__ import annotations

import asyncio

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


__all__ = ["GatheringProtocol"]

# More than that is handed on at once, so that the transport's own limits count.
_MOST = 64 * 1024


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

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Take a connection."""
        super().connection_made(_Gathering(transport, asyncio.get_running_loop()))
