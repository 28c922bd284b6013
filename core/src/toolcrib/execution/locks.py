"""Which calls may run beside each other: conflict sets over resources.

A call claims everything it touches at once, so no call ever holds one resource while it
waits for another, and no two calls can wait for each other. Claims are kept sorted;
earlier waiters go first wherever their claims meet, so nobody starves.
"""

from __future__ import annotations

import asyncio
import heapq

from collections import deque
from urllib.parse import urlsplit

from toolcrib.signature import Resource, Signature
from toolcrib.tool import Tool
from toolcrib.vocabulary import Access, Concurrency, Effect


__all__ = ["Claim", "Locks", "Waiter", "claims_of"]

# What an effect without a resource claims, and whether it writes it. Tools that declare
# themselves shared say that they may run beside others, so only plain writes count.
_TYPES: dict[Effect, tuple[tuple[str, bool], ...]] = {
    Effect.FS_READ: (("path", False),),
    Effect.FS_WRITE: (("path", True),),
    Effect.NET_READ: (("net", False),),
    Effect.NET_WRITE: (("net", True),),
    Effect.PROCESS: (("command", False),),
    Effect.HOST_STATE: (("table", True),),
    Effect.AGENT: (("agent", False),),
    Effect.BROWSER: (("browser", False),),
    Effect.DEVICE: (("device", False),),
}
_TYPE_OF_RESOURCE = {
    "path": "path",
    "host": "net",
    "url": "net",
    "command": "command",
    "table": "table",
}
# These effects have no resource type of their own: any type that the core does not know
# (a page, a server) says what the call touches.
_CUSTOM = frozenset({Effect.AGENT, Effect.BROWSER, Effect.DEVICE})

Claim = tuple[str, bool, tuple[str, ...]]
"""``(key, exclusive, keys above it)``; the first key above is its whole type."""


def _key(resource: Resource) -> tuple[str, tuple[str, ...]]:
    """Return a resource's key, and the keys of everything that contains it."""
    kind = _TYPE_OF_RESOURCE.get(resource.type, resource.type)
    value = resource.value
    if kind == "path":
        return _nested("path:", value.strip("/"))
    if resource.type == "host":
        return _nested("net:", value.lower().partition(":")[0])
    if resource.type == "url":
        try:
            parts = urlsplit(value)
            inner = f"{parts.hostname or ''}{parts.path}"
        except ValueError:
            # Not an address: it may be any.
            inner = ""
        return _nested("net:", inner.rstrip("/"))
    return f"{kind}:{value}", (f"{kind}:",)


def _nested(root: str, value: str) -> tuple[str, tuple[str, ...]]:
    if not value:
        return root, ()
    above = [root]
    at = value.find("/")
    while at >= 0:
        above.append(root + value[:at])
        at = value.find("/", at + 1)
    return root + value, tuple(above)


def claims_of(tool: Tool, signature: Signature) -> tuple[Claim, ...]:
    """Return what a call claims: sorted, one claim a resource, the stronger one kept.

    ``exclusive`` tools claim all they touch for themselves; ``shared`` ones only what
    they write. An effect that no resource accounts for claims its whole type.
    """
    effects = signature.effects or tool.effects
    if not effects and not signature.resources:
        return ()
    alone = tool.concurrency is Concurrency.EXCLUSIVE
    found: dict[str, tuple[bool, tuple[str, ...]]] = {}
    named = set()
    for resource in signature.resources:
        key, above = _key(resource)
        named.add((_TYPE_OF_RESOURCE.get(resource.type), resource.access))
        exclusive = alone or resource.access is Access.WRITE
        found[key] = (exclusive or found.get(key, (False,))[0], above)
    for effect in effects:
        for kind, writes in _TYPES[effect]:
            if not _accounted(effect, kind, writes=writes, named=named):
                key = f"{kind}:"
                found[key] = (alone or writes or found.get(key, (False,))[0], ())
    return tuple((key, *found[key]) for key in sorted(found))


def _accounted(
    effect: Effect, kind: str, *, writes: bool, named: set[tuple[str | None, Access]]
) -> bool:
    if effect in _CUSTOM:
        return any(name is None for name, _ in named)
    if kind in {"command", "table"}:
        return any(name == kind for name, _ in named)
    return (kind, Access.WRITE if writes else Access.READ) in named


class _Table:
    """Counts of claims at each key and below it, so that a conflict is a few look-ups."""

    __slots__ = ("_at", "_below")

    def __init__(self) -> None:
        # [shared, exclusive] claims exactly at a key, and somewhere below it.
        self._at: dict[str, list[int]] = {}
        self._below: dict[str, list[int]] = {}

    def add(self, claims: tuple[Claim, ...], step: int = 1) -> None:
        """Count claims in, or out with ``step`` -1."""
        for key, exclusive, above in claims:
            _count(self._at, key, exclusive, step)
            for higher in above:
                _count(self._below, higher, exclusive, step)

    def conflict(self, claims: tuple[Claim, ...]) -> str | None:
        """Return the key of the first claim that cannot be given now, or None."""
        at, below = self._at, self._below
        if not at:
            return None
        for key, exclusive, above in claims:
            for counts in (at.get(key), below.get(key), *map(at.get, above)):
                if counts is not None and (counts[1] or (exclusive and counts[0])):
                    return key
        return None


def _count(counts: dict[str, list[int]], key: str, exclusive: bool, step: int) -> None:  # noqa: FBT001
    entry = counts.get(key)
    if entry is None:
        entry = counts[key] = [0, 0]
    entry[exclusive] += step
    if not entry[0] and not entry[1]:
        del counts[key]


class Waiter:
    """One call that waits for its claims."""

    __slots__ = ("claims", "future", "gone", "number")

    def __init__(
        self, claims: tuple[Claim, ...], number: int, future: asyncio.Future[None]
    ) -> None:
        self.claims = claims
        self.number = number
        self.future = future
        self.gone = False


class Locks:
    """Claims that are held, and those that wait. Used from one event loop only."""

    def __init__(self) -> None:
        self._held = _Table()
        self._waiting = _Table()
        # Waiters with the same claims stand in one lane: while the first cannot go,
        # none of the others can, so a release looks at the heads of lanes only.
        self._lanes: dict[tuple[Claim, ...], deque[Waiter]] = {}
        self._number = 0

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(not w.gone for lane in self._lanes.values() for w in lane)

    def take(self, claims: tuple[Claim, ...]) -> bool:
        """Take all claims if nothing that is held or was asked for earlier conflicts."""
        if (
            self._held.conflict(claims) is not None
            or self._waiting.conflict(claims) is not None
        ):
            return False
        self._held.add(claims)
        return True

    def ask(self, claims: tuple[Claim, ...]) -> Waiter:
        """Stand in line; the waiter's future is set once all its claims are held."""
        self._number += 1
        future = asyncio.get_running_loop().create_future()
        waiter = Waiter(claims, self._number, future)
        self._lanes.setdefault(claims, deque()).append(waiter)
        self._waiting.add(claims)
        return waiter

    def withdraw(self, waiter: Waiter) -> None:
        """Leave the line, or give the claims back if they were just given."""
        if waiter.gone:
            return
        if waiter.future.done() and not waiter.future.cancelled():
            self.give(waiter.claims)
            return
        waiter.gone = True
        self._waiting.add(waiter.claims, -1)
        self._advance()

    def give(self, claims: tuple[Claim, ...]) -> None:
        """Give claims back, and let those go who waited for them."""
        self._held.add(claims, -1)
        if self._lanes:
            self._advance()

    def blocked_by(self, claims: tuple[Claim, ...]) -> str:
        """Return, in words, the first claim that has to be waited for."""
        key = self._held.conflict(claims) or self._waiting.conflict(claims) or ""
        kind, _, value = key.partition(":")
        return f"{kind} {value}" if value else f"any {kind}"

    def _head(self, claims: tuple[Claim, ...]) -> Waiter | None:
        lane = self._lanes[claims]
        # A waiter that is cancelled from outside withdraws a moment later; until then
        # it must not be given anything.
        while lane and (lane[0].gone or lane[0].future.done()):
            waiter = lane.popleft()
            if not waiter.gone:
                waiter.gone = True
                self._waiting.add(claims, -1)
        if not lane:
            del self._lanes[claims]
            return None
        return lane[0]

    def _advance(self) -> None:
        heads = [head for claims in list(self._lanes) if (head := self._head(claims))]
        queue = [(head.number, head) for head in heads]
        heapq.heapify(queue)
        ahead = _Table()
        while queue:
            _, waiter = heapq.heappop(queue)
            claims = waiter.claims
            if self._held.conflict(claims) is None and ahead.conflict(claims) is None:
                self._grant(waiter)
                head = self._head(claims)
                if head is not None:
                    heapq.heappush(queue, (head.number, head))
            else:
                ahead.add(claims)

    def _grant(self, waiter: Waiter) -> None:
        self._lanes[waiter.claims].popleft()
        self._waiting.add(waiter.claims, -1)
        self._held.add(waiter.claims)
        waiter.future.set_result(None)
