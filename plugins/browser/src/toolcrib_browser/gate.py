"""One operation of a session at a time, in the order in which they came."""

from __future__ import annotations

import asyncio

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolcrib import Busy


__all__ = ["Gate"]


class Gate:
    """A line of bounded length; whoever waits may leave it.

    Args:
        most: How many may wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._left: asyncio.Future[Any] | None = None

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting

    def hold_for(self, work: asyncio.Future[Any]) -> None:
        """Let nobody in before some work has ended, although its owner has left."""
        self._left = work

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it.

        Raises:
            Busy: too many wait already (``browser.busy``).
        """
        if self._waiting >= self._most:
            text = (
                f"{self._waiting} operations of this session wait for the browser already. "
                "Wait for their results before asking for more."
            )
            raise Busy(text, code="browser.busy")
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        try:
            left, self._left = self._left, None
            if left is not None and not left.done():
                await asyncio.wait({left})
            yield
        finally:
            self._lock.release()
