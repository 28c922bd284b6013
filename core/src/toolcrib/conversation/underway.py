"""The calls of one session that are under way, so that stopping it can end them."""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolcrib.errors import RecordError
from toolcrib.execution import CancelToken


if TYPE_CHECKING:
    from toolcrib.record import Ledger


__all__ = ["Underway"]

_CLOSED = "The session was closed."
_LOOK = 0.25
"""Seconds between looks for an order to stop; what is over before needs none."""


class Underway:
    """What one session has begun and not ended.

    Args:
        ledger: Where orders to stop are; one that other processes see is looked into.
        conversation: Whose orders.
        time: Seconds since the epoch.

    Attributes:
        closed: Whether nothing may begin any more.
    """

    def __init__(self, ledger: Ledger, conversation: str, time: Callable[[], float]) -> None:
        self.closed = False
        self._begun: dict[CancelToken, asyncio.Task[Any] | None] = {}
        self._left: asyncio.Event | None = None
        self._ledger = ledger if ledger.shared else None
        self._conversation = conversation
        self._time = time
        self._timer: asyncio.TimerHandle | None = None

    def enter(self) -> CancelToken:
        """Begin something in this task; return what cancels it."""
        token = CancelToken()
        self._begun[token] = asyncio.current_task()
        if self._timer is None and self._ledger is not None:
            # One timer for all that begins meanwhile: most of it is over when it is due.
            self._wait(self._time())
        return token

    def leave(self, token: CancelToken) -> None:
        """End it."""
        del self._begun[token]
        if self._left is not None:
            self._left.set()

    def stop(self, reason: str, but: asyncio.Task[Any] | None = None) -> int:
        """Cancel what has begun, and return how much that was.

        Args:
            reason: A sentence for the outcomes.
            but: A task that is left alone: it waits for the end of the others itself.
        """
        tokens = [token for token, task in self._begun.items() if task is not but]
        for token in tokens:
            token.cancel(reason)
        return len(tokens)

    def close(self, but: asyncio.Task[Any] | None = None) -> None:
        """Let nothing begin, and cancel what has begun."""
        self.closed = True
        self.stop(_CLOSED, but)

    def _wait(self, since: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LOOK, self._looked, since)

    def _looked(self, since: float) -> None:
        self._timer = None
        if not self._begun or self._ledger is None:
            return
        now = self._time()
        order = None
        # Where nobody can say, calls go on; the next look may do.
        with contextlib.suppress(RecordError):
            order = self._ledger.stopped(self._conversation, since=since)
        if order is not None:
            self.stop(f"{order}.")
        self._wait(since if order is None else now)

    async def ended(self, timeout: float, but: asyncio.Task[Any] | None = None) -> bool:
        """Wait for the end of all that has begun; return whether it came in time."""
        self._left = asyncio.Event()
        try:
            async with asyncio.timeout(timeout):
                while any(task is not but for task in self._begun.values()):
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            return False
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        return True
