"""The calls of one session that are under way, so that closing it can end them."""

from __future__ import annotations

import asyncio

from typing import Any

from toolcrib.execution import CancelToken


__all__ = ["Underway"]

_REASON = "The session was closed."


class Underway:
    """What one session has begun and not ended.

    Attributes:
        closed: Whether nothing may begin any more.
    """

    def __init__(self) -> None:
        self.closed = False
        self._begun: dict[CancelToken, asyncio.Task[Any] | None] = {}
        self._left: asyncio.Event | None = None

    def enter(self) -> CancelToken:
        """Begin something in this task; return what cancels it."""
        token = CancelToken()
        self._begun[token] = asyncio.current_task()
        return token

    def leave(self, token: CancelToken) -> None:
        """End it."""
        del self._begun[token]
        if self._left is not None:
            self._left.set()

    def cancel(self, but: asyncio.Task[Any] | None = None) -> None:
        """Let nothing begin, and cancel what has begun.

        Args:
            but: A task that is left alone: it waits for the end of the others itself.
        """
        self.closed = True
        for token, task in list(self._begun.items()):
            if task is not but:
                token.cancel(_REASON)

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
        return True
