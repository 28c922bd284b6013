"""Bytes between a program and the server that it asked for through the proxy."""

from __future__ import annotations

import asyncio

from typing import Any

import attrs
import h11

from httpcore2 import AsyncNetworkStream, NetworkError, TimeoutException

from .targets import Target


__all__ = ["Ends", "Forwarding", "tunnel"]

_PIECE = 1 << 16
# Headers between two ends of one connection, which a proxy does not pass on.
_HOP = frozenset({
    *(b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization", b"te"),
    *(b"upgrade", b"proxy-authenticate", b"host", b"expect"),
})  # fmt: skip


@attrs.frozen
class Ends:
    """The program's side: what was read of it so far, and its two directions."""

    server: h11.Connection
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def tunnel(ends: Ends, upstream: AsyncNetworkStream, *, idle: float) -> None:
    """Carry bytes both ways until one end closes, or nothing moves for ``idle`` seconds."""
    reader, writer, early = ends.reader, ends.writer, ends.server.trailing_data[0]
    loop = asyncio.get_running_loop()
    moved = loop.time()

    async def out() -> None:
        nonlocal moved
        data = early or await reader.read(_PIECE)
        while data:
            await upstream.write(data)
            moved = loop.time()
            data = await reader.read(_PIECE)

    async def back() -> None:
        nonlocal moved
        while data := await upstream.read(_PIECE):
            writer.write(data)
            await writer.drain()
            moved = loop.time()

    async def watch() -> None:
        while (rest := moved + idle - loop.time()) > 0:  # noqa: ASYNC110 - time, no event
            await asyncio.sleep(rest)

    tasks = [asyncio.create_task(each()) for each in (out, back, watch)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done() and not tasks[1].done():
            # The program has said all: what the server still sends is let through.
            await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Forwarding:
    """One request that is passed on, message by message, so that nothing hides in it."""

    def __init__(
        self,
        ends: Ends,
        upstream: AsyncNetworkStream,
        *,
        idle: float,
    ) -> None:
        self._server = ends.server
        self._client = h11.Connection(h11.CLIENT)
        self._reader = ends.reader
        self._writer = ends.writer
        self._upstream = upstream
        self._idle = idle

    async def run(self, request: h11.Request, where: Target) -> None:
        """Pass a request on, and its answer back."""
        headers = [(b"Host", where.authority.encode()), *_passed(request.headers)]
        onward = h11.Request(
            method=request.method,
            target=where.path.encode(),
            headers=[*headers, (b"Connection", b"close")],
        )
        sending = asyncio.create_task(self._send(onward))
        try:
            await self._return()
        except (NetworkError, TimeoutException, h11.RemoteProtocolError):
            await self._broken()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send(self, onward: h11.Request) -> None:
        await self._upstream.write(self._client.send(onward) or b"")
        if self._server.they_are_waiting_for_100_continue:
            await self._give(h11.InformationalResponse(status_code=100, headers=[]))
        while True:
            event: Any = self._server.next_event()
            if event is h11.NEED_DATA:
                self._server.receive_data(await self._reader.read(_PIECE))
            elif isinstance(event, h11.Data):
                await self._upstream.write(self._client.send(event) or b"")
            elif isinstance(event, h11.EndOfMessage):
                await self._upstream.write(self._client.send(h11.EndOfMessage()) or b"")
                return
            else:
                return

    async def _return(self) -> None:
        while True:
            event: Any = self._client.next_event()
            if event is h11.NEED_DATA:
                self._client.receive_data(await self._upstream.read(_PIECE, self._idle))
            elif isinstance(event, h11.Response):
                answer = h11.Response(
                    status_code=event.status_code,
                    reason=event.reason,
                    headers=[*_passed(event.headers), (b"Connection", b"close")],
                )
                await self._give(answer)
            elif isinstance(event, h11.Data):
                await self._give(event)
            elif isinstance(event, h11.EndOfMessage):
                await self._give(h11.EndOfMessage())
                return
            elif not isinstance(event, h11.InformationalResponse):
                return

    async def _give(self, event: Any) -> None:
        self._writer.write(self._server.send(event) or b"")
        await self._writer.drain()

    async def _broken(self) -> None:
        """Say that the server failed, if nothing of its answer was passed on yet."""
        if self._server.our_state is h11.SEND_RESPONSE:
            headers = [("Content-Length", "0"), ("Connection", "close")]
            await self._give(h11.Response(status_code=502, headers=headers))
            await self._give(h11.EndOfMessage())


def _passed(headers: Any) -> list[tuple[bytes, bytes]]:
    """Return the headers that are passed on; ``Connection`` may name more that are not."""
    pairs = [(bytes(n).lower(), bytes(v)) for n, v in headers]
    named = {
        word.strip().lower()
        for name, value in pairs
        if name == b"connection"
        for word in value.split(b",")
    }
    return [(n, v) for n, v in pairs if n not in _HOP and n not in named]
