"""A web server on this machine for tests: what it sends is up to the test, to the byte.

::

    with Site() as site:
        site.add("/page", ok("hello", "text/plain"))
        policy = NetPolicy(allow=["127.0.0.1"])        # said explicitly, or it is refused
        ...
        assert site.hits == ["GET /page"]
"""

from __future__ import annotations

import asyncio
import ssl
import threading

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Self

import attrs


__all__ = ["Asked", "Responder", "Site", "ok", "reply"]


@attrs.frozen
class Asked:
    """One request as the server read it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


#: Bytes to send, or what makes them, or what writes them itself.
Responder = (
    bytes | Callable[[Asked], bytes] | Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]
)


def reply(
    status: int, body: bytes | str = b"", headers: Iterable[tuple[str, str]] = ()
) -> bytes:
    """Return a whole answer, with its length, that ends the connection."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + data


def ok(body: bytes | str, content_type: str = "text/html; charset=utf-8", **more: str) -> bytes:
    """Return an answer with status 200; further headers by name, ``_`` for ``-``."""
    headers = [("Content-Type", content_type)] if content_type else []
    headers += [(name.replace("_", "-"), value) for name, value in more.items()]
    return reply(200, body, headers)


class Site:
    """A server in a thread of its own, for tests with or without a loop.

    Args:
        host: Address to listen on.
        tls: Context with the server's certificate, for HTTPS.

    Attributes:
        port: Where it listens, once entered.
        asked: Every request, in order.
        connections: How many connections were accepted.
    """

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self.port = 0
        self.asked: list[Asked] = []
        self.connections = 0
        self._tls = tls
        self._routes: dict[str, Responder] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stop: asyncio.Event | None = None

    @property
    def hits(self) -> list[str]:
        """Method and path of every request, in order."""
        return [f"{each.method} {each.path}" for each in self.asked]

    def add(self, path: str, responder: Responder) -> None:
        """Say what is sent for a path; a query is ignored where no path with it is known."""
        self._routes[path] = responder

    def url(self, path: str = "/", host: str | None = None) -> str:
        """Return the address of a path, under a name of the test's choice."""
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{host or self.host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._serve, self.host, 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        own = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                if not await self._respond(asked, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Send what the route says; True if the connection stays open."""
        plain = asked.path.partition("?")[0]
        responder = self._routes.get(asked.path, self._routes.get(plain))
        if responder is None:
            responder = reply(404, "nothing here", [("Content-Type", "text/plain")])
        if isinstance(responder, bytes):
            data = responder
        elif responder.__code__.co_argcount == 1:
            data = responder(asked)  # type: ignore[assignment,call-arg]
        else:
            await responder(asked, writer)  # type: ignore[call-arg,misc]
            return False
        writer.write(data)
        await writer.drain()
        return b"Connection: close" not in data.partition(b"\r\n\r\n")[0]


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)
