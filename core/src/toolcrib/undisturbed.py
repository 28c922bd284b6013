"""Do to its end what must not stop in the middle, although whoever waits is cancelled."""

from __future__ import annotations

import asyncio

from collections.abc import Awaitable
from typing import Any


__all__ = ["finished", "settled"]


async def settled(task: asyncio.Future[Any]) -> bool:
    """Wait for a task, even while being cancelled; return whether that happened.

    The caller owes whoever cancelled it an ``asyncio.CancelledError`` then.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


async def finished(work: Awaitable[None]) -> None:
    """Do work to its end although this task is cancelled meanwhile; then be cancelled.

    Closing must not stop in the middle: what is not closed then never is.
    """
    task = asyncio.ensure_future(work)
    if await settled(task):
        if not task.cancelled():
            task.exception()  # It is looked at, so that nobody warns of it.
        raise asyncio.CancelledError
    task.result()
