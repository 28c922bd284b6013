"""Where clients come in: the process's own pipes, or a guarded HTTP port."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import socket
import stat
import sys

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any

import attrs

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .events import Kept
from .gateway import Clients
from .handlers import Served
from .stdio import PipeReader, PipeWriter
from .texts import one_line


__all__ = [
    "Guard",
    "Tokens",
    "http_app",
    "identify_http",
    "is_loopback",
    "pipes",
    "serve_stdio",
]

_HOLDER = "toolcrib.holder"
_SESSION = b"mcp-session-id"
_BODY = 4 * 1024 * 1024
_MOST_SESSIONS = 20_000


# -- the process's own pipes ---------------------------------------------------------


@contextlib.asynccontextmanager
async def pipes() -> AsyncIterator[tuple[PipeReader, PipeWriter]]:
    """Take stdin and stdout for the protocol; everybody else gets neither.

    A tool's child reads the end of input and writes to stderr, whatever it does.
    """
    import fcntl  # noqa: PLC0415 - there are no such pipes on Windows

    sys.stdout.flush()
    taken_in, taken_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    incoming = os.fdopen(taken_in, "rb", buffering=0)
    outgoing = os.fdopen(taken_out, "wb", buffering=0)
    protocol = asyncio.StreamReaderProtocol(reader)
    read_transport, _ = await loop.connect_read_pipe(lambda: protocol, incoming)
    transport, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, outgoing)
    writer = asyncio.StreamWriter(transport, flow, None, loop)
    try:
        yield PipeReader(reader), PipeWriter(writer)
    finally:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(2.0):
                await writer.drain()
        read_transport.close()
        transport.close()


def _are_pipes() -> bool:
    if sys.platform == "win32":
        return False
    kinds = [os.fstat(fd).st_mode for fd in (0, 1)]
    return all(stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) for kind in kinds)


async def serve_stdio(served: Served) -> None:
    """Serve the one client at the other end of the pipes, until it closes them."""
    # Terminals and files cannot be waited for; the SDK reads them in a thread.
    opened: Any = pipes() if _are_pipes() else stdio_server()
    async with opened as (reader, writer):
        await served.server.run(reader, writer, served.server.create_initialization_options())


# -- HTTP ------------------------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a host."""
    return host in {"127.0.0.1", "::1", "localhost"}


@attrs.frozen
class Tokens:
    """Bearer tokens, kept as digests: digest → principal."""

    _digests: Mapping[bytes, str]

    @classmethod
    def of(cls, tokens: Mapping[str, str]) -> Tokens:
        """Make it from token → principal."""
        return cls({_digest(token): name for token, name in tokens.items()})

    def holder(self, header: bytes) -> tuple[str, str] | None:
        """Return whom an Authorization header stands for, and by which token; or None."""
        kind, _, token = header.partition(b" ")
        if kind.lower() != b"bearer" or not token:
            return None
        wanted = _digest(token.strip().decode("latin-1"))
        found = None
        # All of them, always: how long it takes says nothing.
        for digest, name in self._digests.items():
            if hmac.compare_digest(digest, wanted):
                found = name, digest.hex()[:32]
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Guard:
    """Looks at every request before the protocol does: token, and whose session it is.

    Args:
        app: What is guarded.
        tokens: Who may come in; None for everybody on this machine.
        clients: Whose sessions end with a DELETE.
    """

    def __init__(self, app: Any, tokens: Tokens | None, clients: Clients) -> None:
        self._app = app
        self._tokens = tokens
        self._clients = clients
        self._owners: OrderedDict[bytes, str] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Not every parser takes off the blanks that may stand around a value.
        scope["headers"] = [(key, value.strip(b" \t")) for key, value in scope["headers"]]
        headers = dict(scope["headers"])
        holder: tuple[str, str] | None = ("local", "local")
        if self._tokens is not None:
            holder = self._tokens.holder(headers.get(b"authorization", b""))
        if holder is None:
            await _refuse(send, 401, "a bearer token is wanted", b"Bearer")
            return
        session = headers.get(_SESSION)
        token = holder[1]
        if session is not None and self._owners.get(session) != token:
            await _refuse(send, 404, "no such session")
            return
        scope[_HOLDER] = holder

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                for key, value in message.get("headers", ()):
                    if key.lower() == _SESSION:
                        self._begun(value, token)
            await send(message)

        await self._app(scope, receive, sent)
        if scope["method"] == "DELETE" and session is not None:
            self._owners.pop(session, None)
            await self._clients.forget(f"{token}\n{session.decode('latin-1')}")

    def _begun(self, session: bytes, token: str) -> None:
        """Note whose a session is; the oldest are forgotten, and belong to nobody then."""
        self._owners.setdefault(session, token)
        while len(self._owners) > _MOST_SESSIONS:
            self._owners.popitem(last=False)


async def _refuse(send: Any, status: int, text: str, challenge: bytes | None = None) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if challenge is not None:
        headers.append((b"www-authenticate", challenge))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def identify_http(ctx: ServerRequestContext[Any, Any]) -> tuple[str, str]:
    """Return which client a request is of, and whom it stands for.

    A client is a token and a session. The newer revision has no sessions: there a client
    is a token and the name and version that it gives itself. That name is no secret, so
    who must be kept apart from others needs a token of their own.
    """
    request = ctx.request
    if request is None:
        return "local\nlocal", "local"
    principal, token = request.scope.get(_HOLDER, ("local", "local"))
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return f"{token}\n{request.headers.get('mcp-session-id', '')}", principal
    said = ctx.session.client_params
    about = said.client_info if said is not None else None
    named = one_line(f"{about.name} {about.version}", 200) if about is not None else ""
    return f"{token}\n\n{named}", principal


def http_app(
    served: Served,
    *,
    host: str,
    port: int,
    tokens: Tokens | None,
    allowed_hosts: tuple[str, ...] = (),
    allowed_origins: tuple[str, ...] = (),
    body: int = _BODY,
) -> Any:
    """Return the ASGI application."""
    names = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [host]
    hosts = [f"{name}:{port}" for name in names] + names
    origins = [f"http://{name}:{port}" for name in names]
    settings = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts, *allowed_hosts],
        allowed_origins=[*origins, *allowed_origins],
    )
    polled = served.poll_after is not None
    app = served.server.streamable_http_app(
        transport_security=settings,
        host=host,
        max_request_body_size=body,
        event_store=Kept() if polled else None,
        retry_interval=500 if polled else None,
    )
    return Guard(app, tokens, served.clients)


async def serve_http(
    app: Any, sock: socket.socket, *, stop: asyncio.Event | None = None
) -> None:
    """Serve until told to stop."""
    import uvicorn  # noqa: PLC0415 - stdio does without

    from .gathering import GatheringProtocol  # noqa: PLC0415 - as above

    config = uvicorn.Config(
        app,
        http=GatheringProtocol,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    if stop is not None:
        waiting = asyncio.create_task(stop.wait())
        waiting.add_done_callback(lambda _: setattr(server, "should_exit", True))
    await server.serve(sockets=[sock])
