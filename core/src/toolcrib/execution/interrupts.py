"""Whether a signal may have cancelled a task in the middle of a handler's code."""

from __future__ import annotations

import functools
import signal
import threading

from asyncio import Task
from typing import Any


__all__ = ["may_come_from_a_signal"]

# Those that ask a program to end.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


def may_come_from_a_signal(task: Task[Any]) -> bool:
    """Tell whether a cancellation that came while a task ran may be a signal's.

    Python runs what an app set for a signal between any two steps of the code that runs,
    so a task that is cancelled there looks as if it had cancelled itself: ``asyncio.run``
    cancels its main task on Ctrl-C this way. What keeps no count of its signals may have
    heard one.
    """
    if threading.current_thread() is not threading.main_thread():
        return False  # signals are heard on the main thread only
    heard = (getattr(signal, name, None) for name in _SIGNALS)
    return any(
        number is not None and _may_have_come(signal.getsignal(number), task)
        for number in heard
    )


def _may_have_come(reaction: Any, task: Task[Any]) -> bool:
    if not callable(reaction) or reaction is signal.default_int_handler:
        return False  # what the system does, or an exception
    if getattr(reaction, "__module__", "").startswith("asyncio."):
        return False  # loop.add_signal_handler: heard between the steps of the loop
    if isinstance(reaction, functools.partial) and "main_task" in reaction.keywords:
        # asyncio.Runner._on_sigint: cancels on the first signal, raises on the second.
        runner = getattr(reaction.func, "__self__", None)
        mine = reaction.keywords["main_task"] is task
        return mine and getattr(runner, "_interrupt_count", 1) > 0
    return True
