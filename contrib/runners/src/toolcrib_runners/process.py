"""Run a program from a handler: synchronous or asynchronous, and really stoppable."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .engine import Completed, Engine, Spec


__all__ = ["Cancellation", "run", "run_sync"]


class Cancellation(Protocol):
    """What says that a call was cancelled: ``ctx.cancellation``."""

    @property
    def requested(self) -> bool:
        """Whether the call was cancelled or its deadline passed."""


_LOOK = 0.05


def run_sync(
    argv: Sequence[str], *, cancellation: Cancellation | None = None, **spec: Any
) -> Completed:
    """Run a program in this thread; the keywords are those of :class:`Spec`.

    Args:
        argv: Program and arguments.
        cancellation: ``ctx.cancellation``; heard at once where it can be listened to,
            else looked at twenty times a second.
        **spec: The other fields of :class:`Spec`.

    Raises:
        OSError: the program cannot be started.
    """
    engine = Engine(Spec(argv=argv, **spec))
    if cancellation is None:
        return engine.run()
    listen = getattr(cancellation, "listen", None)
    if listen is not None:
        forget = listen(engine.cancel)
        try:
            return engine.run()
        finally:
            forget()
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK):
            if cancellation.requested:
                engine.cancel()
                return

    threading.Thread(target=look, name="toolcrib-run-watch", daemon=True).start()
    try:
        return engine.run()
    finally:
        done.set()


async def run(argv: Sequence[str], **spec: Any) -> Completed:
    """Run a program; the keywords are those of :class:`Spec`.

    Cancelling stops the program with everything that it started, and ends only when
    that is done.

    Raises:
        OSError: the program cannot be started.
    """
    return await in_thread(Engine(Spec(argv=argv, **spec)))


async def in_thread(engine: Engine) -> Completed:
    """Run an engine in a thread of its own."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Completed] = loop.create_future()

    def work() -> None:
        try:
            completed = engine.run()
        except BaseException as error:  # noqa: BLE001 - carried to the loop
            _tell(loop, future.set_exception, error)
        else:
            _tell(loop, future.set_result, completed)

    threading.Thread(target=work, name="toolcrib-run", daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            completed = await asyncio.shield(future)
        except asyncio.CancelledError as error:
            if future.done():
                raise
            # The thread ends within the grace, so this wait is bounded.
            cancelled = error
            engine.cancel()
        else:
            break
    if cancelled is not None:
        raise cancelled
    return completed


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[Any], None], value: Any) -> None:
    # With the loop closed nobody is left to be told.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, value)
