"""Remote servers: the SDK's HTTP transport over a client that bounds what comes back.

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

from .settings import ServerConfig


__all__ = ["FORBIDDEN", "LOST", "NOT_SENT", "OVERSIZE_REPLY", "streams"]

NOT_SENT = -32011
"""Our code: the request was never written."""
LOST = -32012
"""Our code: the request was sent, and its answer was lost."""
OVERSIZE_REPLY = -32013
"""Our code: the answer was larger than we read."""
FORBIDDEN = -32014
"""Our code: the server wants a login."""

MOST_BODY = 32 * 1024 * 1024
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


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
        return _error(request, code, f"{type(error).__name__}: {error}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _error(request: httpx2.Request, code: int, text: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return httpx2.Response(502, json=body, request=request)


def _client(config: ServerConfig, auth: Any) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=max(config.concurrency, 4) + 8)
    return httpx2.AsyncClient(
        transport=Guarded(httpx2.AsyncHTTPTransport(limits=limits), login=auth is not None),
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
        headers = dict(config.headers)
        async with sse_client(url, headers=headers, auth=auth) as (reader, writer):
            yield reader, writer
        return
    async with (
        _client(config, auth) as client,
        streamable_http_client(url, http_client=client) as (reader, writer),
    ):
        yield reader, writer
