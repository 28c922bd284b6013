"""Where clients come in: the process's own pipes, or a guarded HTTP port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import sys

from collections.abc import AsyncIterator
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .crowd import HOLDER
from .events import Kept
from .guard import Guard, Tokens
from .handlers import Served
from .stdio import PipeReader, PipeWriter
from .texts import one_line


__all__ = ["http_app", "identify_http", "is_loopback", "pipes", "serve_http", "serve_stdio"]

_BODY = 4 * 1024 * 1024
# So many connections are taken before the first of them is looked at, and maybe refused.
_AT_ONCE = 32
_QUEUED = 2048


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


def identify_http(ctx: ServerRequestContext[Any, Any]) -> tuple[str, str]:
    """Return which client a request is of, and whom it stands for.

    A client is a token and a session. The newer revision has no sessions: there a client
    is a token and the name and version that it gives itself. That name is no secret, so
    who must be kept apart from others needs a token of their own.
    """
    request = ctx.request
    if request is None:
        return "local\nlocal", "local"
    principal, token = request.scope.get(HOLDER, ("local", "local"))
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
    return Guard(app, tokens, served.clients, body=body, resumes=polled)


async def serve_http(
    app: Any, sock: socket.socket, *, stop: asyncio.Event | None = None
) -> None:
    """Serve until told to stop."""
    import uvicorn  # noqa: PLC0415 - stdio does without

    from .gathering import GatheringProtocol  # noqa: PLC0415 - as above

    config = uvicorn.Config(
        app,
        http=GatheringProtocol,
        ws="none",
        backlog=_AT_ONCE,
        log_level="error",  # Strangers write nothing into the log.
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="on",
    )

    class Queueing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            # The others wait where they cost no file.
            sock.listen(_QUEUED)

    server = Queueing(config)
    if stop is not None:
        waiting = asyncio.create_task(stop.wait())
        waiting.add_done_callback(lambda _: setattr(server, "should_exit", True))
    await server.serve(sockets=[sock])
