"""One login: a page in the browser, its answer on a port of this machine, for five minutes."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser

from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import click

from mcp.shared.auth import AuthorizationCodeResult
from toolcrib import Policy, Toolbox, Unavailable

from . import oauth
from .connection import Connection, Handlers
from .settings import ServerConfig
from .texts import one_line


__all__ = ["Waiting", "log_in"]

_PATIENCE = 300.0
_DONE = b"<!doctype html><title>toolcrib</title><p>Done. You can close this page."


class Waiting:
    """Waits on a port of this machine for the browser to come back."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._answer: asyncio.Future[AuthorizationCodeResult] | None = None
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._visited, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def callback(self) -> AuthorizationCodeResult:
        """Return what the browser brought."""
        if self._answer is None:  # pragma: no cover - it is entered
            raise AssertionError
        async with asyncio.timeout(_PATIENCE):
            return await self._answer

    async def _visited(self, reader: Any, writer: Any) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
            target = head.split(b" ", 2)[1].decode("ascii", "replace")
            parts = urlsplit(target)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            denied = query.get("error") if parts.path == "/oauth/callback" else None
            found = parts.path == "/oauth/callback" and bool({"code", "error"} & set(query))
            status = b"200 OK" if found else b"404 Not Found"
            body = _DONE if found else b"not here"
            writer.write(
                b"HTTP/1.1 " + status + b"\r\ncontent-type: text/html\r\nconnection: close\r\n"
                b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body
            )
            await writer.drain()
            if self._answer is None or self._answer.done():
                pass
            elif denied is not None:
                text = f"the login was refused: {one_line(denied, 100)}"
                self._answer.set_exception(Unavailable(text, code="mcp.login"))
            elif found:
                result = AuthorizationCodeResult(
                    code=query["code"], state=query.get("state"), iss=query.get("iss")
                )
                self._answer.set_result(result)
        writer.close()


async def log_in(policy: Policy, config: ServerConfig, *, browser: bool) -> str:
    """Log in to a server and keep what that gives; return the problem, or nothing."""
    import attrs  # noqa: PLC0415 - as above

    config = attrs.evolve(
        config, oauth=dict(config.oauth or {}), recover=0, connect_timeout=_PATIENCE
    )
    state = Toolbox(policy).pack_state("mcp")
    port = int((config.oauth or {}).get("callback_port", 7777))

    async def redirect(url: str) -> None:
        click.echo(f"Open this page to log in:\n  {url}", err=True)
        if browser and oauth.is_web_address(url):
            await asyncio.to_thread(webbrowser.open, url)

    async def opened(live: Any) -> None:
        """Being connected is enough."""

    async def told(message: Any) -> None:
        """Nothing that it tells matters here."""

    async with Waiting(port) as waiting:
        storage = oauth.Stored(config, state)
        auth = oauth.interactive(config, storage, redirect, waiting.callback)
        connection = Connection(
            config,
            root=str(policy.workspace),
            handlers=Handlers(told=told),
            opened=opened,
            changed=lambda: None,
            auth=lambda: auth,
        )
        connection.start()
        try:
            await connection.settled()
            return "" if connection.state == "connected" else connection.problem
        finally:
            await connection.close()
