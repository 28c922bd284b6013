"""Deadlines and cancellation of one call, told apart and never leaked to others.

A handler runs inside the task of its call, so the common case needs no task, no timer
task and no cancel scope of its own. To interrupt it the task is cancelled, and that
cancellation is taken back (``uncancel``) before the call's outcome is returned: nobody
above ever sees it. Nor does anybody see one that a handler asked for itself. One that
came from above stays counted on the task, for the caller to honour once the outcome is
written down.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Callable
from typing import Any, Literal

from toolcrib.errors import StageError

from .deadlines import Deadlines, Handle
from .interrupts import may_come_from_a_signal


__all__ = ["CancelToken", "Cause"]

Cause = Literal["cancelled", "deadline"]


class CancelToken:
    """Whether a call was cancelled, and the means to cancel it.

    Make one for a call, give it to *execute*, and call :meth:`cancel` on the event loop
    at any time: before the call starts, while it waits for its turn, or while it runs.
    Handlers see it as ``ctx.cancellation``.

    Attributes:
        cause: Why the call has to end, or None.
        reason: A sentence on who cancelled it, for the outcome.
        deadline: When the call has to end, on the clock's monotonic time; None before
            the handler starts, or without a limit.
        insisted: Whether the grace after that has passed as well.
        closed: Whether the coroutine of the call was thrown away.
        above: Whether the task was cancelled, and not only the call; known at its end.
    """

    __slots__ = (
        "__weakref__",
        "_base",
        "_deadlines",
        "_grace",
        "_limit",
        "_listeners",
        "_own",
        "_sent",
        "_task",
        "_timer",
        "_undelivered",
        "_watch",
        "above",
        "cause",
        "closed",
        "deadline",
        "insisted",
        "reason",
    )

    def __init__(self) -> None:
        self.cause: Cause | None = None
        self.reason = ""
        self.deadline: float | None = None
        self.insisted = False
        self.closed = False
        self.above = False
        self._limit = (0.0, "")
        self._listeners: list[Callable[[], None]] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._timer: Handle | None = None
        self._watch: Handle | None = None
        self._deadlines: Deadlines | None = None
        self._grace = 0.0
        self._sent = 0
        self._own = 0
        self._base = 0
        self._undelivered = False

    @property
    def requested(self) -> bool:
        """Whether the call was cancelled or its deadline passed."""
        return self.cause is not None

    @property
    def owes(self) -> bool:
        """Whether the handler cancelled its own task, which is to be taken back."""
        return self._own > 0

    def check(self) -> None:
        """Raise ``asyncio.CancelledError`` if the call was cancelled or is too late."""
        if self.cause is not None:
            raise asyncio.CancelledError(self.reason)

    def cancel(self, reason: str = "The call was cancelled.") -> None:
        """Cancel the call; a second time changes nothing."""
        self._request("cancelled", reason)

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have a function called, once, when the call has to end; return what undoes it.

        For handlers that run in a thread and wait for something that can be woken. It
        is called on the event loop, or at once if it is late already.
        """
        if self._listeners is None:
            self._listeners = []
        listeners = self._listeners
        listeners.append(callback)
        if self.cause is not None:
            self._call_listeners()

        def forget() -> None:
            with contextlib.suppress(ValueError):
                listeners.remove(callback)

        return forget

    def attach(
        self, task: asyncio.Task[Any] | None, deadlines: Deadlines, grace: float
    ) -> None:
        """Tie the token to the task that runs the call; for *execute*."""
        if task is None:
            text = "execute runs inside an asyncio task"
            raise StageError(text)
        self._task = task
        self._deadlines = deadlines
        self._grace = grace
        # One that is still to be thrown at the next await came before the call, and is
        # for the call all the same.
        pending = getattr(task, "_must_cancel", False)
        self._base = task.cancelling() - (1 if pending else 0)

    def arm(self, seconds: float, what: str) -> float:
        """Set a limit, and say what it limits; return when it passes. For *execute*."""
        assert self._deadlines is not None  # noqa: S101 - attached before
        self._limit = (seconds, what)
        return self._deadlines.add(self, seconds)

    def expire(self) -> None:
        """Hear that the limit passed."""
        seconds, what = self._limit
        self._request("deadline", f"The limit of {seconds:.6g} s for {what} passed.")

    def disarm(self) -> None:
        """Stop the timers, of the limit and of the grace."""
        if self._deadlines is not None:
            self._deadlines.remove(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def release(self) -> None:
        """Let go of the task; for *execute*, when nothing was sent."""
        self._task = None
        if self.deadline is not None:
            self.disarm()

    async def settle(self) -> None:
        """Take back every cancellation that was sent; for *execute*, at the very end."""
        task, self._task = self._task, None
        self.disarm()
        if task is None:
            return
        if self._undelivered and not self.closed:
            # Sent while the task was running: it is thrown at the next await, which
            # must not be one of the caller's.
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self._undelivered = False
        for _ in range(self._sent + self._own):
            task.uncancel()
        self._sent = self._own = 0
        self.above = task.cancelling() > self._base

    def honour(self) -> None:
        """Raise ``asyncio.CancelledError`` if the task itself was cancelled meanwhile.

        *execute* always returns an outcome; call this once it is written down, so that
        whoever cancelled the task is obeyed.
        """
        if self.above:
            raise asyncio.CancelledError(self.reason)

    def delivered(self, *, inside: bool = False) -> None:
        """Note that a cancellation arrived, and whose it was.

        Args:
            inside: It arrived in a handler, so it may be that of a scope of the
                handler's own (``asyncio.timeout``, a cancel scope of anyio), which takes
                it back when it is left. What is still there after the grace, or when the
                handler has ended, came from above.
        """
        if self._undelivered:
            self._undelivered = False
        elif self.cause is None and self._is_from_above():
            if not inside:
                self._cancelled_from_above()
                self._count_down()
            elif self._watch is None and self._deadlines is not None:
                self._watch = self._deadlines.later(self._grace, self._look_again)

    def step(self, run: Callable[..., Any], move: Callable[[Any], Any], value: Any) -> Any:
        """Move a handler on; a cancellation meanwhile is its own, or that of a signal."""
        task = self._task
        if task is None:
            return run(move, value)
        before = task.cancelling() - self._sent
        try:
            return run(move, value)
        finally:
            change = task.cancelling() - self._sent - before
            if change > 0 and not may_come_from_a_signal(task):
                self._own += change
                self._undelivered = True
            elif change < 0:
                self._own = max(0, self._own + change)

    def ended(self) -> None:
        """Note that the handler ended: a cancellation that is still there is not its own."""
        self._stop_watching()
        if self.cause is None and self._is_from_above():
            self._cancelled_from_above()

    def _is_from_above(self) -> bool:
        task = self._task
        return task is not None and task.cancelling() > self._base + self._sent + self._own

    def _cancelled_from_above(self) -> None:
        self.cause = "cancelled"
        self.reason = "The task that ran the call was cancelled."
        self._call_listeners()

    def _look_again(self) -> None:
        self._watch = None
        if self.cause is None and self._is_from_above():
            self._cancelled_from_above()
            self._count_down()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _request(self, cause: Cause, reason: str) -> None:
        if self.cause is not None:
            return
        self.cause = cause
        self.reason = reason
        self._call_listeners()
        if self._task is not None:
            self.disarm()
            self._send()
            self._count_down()

    def _call_listeners(self) -> None:
        # Taken one by one: the loop and a thread that comes late may both be here.
        while self._listeners:
            try:
                callback = self._listeners.pop()
            except IndexError:
                return
            try:
                callback()
            except Exception:  # noqa: BLE001, S112 - a handler's function; the rest must hear
                continue

    def _count_down(self) -> None:
        self.disarm()
        if self._deadlines is not None:
            self._timer = self._deadlines.later(self._grace, self._insist)

    def _insist(self) -> None:
        self.insisted = True
        self._timer = None
        self._send()

    def _send(self) -> None:
        assert self._task is not None  # noqa: S101 - checked by the callers
        self._sent += 1
        self._undelivered = True
        self._task.cancel()
