"""Connections made to the very address that was judged, under the name that was asked."""

from __future__ import annotations

import asyncio
import time

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import httpcore2

from .addresses import parse_address
from .faults import NetError
from .policy import NetPolicy
from .resolving import Resolver, judged_addresses


if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream


__all__ = ["PinnedBackend", "reason_of"]

# Time that an address gets before the next one is tried beside it (RFC 8305).
_HEAD_START = 0.25


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections for a pool: resolves a name once, judges, connects to what it judged.

    The pool above goes on using the name, for the ``Host`` header and for the
    certificate.

    Args:
        policy: Which addresses may be connected to.
        resolver: What turns names into addresses.
        exempt: Host and port of a proxy that policy names, which is connected to as it is.
    """

    def __init__(
        self, policy: NetPolicy, resolver: Resolver, *, exempt: tuple[str, int] | None = None
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._exempt = exempt
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        """Resolve, judge and connect."""
        started = time.monotonic()
        host = host.strip("[]")
        if (host, port) == self._exempt:
            return await self._inner.connect_tcp(host, port, timeout)
        limit = self._policy.connect_timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                addresses = await judged_addresses(host, self._policy, self._resolver)
                stream = await self._race(addresses, port)
        except TimeoutError as error:
            spent = time.monotonic() - started
            text = f"{host} could not be connected to within {spent:.3g} s."
            raise NetError(text, code="net.connect_timeout") from error
        await self._confirm(stream, addresses, host)
        return stream

    async def connect_unix_socket(self, *_: Any, **__: Any) -> AsyncNetworkStream:
        """Refuse: nothing on this machine is asked that way."""
        text = "Sockets of this machine are not asked."
        raise NetError(text, code="net.address_refused")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _race(self, addresses: Sequence[str], port: int) -> AsyncNetworkStream:
        """Try the addresses one after the other, the next beside one that is slow."""
        if len(addresses) == 1:
            return await self._one(addresses[0], port)
        waiting = list(_alternated(addresses))
        running: set[asyncio.Task[AsyncNetworkStream]] = set()
        failed: NetError | None = None
        try:
            while waiting or running:
                if waiting:
                    running.add(asyncio.create_task(self._one(waiting.pop(0), port)))
                done, running = await asyncio.wait(
                    running,
                    timeout=_HEAD_START if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in done:
                    error = task.exception()
                    if error is None:
                        running |= done - {task}
                        return task.result()
                    failed = error if isinstance(error, NetError) else failed
        finally:
            await _dropped(running)
        raise failed or NetError("No address could be connected to.", code="net.connect_failed")

    async def _one(self, address: str, port: int) -> AsyncNetworkStream:
        try:
            return await self._inner.connect_tcp(address, port)
        except httpcore2.ConnectError as error:
            reason = reason_of(error)
            text = f"{address} port {port} could not be connected to: {reason}."
            raise NetError(text, code="net.connect_failed") from error

    async def _confirm(
        self, stream: AsyncNetworkStream, addresses: Sequence[str], host: str
    ) -> None:
        """Look at the socket itself: its other end is one that was judged."""
        peer = stream.get_extra_info("server_addr")
        if peer is not None and parse_address(str(peer[0])) in map(parse_address, addresses):
            return
        await stream.aclose()
        text = f"The connection for {host} did not lead to the address that was judged."
        raise NetError(text, code="net.address_refused")


async def _dropped(tasks: Iterable[asyncio.Task[AsyncNetworkStream]]) -> None:
    """Cancel what runs, and close what was connected all the same."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(result, BaseException):
            await result.aclose()


def _alternated(addresses: Sequence[str]) -> Iterable[str]:
    """Give addresses of both families in turn, so that a broken one costs one wait."""
    first = [a for a in addresses if (":" in a) == (":" in addresses[0])]
    other = [a for a in addresses if a not in first]
    while first or other:
        if first:
            yield first.pop(0)
        if other:
            yield other.pop(0)


def reason_of(error: BaseException) -> str:
    """Return the operating system's own words for why a connection failed."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        if isinstance(seen, BaseExceptionGroup) and seen.exceptions:
            seen = seen.exceptions[0]
            continue
        seen = seen.__cause__ or seen.__context__
    return str(error)[:200] or type(error).__name__
