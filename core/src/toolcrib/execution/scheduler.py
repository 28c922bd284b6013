"""Who runs now: limits for all, per pack and per session, fair between sessions."""

from __future__ import annotations

import asyncio
import contextlib

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .locks import Claim, Locks


__all__ = ["Limits", "QueueFullError", "Scheduler", "Turn"]

OnQueued = Callable[[Mapping[str, Any]], None]


class Limits(Protocol):
    """How much runs at once.

    ``queue`` bounds the calls of one session that wait; all sessions together may have
    four times as many waiting, so that one flooded session leaves room for others.
    """

    @property
    def total(self) -> int:
        """Calls that run at once."""

    @property
    def pack(self) -> int:
        """Calls of one pack that run at once."""

    @property
    def session(self) -> int:
        """Calls of one session that run at once."""

    @property
    def queue(self) -> int:
        """Calls of one session that may wait."""


class QueueFullError(Exception):
    """Raised when too many calls wait already; internal, becomes ``call.busy``."""


class Turn:
    """One call's place: the claims it holds, and whether it holds a permit."""

    __slots__ = ("claims", "future", "number", "pack", "permit", "session")

    def __init__(self, session: str, pack: str, claims: tuple[Claim, ...]) -> None:
        self.session = session
        self.pack = pack
        self.claims = claims
        self.permit = False
        self.number = 0
        self.future: asyncio.Future[None] | None = None


class Scheduler:
    """Hands out turns. Locks are taken before a permit, so that no permit waits idle.

    Inside a session calls go in order, except that a call of a pack at its limit does
    not hold up calls of other packs. Between sessions it goes round: each gets one
    permit before any gets a second. Owned by one toolbox, used from its event loop.
    """

    def __init__(self, limits: Limits) -> None:
        for name in ("total", "pack", "session", "queue"):
            value = getattr(limits, name)
            # Without a queue every call that cannot start at once is busy.
            least = 0 if name == "queue" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                text = f"limit {name!r} is a whole number from {least}, not {value!r}"
                raise ValueError(text)
        self._total = limits.total
        self._pack = limits.pack
        self._session = limits.session
        self._queue = limits.queue
        self._locks = Locks()
        self._running = 0
        self._by_pack: dict[str, int] = {}
        self._by_session: dict[str, int] = {}
        # Calls that wait for anything, by session; the bound of the queue counts these.
        self._waiting: dict[str, int] = {}
        self._lines: dict[str, dict[str, deque[Turn]]] = {}
        self._round: deque[str] = deque()
        self._number = 0

    @property
    def running(self) -> int:
        """How many calls hold a permit."""
        return self._running

    @property
    def waiting(self) -> int:
        """How many calls wait for a lock or a permit."""
        return sum(self._waiting.values())

    def enter(self, session: str, pack: str, claims: tuple[Claim, ...]) -> Turn | None:
        """Return a turn if one is free right now, without waiting."""
        # Written out, as this is on the way of every call.
        in_session = self._by_session.get(session, 0)
        in_pack = self._by_pack.get(pack, 0)
        if (
            self._running >= self._total
            or in_session >= self._session
            or in_pack >= self._pack
            or (claims and not self._locks.take(claims))
        ):
            return None
        turn = Turn(session, pack, claims)
        turn.permit = True
        self._running += 1
        self._by_session[session] = in_session + 1
        self._by_pack[pack] = in_pack + 1
        return turn

    async def wait(
        self,
        session: str,
        pack: str,
        claims: tuple[Claim, ...],
        on_queued: OnQueued | None = None,
    ) -> Turn:
        """Return a turn, waiting for locks and then for a permit; cancellable throughout.

        Raises:
            QueueFullError: too many calls wait already.
        """
        turn = self.enter(session, pack, claims)
        if turn is not None:
            return turn
        self._check_room(session)
        self._waiting[session] = self._waiting.get(session, 0) + 1
        try:
            turn = Turn(session, pack, claims)
            if claims and not self._locks.take(claims):
                await self._lock(claims, on_queued)
            try:
                await self._permit(turn, on_queued)
            except BaseException:
                if claims:
                    self._locks.give(claims)
                raise
            return turn
        finally:
            _less(self._waiting, session)

    def leave(self, turn: Turn) -> None:
        """Give back everything that a turn holds."""
        self.rest(turn)
        if turn.claims:
            claims, turn.claims = turn.claims, ()
            self._locks.give(claims)

    def rest(self, turn: Turn) -> None:
        """Give the permit to others for the time of a pause; the claims stay held."""
        if not turn.permit:
            return
        turn.permit = False
        self._running -= 1
        _less(self._by_pack, turn.pack)
        _less(self._by_session, turn.session)
        if self._round:
            self._drain()

    async def resume(self, turn: Turn, on_queued: OnQueued | None = None) -> None:
        """Get a permit again after a rest."""
        if self._limit(turn.session, turn.pack) is None:
            self._start(turn)
        else:
            await self._permit(turn, on_queued)

    def _check_room(self, session: str) -> None:
        if self._waiting.get(session, 0) >= self._queue:
            text = f"{self._queue} calls of this session wait already"
            raise QueueFullError(text)
        if self.waiting >= 4 * self._queue:
            text = f"{4 * self._queue} calls wait already"
            raise QueueFullError(text)

    def _limit(self, session: str, pack: str) -> tuple[str, int, int] | None:
        """Return the limit that binds now, as (scope, running, limit), or None."""
        if self._running >= self._total:
            return "total", self._running, self._total
        count = self._by_session.get(session, 0)
        if count >= self._session:
            return "session", count, self._session
        count = self._by_pack.get(pack, 0)
        if count >= self._pack:
            return "pack", count, self._pack
        return None

    def _start(self, turn: Turn) -> None:
        turn.permit = True
        self._running += 1
        counts = self._by_pack
        counts[turn.pack] = counts.get(turn.pack, 0) + 1
        counts = self._by_session
        counts[turn.session] = counts.get(turn.session, 0) + 1

    async def _lock(self, claims: tuple[Claim, ...], on_queued: OnQueued | None) -> None:
        if on_queued is not None:
            on_queued(
                {
                    "scope": "resource",
                    "resource": self._locks.blocked_by(claims),
                    "position": self._locks.waiting + 1,
                }
            )
        waiter = self._locks.ask(claims)
        try:
            await waiter.future
        except BaseException:
            self._locks.withdraw(waiter)
            raise

    async def _permit(self, turn: Turn, on_queued: OnQueued | None) -> None:
        binding = self._limit(turn.session, turn.pack)
        if binding is None:
            self._start(turn)
            return
        future = self._join(turn)
        try:
            if on_queued is not None:
                scope, running, limit = binding
                place = len(self._lines[turn.session][turn.pack])
                on_queued(
                    {"scope": scope, "running": running, "limit": limit, "position": place}
                )
            await future
        except BaseException:
            self._quit(turn)
            raise

    def _join(self, turn: Turn) -> asyncio.Future[None]:
        self._number += 1
        turn.number = self._number
        future = turn.future = asyncio.get_running_loop().create_future()
        lines = self._lines.get(turn.session)
        if lines is None:
            lines = self._lines[turn.session] = {}
            self._round.append(turn.session)
        lines.setdefault(turn.pack, deque()).append(turn)
        return future

    def _quit(self, turn: Turn) -> None:
        if turn.permit:
            # The permit came in the same moment as the cancellation.
            self.rest(turn)
            return
        line = self._lines.get(turn.session, {}).get(turn.pack)
        if line is not None and turn in line:
            line.remove(turn)
            self._tidy(turn.session, turn.pack)

    def _tidy(self, session: str, pack: str) -> None:
        lines = self._lines[session]
        if not lines[pack]:
            del lines[pack]
        if not lines:
            del self._lines[session]
            self._round.remove(session)

    def _drain(self) -> None:
        """Hand out what is free, one permit a session and round."""
        idle = 0
        while self._round and idle < len(self._round) and self._running < self._total:
            session = self._round[0]
            self._round.rotate(-1)
            idle = 0 if self._admit_one(session) else idle + 1

    def _admit_one(self, session: str) -> bool:
        if self._by_session.get(session, 0) >= self._session:
            return False
        best: Turn | None = None
        for pack, line in self._lines[session].items():
            if self._by_pack.get(pack, 0) < self._pack and (
                best is None or line[0].number < best.number
            ):
                best = line[0]
        if best is None:
            return False
        self._lines[session][best.pack].popleft()
        self._tidy(session, best.pack)
        if best.future is not None:
            # No look before: a signal may cancel it between any two steps.
            with contextlib.suppress(asyncio.InvalidStateError):
                best.future.set_result(None)
                self._start(best)
        return True


def _less(counts: dict[str, int], key: str) -> None:
    if counts[key] == 1:
        del counts[key]
    else:
        counts[key] -= 1
