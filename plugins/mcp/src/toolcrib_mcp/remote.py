"""Remote servers: the SDK's HTTP transport over a client that judges and bounds.

Where a request may go is judged like everything that tools ask of the network: a server,
or what it says about logins, cannot lead to an address inside of the user's network
unless policy names the host. A redirect to another host is not followed.

A request that fails is answered as failed, so that one lost request does not take the
connection and all other requests with it; and the answer says whether it was sent at all.
"""

from __future__ import annotations

import contextlib

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from toolcrib_net import FixedResolver, NetError, NetPolicy, PinnedTransport, SystemResolver

from .settings import ServerConfig
from .texts import one_line


__all__ = ["FORBIDDEN", "LOST", "NOT_SENT", "OVERSIZE_REPLY", "streams"]

NOT_SENT = -32011
"""Our code: the request was never written."""
LOST = -32012
"""Our code: the request was sent, and its answer was lost."""
OVERSIZE_REPLY = -32013
"""Our code: the answer was larger than we read."""
FORBIDDEN = -32014
"""Our code: the server wants a login."""

ELSEWHERE = -32015
"""Our code: the server sends requests to another host."""

MOST_BODY = 32 * 1024 * 1024
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class _Bounded(httpx2.AsyncByteStream):
    """A body that fails when it grows too large."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        try:
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    text = f"the body is larger than {self._most} bytes"
                    raise httpx2.StreamError(text)
                yield chunk
        except httpx2.TransportError as error:
            # The SDK answers this as a failure of the request; any other would end them all.
            text = f"the body was lost: {type(error).__name__}"
            raise httpx2.StreamError(text) from error

    async def aclose(self) -> None:
        await self._inner.aclose()


class Guarded(httpx2.AsyncBaseTransport):
    """Bounds bodies, and answers failures of a POST as errors of that request alone."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, login: bool) -> None:
        self._inner = inner
        self._login = login

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        try:
            response = await self._inner.handle_async_request(request)
        except _UNSENT as error:
            return self._failed(request, error, NOT_SENT)
        except httpx2.TransportError as error:
            return self._failed(request, error, LOST)
        elsewhere = _elsewhere(request, response)
        if elsewhere is not None:
            await response.aclose()
            return _error(request, ELSEWHERE, elsewhere)
        kind = response.headers.get("content-type", "").lower()
        refused = response.status_code in {401, 403}
        if refused and request.method == "POST" and not self._login:
            await response.aclose()
            return _error(request, FORBIDDEN, f"the server answered {response.status_code}")
        if not kind.startswith("text/event-stream"):
            length = response.headers.get("content-length", "")
            if length.isdigit() and int(length) > MOST_BODY and request.method == "POST":
                await response.aclose()
                return _error(
                    request, OVERSIZE_REPLY, f"the answer of {length} bytes is too large"
                )
            response.stream = _Bounded(response.stream, MOST_BODY)
        return response

    def _failed(self, request: httpx2.Request, error: Exception, code: int) -> httpx2.Response:
        if request.method != "POST":
            raise error
        return _error(request, code, _reason(error))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _elsewhere(request: httpx2.Request, response: httpx2.Response) -> str | None:
    """Say where a POST is led that nobody follows; the SDK stays at the origin."""
    where = response.headers.get("location")
    if request.method != "POST" or response.status_code not in _REDIRECTS or where is None:
        return None
    try:
        there = request.url.join(where)
    except httpx2.InvalidURL:
        return "it redirects to what is no address"
    if there.host == request.url.host:
        return None
    text = one_line(f"{there.scheme}://{there.host}{there.path}", 200)
    return f"it redirects to {text}, where nothing is sent; configure that url if it is right"


def _error(request: httpx2.Request, code: int, text: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return httpx2.Response(502, json=body, request=request)


def _reason(error: Exception) -> str:
    """Say why a request failed, and what opens a place that is not on the internet."""
    cause = error.__cause__
    if isinstance(cause, NetError) and cause.code == "net.address_refused":
        return f"{cause}; if that is meant, name the host: [pack.mcp.net] allow = [...]"
    return f"{type(error).__name__}: {error}"


def _transport(config: ServerConfig) -> PinnedTransport:
    net = {
        "http2": False,
        "connect_timeout": min(config.connect_timeout, 10.0),
        **config.net,
        "max_connections": max(config.concurrency, 4) + 8,
    }
    resolver = FixedResolver(config.hosts, SystemResolver())
    return PinnedTransport(NetPolicy.from_table(net), resolver=resolver)


def _client(config: ServerConfig, auth: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=Guarded(_transport(config), login=auth is not None),
        headers=dict(config.headers),
        auth=auth,
        follow_redirects=False,
        timeout=httpx2.Timeout(config.timeout, connect=min(config.connect_timeout, 10.0)),
        # Proxies and credentials of the host's environment are not this server's business.
        trust_env=False,
    )


@contextlib.asynccontextmanager
async def streams(config: ServerConfig, *, auth: Any = None) -> AsyncIterator[tuple[Any, Any]]:
    """Connect; give the stream to read from and the one to write to."""
    url = config.url or ""
    if config.transport == "sse":

        def make(*_: Any, **__: Any) -> httpx2.AsyncClient:
            return _client(config, auth)

        made = sse_client(url, httpx_client_factory=make)
        async with made as (reader, writer):
            yield reader, writer
        return
    async with (
        _client(config, auth) as client,
        streamable_http_client(url, http_client=client) as (reader, writer),
    ):
        yield reader, writer
