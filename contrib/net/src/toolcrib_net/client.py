"""The client: one request, every hop judged, everything bounded."""

from __future__ import annotations

import asyncio
import time

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import attrs
import httpcore2

from .connecting import PinnedBackend
from .cookies import Jar
from .decoding import ACCEPTED
from .faults import NetError
from .gates import Gates
from .messages import Answer, Exchange, Hop, Request, header
from .policy import NetPolicy
from .proxies import proxy_for
from .reading import read_body
from .redirecting import next_request
from .resolving import Resolver, SystemResolver
from .targets import Target, joined, shown, target
from .translating import translated
from .waiting import retry_after


__all__ = ["Client", "Follow", "Send", "Via"]

#: Whether a redirect from one place to another is followed.
Follow = Callable[[Target, Target], bool]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ASKS_TO_WAIT = frozenset({429, 503})


#: Makes one request, without following anything.
Send = Callable[[Request], Awaitable[Exchange]]
#: Stands between a fetch and each of its hops: takes the request, where it goes and what
#: sends it, and gives what came back, from wherever. Not asked where cookies are sent.
Via = Callable[[Request, Target, Send], Awaitable[Exchange]]


class Client:
    """Asks servers on behalf of tools.

    Args:
        policy: What requests may do, and how much.
        resolver: What turns names into addresses; the system by default.

    Use it as an async context manager, or call :meth:`close`.
    """

    def __init__(
        self, policy: NetPolicy | None = None, *, resolver: Resolver | None = None
    ) -> None:
        self.policy = policy or NetPolicy()
        self._resolver = resolver or SystemResolver()
        self._gates = Gates(self.policy.per_host, self.policy.per_host_rate)
        self._pools: dict[bytes, httpcore2.AsyncConnectionPool] = {}
        self._tls = self.policy.tls

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()

    async def fetch(
        self,
        request: Request,
        *,
        follow: Follow | None = None,
        deadline: float | None = None,
        max_body: int | None = None,
        max_redirects: int | None = None,
        via: Via | None = None,
    ) -> Answer:
        """Make a request and return the answer, redirects followed.

        Args:
            request: What is asked.
            follow: Asked before each redirect that leads to another origin; a no ends
                the fetch with the answer that redirects. All are followed by default.
            deadline: Seconds for everything; lowers what policy says, never lifts it.
            max_body: Bytes of the body; the same.
            max_redirects: Hops; the same.
            via: Stands between the fetch and each hop, such as a cache.

        Raises:
            NetError: nothing was answered that could be used.
        """
        policy = self.policy
        seconds = policy.deadline if deadline is None else min(deadline, policy.deadline)
        most = policy.max_body if max_body is None else max(0, min(max_body, policy.max_body))
        hops = policy.max_redirects
        hops = hops if max_redirects is None else max(0, min(max_redirects, hops))
        started = time.monotonic()
        trip = _Trip(self, request, follow=follow, via=via, most=most, hops=hops)
        try:
            async with asyncio.timeout(max(0.001, seconds)):
                answer = await trip.run()
        except TimeoutError as error:
            text = f"{trip.where} did not answer in full within {seconds:.3g} s."
            raise NetError(
                text, code="net.timeout", sent=trip.sent, details=trip.facts()
            ) from error
        except NetError as error:
            error.details = {**trip.facts(), **error.details}
            error.sent = error.sent and trip.sent
            raise
        return attrs.evolve(answer, elapsed=time.monotonic() - started)

    async def exchange(self, request: Request, where: Target, jar: Jar, most: int) -> Exchange:
        """Ask once, without following anything."""
        held = self._gates.held(where.host)
        if held > self.policy.deadline:
            text = f"{where.host} asked to be left alone for another {held:.0f} s."
            raise NetError(text, code="net.busy", details={"retry_after": held})
        async with self._gates.through(where.host):
            found = await self._tried(request, where, jar, most)
        if found.status in _ASKS_TO_WAIT:
            asked = retry_after(header(found.headers, "retry-after"), time.time())
            self._gates.hold(where.host, asked or 0.0)
        return found

    async def _tried(self, request: Request, where: Target, jar: Jar, most: int) -> Exchange:
        """Ask, and once more if a connection from the pool turned out to be closed."""
        try:
            return await self._asked(request, where, jar, most)
        except NetError as error:
            reused = error.details.pop("reused", False)
            unsent = error.code in {"net.connection_lost", "net.protocol_error"}
            if not (reused and unsent and request.safe):
                raise
        return await self._asked(request, where, jar, most)

    async def _asked(self, request: Request, where: Target, jar: Jar, most: int) -> Exchange:
        pool = self._pool(where)
        seen = {"connected": False, "answered": False}

        async def trace(name: str, _: Any) -> None:
            if name == "connection.connect_tcp.started":
                seen["connected"] = True

        asked = httpcore2.Request(
            request.method,
            httpcore2.URL(
                scheme=where.scheme, host=where.host, port=where.written_port, target=where.path
            ),
            headers=self._headers(request, where, jar),
            content=request.body,
            extensions={"timeout": self._timeouts(), "trace": trace},
        )
        try:
            response = await pool.handle_async_request(asked)
            seen["answered"] = True
            try:
                return await self._taken(response, request, where, jar, most)
            finally:
                await response.aclose()
        except Exception as error:
            if isinstance(error, NetError):
                raise
            found = translated(error, where)
            found.details["reused"] = not seen["connected"] and not seen["answered"]
            raise found from error

    async def _taken(
        self, response: Any, request: Request, where: Target, jar: Jar, most: int
    ) -> Exchange:
        headers = tuple((k.decode("latin-1").lower(), _text(v)) for k, v in response.headers)
        jar.learn(where, [value for name, value in headers if name == "set-cookie"])
        stream = response.extensions.get("network_stream")
        peer = stream.get_extra_info("server_addr") if stream is not None else None
        body = await read_body(
            response.aiter_stream(),
            headers,
            method=request.method,
            policy=self.policy,
            most=most,
            host=where.host,
        )
        http = response.extensions.get("http_version", b"").decode("ascii", "replace")
        proxied = self.policy.proxy is not None
        address = "" if peer is None or proxied else str(peer[0])
        return Exchange(where, response.status, headers, body, http, address)

    def _headers(self, request: Request, where: Target, jar: Jar) -> list[tuple[str, str]]:
        own = [("host", where.authority), ("accept-encoding", ACCEPTED)]
        given = {name for name, _ in request.headers}
        for name, value in (("user-agent", self.policy.user_agent), ("accept", "*/*")):
            if name not in given:
                own.append((name, value))
        cookie = jar.header(where)
        if cookie is not None and "cookie" not in given:
            own.append(("cookie", cookie))
        if request.body is not None:
            own.append(("content-length", str(len(request.body))))
        elif not request.safe and request.method != "DELETE":
            own.append(("content-length", "0"))
        headers = [*own, *request.headers, *request.secret_headers]
        return [(name, value.encode("utf-8").decode("latin-1")) for name, value in headers]

    def _timeouts(self) -> dict[str, float]:
        policy = self.policy
        idle = policy.idle_timeout
        return {
            "connect": policy.connect_timeout,
            "read": idle,
            "write": idle,
            "pool": policy.deadline,
        }

    def _pool(self, where: Target) -> httpcore2.AsyncConnectionPool:
        proxy = proxy_for(where.scheme, where.host, self.policy)
        key = b"" if proxy is None else bytes(proxy.url)
        pool = self._pools.get(key)
        if pool is None:
            exempt = None
            if proxy is not None:
                exempt = (proxy.url.host.decode("ascii"), proxy.url.port or 80)
            pool = self._pools[key] = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls,
                proxy=proxy,
                max_connections=self.policy.max_connections,
                max_keepalive_connections=20,
                keepalive_expiry=15.0,
                http2=self.policy.http2,
                network_backend=PinnedBackend(self.policy, self._resolver, exempt=exempt),
            )
        return pool


class _Trip:
    """One fetch on its way through redirects."""

    def __init__(
        self,
        client: Client,
        request: Request,
        *,
        follow: Follow | None,
        via: Via | None,
        most: int,
        hops: int,
    ) -> None:
        self._client = client
        self._request = request
        self._follow = follow
        self._via = via
        self._most = most
        self._limit = hops
        self.where = "The server"
        self.sent = False
        self.hops: list[Hop] = []

    def facts(self) -> dict[str, Any]:
        """Return the way so far, for whoever reads the failure."""
        hops = [{"status": h.status, "url": h.url, "location": h.location} for h in self.hops]
        return {"hops": hops} if hops else {}

    async def run(self) -> Answer:
        policy, jar = self._client.policy, Jar()
        where = target(self._request.url, policy)
        while True:
            self.where, self.sent = where.host, not self._request.safe
            found = await self._exchanged(where, jar)
            location = header(found.headers, "location")
            if found.status not in _REDIRECTS or location is None:
                return self._answer(found, None)
            hop = Hop(found.status, where.url, shown(joined(where, location)))
            onward = self._onward(found, location, hop)
            if onward is None:
                return self._answer(found, hop)
            self.hops.append(hop)
            where, self._request = onward

    async def _exchanged(self, where: Target, jar: Jar) -> Exchange:
        async def send(request: Request) -> Exchange:
            return await self._client.exchange(request, where, jar, self._most)

        if self._via is None or jar.header(where) is not None:
            return await send(self._request)
        return await self._via(self._request, where, send)

    def _onward(
        self, found: Exchange, location: str, hop: Hop
    ) -> tuple[Target, Request] | None:
        """Return where a redirect leads and what is asked there; None to end here.

        Raises:
            NetError: it leads where nothing is asked, or nowhere.
        """
        if self._limit == 0:
            return None
        if len(self.hops) >= self._limit:
            self.hops.append(hop)
            text = f"More than {self._limit} redirects; the last leads to {hop.location}."
            raise NetError(text, code="net.redirect_loop")
        try:
            there = target(joined(found.target, location), self._client.policy)
        except NetError as error:
            self.hops.append(hop)
            text = f"A redirect leads where nothing is asked. {error.text}"
            raise NetError(text, code=error.code, details=error.details) from error
        same = there.origin == found.target.origin
        if not same and self._follow is not None and not self._follow(found.target, there):
            return None
        request = next_request(self._request, found.status, found.target, there)
        return None if request is None else (there, request)

    def _answer(self, found: Exchange, redirect: Hop | None) -> Answer:
        return Answer(
            status=found.status,
            headers=found.headers,
            body=found.body.data,
            url=found.target.url,
            hops=tuple(self.hops),
            redirect=redirect,
            complete=found.body.complete,
            problem=found.body.problem,
            wire=found.body.wire,
            http=found.http,
            address=found.address,
            age=found.age,
        )


def _text(value: bytes) -> str:
    """Return a header's value; some servers send UTF-8, the rest is Latin-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
