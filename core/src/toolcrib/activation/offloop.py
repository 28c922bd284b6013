"""Run a pack's synchronous function off the event loop, with a deadline.

Threads cannot be stopped, so one that overruns is left behind: it is a daemon, it is
counted, and a pack that has left too many behind is answered at once as late.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import threading

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.loading import say


if TYPE_CHECKING:
    from types import TracebackType


__all__ = ["Late", "Threads", "contained"]

_SPARE = 8


class _Contained:
    """Turns what must not escape from a pack's function into an ordinary exception.

    ``SystemExit`` would end the host, a ``CancelledError`` of the pack's own would look
    like the host's; an exception class of the pack's may derive from ``BaseException``.
    """

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, Exception | KeyboardInterrupt):
            return
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                return
        raise RuntimeError(say(error)) from error


contained = _Contained()


class Late(TimeoutError):  # noqa: N818 - it says what the answer is
    """Raised when a function did not answer within its deadline."""


@attrs.define(eq=False)
class _Job:
    run: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    on_late: Callable[[], None] | None = None
    abandoned: bool = False
    ended: bool = False

    def work(self) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = self.run()
        except BaseException as raised:  # noqa: BLE001 - handed to the one who asked
            error = raised
        # The loop may be closed by now, when nobody waits any more.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.settle, value, error)

    def settle(self, value: Any, error: BaseException | None) -> None:
        # A pair, because a future treats some exceptions as its own. Nobody may wait any
        # more, and a signal may cancel it between any two steps.
        try:
            self.future.set_result((value, error))
        except asyncio.InvalidStateError:
            _drop(value)


def _drop(value: Any) -> None:
    """Close what came too late and would be warned of, as nobody awaits it any more."""
    for part in value if isinstance(value, tuple) else (value,):
        if inspect.iscoroutine(part):
            part.close()


class Threads:
    """Daemon threads for short functions, made as they are needed and used again."""

    def __init__(self, *, most_abandoned: int = 8) -> None:
        self._idle: list[queue.SimpleQueue[_Job | None]] = []
        self._lock = threading.Lock()
        self._most = most_abandoned
        self._abandoned = 0
        self._closed = False

    @property
    def abandoned(self) -> int:
        """How many threads still run a function that nobody waits for."""
        return self._abandoned

    async def run(
        self,
        function: Callable[[], Any],
        *,
        deadline: float,
        on_late: Callable[[], None] | None = None,
    ) -> Any:
        """Run a function in a thread and return its value.

        Args:
            function: Takes nothing.
            deadline: Seconds until it counts as late.
            on_late: Called in the thread when a late function ends after all.

        Raises:
            Late: the deadline passed, or too many functions are late already.
            Exception: what the function raised; see :data:`contained`.
        """
        if self._abandoned >= self._most:
            text = f"{self._abandoned} earlier functions have not ended yet"
            raise Late(text)
        loop = asyncio.get_running_loop()
        job = _Job(function, loop, loop.create_future(), on_late=on_late)
        self._worker().put(job)
        timer = loop.call_later(deadline, self._expire, job, deadline)
        try:
            value, error = await job.future
        except asyncio.CancelledError:
            self._abandon(job)  # The waiter was cancelled; the function runs on.
            raise
        finally:
            timer.cancel()
        if isinstance(error, StopIteration | StopAsyncIteration):
            # Raised again as they are, they would mean something else here.
            raise RuntimeError(say(error)) from error  # noqa: TRY004 - it is not about a type
        if error is not None:
            with contained:
                raise error
        return value

    def close(self) -> None:
        """Let idle threads end; busy ones end when their function does."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for jobs in idle:
            jobs.put(None)

    def _expire(self, job: _Job, deadline: float) -> None:
        if not job.future.done():
            self._abandon(job)
            job.settle(None, Late(f"no answer within {deadline:g} s"))

    def _abandon(self, job: _Job) -> None:
        with self._lock:
            if not job.ended:
                job.abandoned = True
                self._abandoned += 1

    def _worker(self) -> queue.SimpleQueue[_Job | None]:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        threading.Thread(
            target=self._serve, args=(jobs,), name="toolcrib-hook", daemon=True
        ).start()
        return jobs

    def _serve(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        while (job := jobs.get()) is not None:
            job.work()
            with self._lock:
                job.ended = True
                self._abandoned -= job.abandoned
            if job.abandoned and job.on_late is not None:
                job.on_late()
            with self._lock:
                if self._closed or len(self._idle) >= _SPARE:
                    return
                self._idle.append(jobs)
            del job
