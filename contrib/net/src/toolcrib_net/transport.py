"""The same rules for libraries that bring an httpx2 client: hand them this transport."""

from __future__ import annotations

import httpcore2
import httpx2

from .connecting import PinnedBackend
from .faults import NetError
from .policy import NetPolicy
from .resolving import Resolver, SystemResolver
from .targets import target


__all__ = ["PinnedTransport"]


class PinnedTransport(httpx2.AsyncHTTPTransport):
    """A transport that judges each request and connects to the judged address.

    Redirects come back to it, so that every hop is judged; the client above must not
    be told of proxies by the environment (``trust_env=False``). Bodies are streamed: caps
    and deadlines are the client's.

    Args:
        policy: What requests may do.
        resolver: What turns names into addresses; the system by default.
    """

    def __init__(
        self, policy: NetPolicy | None = None, *, resolver: Resolver | None = None
    ) -> None:
        self._policy = policy or NetPolicy()
        if self._policy.proxy is not None:
            text = "this transport speaks to servers directly: its policy names no proxy"
            raise ValueError(text)
        self._resolver = resolver or SystemResolver()
        super().__init__(trust_env=False, http2=self._policy.http2)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._policy.tls,
            max_connections=self._policy.max_connections,
            max_keepalive_connections=20,
            keepalive_expiry=15.0,
            http2=self._policy.http2,
            network_backend=PinnedBackend(self._policy, self._resolver),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Judge where a request goes, and make it.

        Raises:
            httpx2.ConnectError: it may not go there; its cause is the ``NetError``.
        """
        try:
            target(str(request.url), self._policy)
            return await super().handle_async_request(request)
        except NetError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
