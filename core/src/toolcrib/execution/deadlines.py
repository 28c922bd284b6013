"""Deadlines of many calls on one timer.

A timer of its own would cost each call more than all the rest of its way, and nearly
all deadlines are never met. So they are noted in a dictionary, and one timer is set for
the earliest one seen; when it fires, whatever is due is told and it is set again.
"""

from __future__ import annotations

import asyncio

from collections.abc import Callable
from typing import Protocol

from toolcrib.context import Clock


__all__ = ["Deadlines", "Expires", "Handle", "Later"]


class Handle(Protocol):
    """A timer that can be stopped, such as ``asyncio.TimerHandle``."""

    def cancel(self) -> None:
        """Stop it."""


Later = Callable[[float, Callable[[], None]], Handle]


class Expires(Protocol):
    """What can be late."""

    def expire(self) -> None:
        """Hear that the deadline passed."""


class Deadlines:
    """When which call has to end. Used from one event loop at a time.

    Args:
        clock: Tells what is due.
        later: Sets the timer; None: the running loop's.
    """

    def __init__(self, clock: Clock, later: Later | None = None) -> None:
        self._clock = clock
        self._later = later
        self._due: dict[Expires, float] = {}
        self._next: float | None = None
        self._timer: Handle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._due)

    def add(self, what: Expires, seconds: float) -> float:
        """Let something expire after some seconds; return when that is on the clock."""
        due = self._clock.monotonic() + seconds
        self._due[what] = due
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # The timer went away with its loop.
            self._loop, self._next = loop, None
        if self._next is None or due < self._next:
            self._set(due, seconds)
        return due

    def remove(self, what: Expires) -> None:
        """Forget a deadline; one that is not there is forgotten already."""
        self._due.pop(what, None)

    def later(self, seconds: float, callback: Callable[[], None]) -> Handle:
        """Set a timer of its own."""
        return (self._later or asyncio.get_running_loop().call_later)(seconds, callback)

    def _set(self, due: float, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = due
        self._timer = self.later(seconds, self._fire)

    def _fire(self) -> None:
        self._next = self._timer = None
        now = self._clock.monotonic()
        for what in [what for what, due in self._due.items() if due <= now]:
            if self._due.pop(what, None) is not None:
                what.expire()
        if self._due:
            due = min(self._due.values())
            self._set(due, max(due - now, 0.001))
