"""How many requests one host gets at once, and how many in a second."""

from __future__ import annotations

import asyncio
import time

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs


__all__ = ["Gates"]

_MOST_HOSTS = 1024


@attrs.define
class _Gate:
    permits: asyncio.Semaphore
    next_at: float = 0.0
    users: int = 0


class Gates:
    """One gate for each host.

    Args:
        per_host: Requests at once.
        rate: Requests in a second; 0: no limit.
    """

    def __init__(self, per_host: int, rate: float = 0.0) -> None:
        self._per_host = per_host
        self._rate = rate
        self._gates: OrderedDict[str, _Gate] = OrderedDict()

    @asynccontextmanager
    async def through(self, host: str) -> AsyncIterator[None]:
        """Wait until a host may be asked, and hold its place meanwhile."""
        gate = self._gates.get(host)
        if gate is None:
            gate = self._gates[host] = _Gate(asyncio.Semaphore(self._per_host))
            self._shed()
        self._gates.move_to_end(host)
        gate.users += 1
        try:
            async with gate.permits:
                await self._paced(gate)
                yield
        finally:
            gate.users -= 1

    def hold(self, host: str, seconds: float) -> None:
        """Ask a host nothing for a while, as it wished (``Retry-After``)."""
        gate = self._gates.get(host)
        if gate is not None:
            gate.next_at = max(gate.next_at, time.monotonic() + seconds)

    def held(self, host: str) -> float:
        """Return the seconds for which a host wishes to be left alone."""
        gate = self._gates.get(host)
        return 0.0 if gate is None else max(0.0, gate.next_at - time.monotonic())

    async def _paced(self, gate: _Gate) -> None:
        now = time.monotonic()
        wait = gate.next_at - now
        if self._rate > 0:
            gate.next_at = max(gate.next_at, now) + 1.0 / self._rate
        if wait > 0:
            await asyncio.sleep(wait)

    def _shed(self) -> None:
        """Forget hosts that nobody asks any more, the longest unused first."""
        now = time.monotonic()
        excess = len(self._gates) - _MOST_HOSTS
        idle = (h for h, g in self._gates.items() if g.users == 0 and g.next_at <= now)
        for host in [host for host, _ in zip(idle, range(max(excess, 0)), strict=False)]:
            del self._gates[host]
