"""A proxy on this machine for programs that do their own networking, with the same rules.

A browser, or a library with its own HTTP stack, is given this proxy and nothing else to
reach the network with. Names are resolved here, once for each connection, and the connection
is made to the address that was judged.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets

from base64 import b64decode
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import attrs
import h11

from httpcore2 import AsyncNetworkStream

from .connecting import PinnedBackend
from .faults import NetError
from .forwarding import Ends, Forwarding, tunnel
from .gates import Gates
from .policy import NetPolicy
from .resolving import Resolver, SystemResolver
from .targets import Target, target


__all__ = ["Decision", "FilteringProxy"]

_HEAD_LIMIT = 64 * 1024
_HEAD_SECONDS = 15.0
# Pages keep tunnels open for sockets that seldom speak.
_TUNNEL_IDLE = 300.0


@attrs.frozen
class Decision:
    """What became of one request to the proxy.

    Attributes:
        host, port: What was asked for.
        code: Why it was refused or failed; None if it was let through.
        text: The same in words.
    """

    host: str
    port: int
    code: str | None = None
    text: str = ""


class FilteringProxy:
    """An HTTP proxy on a loopback port that lets through what policy allows.

    Args:
        policy: Which places may be asked, and how much.
        resolver: What turns names into addresses; the system by default.
        allow: Asked with host and port, beyond policy; a no refuses.
        observe: Told of every decision.
        authenticate: Whether users must give the name and password of this proxy.
            Without it any program of this machine can use it.

    Attributes:
        url: Where it listens, once entered.
        username, password: What its users must give.
    """

    def __init__(
        self,
        policy: NetPolicy | None = None,
        *,
        resolver: Resolver | None = None,
        allow: Callable[[str, int], bool] | None = None,
        observe: Callable[[Decision], None] | None = None,
        authenticate: bool = True,
    ) -> None:
        self.policy = policy or NetPolicy()
        self.username = "crib"
        self.password = secrets.token_urlsafe(24) if authenticate else ""
        self.url = ""
        self._backend = PinnedBackend(self.policy, resolver or SystemResolver())
        self._allow = allow
        self._observe = observe
        self._gates = Gates(max(self.policy.per_host, 32), self.policy.per_host_rate)
        self._places = asyncio.Semaphore(self.policy.max_connections)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def credentials_url(self) -> str:
        """The address with name and password, for programs that take one text."""
        if not self.password:
            return self.url
        return self.url.replace("://", f"://{self.username}:{self.password}@", 1)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accepted, "127.0.0.1", 0, limit=_HEAD_LIMIT
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server = None

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._places:
                await self._one(reader, writer)
        except (OSError, TimeoutError, EOFError, h11.ProtocolError, asyncio.LimitOverrunError):
            pass  # the other side is gone, or never spoke HTTP
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request: each gets a connection of its own."""
        server = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_LIMIT)
        async with asyncio.timeout(_HEAD_SECONDS):
            request = await _head(server, reader)
        ends = Ends(server, reader, writer)
        if request is None:
            return
        if not self._known(request):
            await _refuse(writer, 407, "net.host_refused", "Name and password are wrong.")
            return
        where: Target | None = None
        try:
            where = self._judged(request)
            async with self._gates.through(where.host):
                upstream = await self._backend.connect_tcp(where.host, where.port)
                self._tell(Decision(where.host, where.port))
                await self._pass(request, where, ends, upstream)
        except NetError as error:
            host, port = (where.host, where.port) if where else (_text(request.target), 0)
            self._tell(Decision(host, port, error.code, error.text))
            await _refuse(writer, _status(error), error.code, error.text)

    async def _pass(
        self,
        request: h11.Request,
        where: Target,
        ends: Ends,
        upstream: AsyncNetworkStream,
    ) -> None:
        idle = self.policy.idle_timeout
        try:
            if request.method == b"CONNECT":
                ends.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await tunnel(ends, upstream, idle=max(idle, _TUNNEL_IDLE))
            else:
                await Forwarding(ends, upstream, idle=idle).run(request, where)
        finally:
            await upstream.aclose()

    def _judged(self, request: h11.Request) -> Target:
        """Return where a request wants to go, if it may.

        Raises:
            NetError: it may not.
        """
        text = _text(request.target)
        if request.method == b"CONNECT":
            # What is spoken inside of a tunnel is the user's own; only the place counts.
            where = target(f"https://{text}/", self.policy)
        elif text.startswith("/"):
            wrong = "This is a proxy: it is asked with whole addresses."
            raise NetError(wrong, code="net.url_invalid")
        else:
            where = target(text, self.policy)
        if self._allow is not None and not self._allow(where.host, where.port):
            wrong = f"{where.host} is not among the hosts that this program may ask."
            raise NetError(wrong, code="net.host_refused")
        return where

    def _known(self, request: h11.Request) -> bool:
        if not self.password:
            return True
        given = dict(request.headers).get(b"proxy-authorization", b"")
        kind, _, value = given.partition(b" ")
        try:
            pair = b64decode(value, validate=True)
        except ValueError:
            return False
        wanted = f"{self.username}:{self.password}".encode()
        return kind.lower() == b"basic" and hmac.compare_digest(pair, wanted)

    def _tell(self, decision: Decision) -> None:
        if self._observe is not None:
            self._observe(decision)


async def _head(server: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    while True:
        event: Any = server.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        server.receive_data(await reader.read(_HEAD_LIMIT))


async def _refuse(writer: asyncio.StreamWriter, status: int, code: str, text: str) -> None:
    body = f"{text} [{code}]\n".encode()
    words = {403: "Forbidden", 407: "Proxy Authentication Required"}.get(status, "Bad Gateway")
    head = [
        f"HTTP/1.1 {status} {words}",
        f"X-Toolcrib-Code: {code}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(['Proxy-Authenticate: Basic realm="toolcrib"'] if status == 407 else []),
    ]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    await writer.drain()


def _status(error: NetError) -> int:
    if error.kind == "refused":
        return 403
    return 504 if error.kind == "timeout" else 502


def _text(value: bytes) -> str:
    return value.decode("latin-1")
