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

    __slots__ = ("claims", "future", "granted", "left", "number")

    def __init__(
        self, claims: tuple[Claim, ...], number: int, future: asyncio.Future[None]
    ) -> None:
        self.claims = claims
        self.number = number
        self.future = future
        self.granted = False
        self.left = False


Lane = deque[Waiter]


class _Lanes:
    """Waiters in line, those with the same claims one behind the other.

    While the first of a lane cannot go, none behind it can, so only heads are looked
    at; and an index by key finds the lanes that touch given claims.
    """

    __slots__ = ("_at", "_below", "_lanes")

    def __init__(self) -> None:
        self._lanes: dict[tuple[Claim, ...], Lane] = {}
        # By key: lanes with a claim there (or below), and whether it is exclusive.
        self._at: dict[str, dict[tuple[Claim, ...], bool]] = {}
        self._below: dict[str, dict[tuple[Claim, ...], bool]] = {}

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def add(self, waiter: Waiter) -> None:
        """Put a waiter at the end of its lane."""
        claims = waiter.claims
        lane = self._lanes.get(claims)
        if lane is not None:
            lane.append(waiter)
            return
        self._lanes[claims] = deque((waiter,))
        for key, exclusive, above in claims:
            self._at.setdefault(key, {})[claims] = exclusive
            for higher in above:
                below = self._below.setdefault(higher, {})
                below[claims] = exclusive or below.get(claims, False)

    def head(self, claims: tuple[Claim, ...]) -> Waiter | None:
        """Return the first of a lane, after dropping those that have left."""
        lane = self._lanes.get(claims)
        while lane and lane[0].left:
            lane.popleft()
        if lane:
            return lane[0]
        if lane is not None:
            self._remove(claims)
        return None

    def pop(self, claims: tuple[Claim, ...]) -> None:
        """Take the first of a lane out."""
        self._lanes[claims].popleft()

    def touching(self, claims: tuple[Claim, ...]) -> dict[tuple[Claim, ...], bool]:
        """Return the lanes that touch claims, and whether they conflict with them."""
        found: dict[tuple[Claim, ...], bool] = {}
        for key, exclusive, above in claims:
            for index in (self._at.get(key), self._below.get(key), *map(self._at.get, above)):
                for lane, theirs in (index or {}).items():
                    found[lane] = exclusive or theirs or found.get(lane, False)
        return found

    def _remove(self, claims: tuple[Claim, ...]) -> None:
        del self._lanes[claims]
        for key, _, above in claims:
            for index, place in ((self._at, key), *((self._below, higher) for higher in above)):
                lanes = index.get(place, {})
                lanes.pop(claims, None)
                if not lanes:
                    index.pop(place, None)


class Locks:
    """Claims that are held, and those that wait. Used from one event loop only."""

    def __init__(self) -> None:
        self._held = _Table()
        self._waiting = _Table()
        self._lanes = _Lanes()
        self._number = 0
        self._count = 0

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return self._count

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
        self._count += 1
        future = asyncio.get_running_loop().create_future()
        waiter = Waiter(claims, self._number, future)
        self._lanes.add(waiter)
        self._waiting.add(claims)
        return waiter

    def withdraw(self, waiter: Waiter) -> None:
        """Leave the line, or give the claims back if they were just given."""
        if waiter.granted:
            self.give(waiter.claims)
            return
        if not waiter.left:
            waiter.left = True
            self._count -= 1
            self._waiting.add(waiter.claims, -1)
        self._advance(waiter.claims)

    def give(self, claims: tuple[Claim, ...]) -> None:
        """Give claims back, and let those go who waited for them."""
        self._held.add(claims, -1)
        if self._lanes:
            self._advance(claims)

    def blocked_by(self, claims: tuple[Claim, ...]) -> str:
        """Return, in words, the first claim that has to be waited for."""
        key = self._held.conflict(claims) or self._waiting.conflict(claims) or ""
        kind, _, value = key.partition(":")
        return f"{kind} {value}" if value else f"any {kind}"

    def _advance(self, freed: tuple[Claim, ...]) -> None:
        """Grant what can be granted now; only who touches what was freed can be."""
        queue: list[tuple[int, Waiter]] = []
        for claims in self._lanes.touching(freed):
            self._enqueue(queue, claims)
        while queue:
            _, waiter = heapq.heappop(queue)
            if self._held.conflict(waiter.claims) is None and not self._overtakes(waiter):
                self._grant(waiter)
                self._enqueue(queue, waiter.claims)

    def _enqueue(self, queue: list[tuple[int, Waiter]], claims: tuple[Claim, ...]) -> None:
        head = self._lanes.head(claims)
        if head is not None:
            heapq.heappush(queue, (head.number, head))

    def _overtakes(self, waiter: Waiter) -> bool:
        """Whether somebody who asked earlier waits for what conflicts with it."""
        for claims, conflicts in self._lanes.touching(waiter.claims).items():
            if conflicts:
                head = self._lanes.head(claims)
                if head is not None and head.number < waiter.number:
                    return True
        return False

    def _grant(self, waiter: Waiter) -> None:
        self._lanes.pop(waiter.claims)
        self._count -= 1
        self._waiting.add(waiter.claims, -1)
        try:
            # No look before: a signal may cancel it between any two steps.
            waiter.future.set_result(None)
        except asyncio.InvalidStateError:
            # It was cancelled and has not withdrawn yet: it is out of line, and gets
            # nothing.
            waiter.left = True
            return
        self._held.add(waiter.claims)
        waiter.granted = True
