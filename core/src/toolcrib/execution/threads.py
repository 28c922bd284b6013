"""Worker threads for synchronous handlers: bounded, warm, never in the way of an exit.

A thread cannot be stopped. A call that outlives its deadline therefore keeps its
thread, is counted as stuck, and a replacement may start, up to a second bound. Threads
are daemons, so a stuck one does not hold up the end of the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading

from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Literal


__all__ = ["Job", "Threads", "ThreadsStuckError"]


class ThreadsStuckError(Exception):
    """Raised when every thread is held by a call that outlived its deadline."""


class Job:
    """One synchronous call on its way through a thread.

    ``state`` is ``waiting``, ``running``, ``stuck`` (nobody waits for it any more),
    ``done`` or ``dropped`` (it will never start).
    """

    __slots__ = ("call", "error", "future", "late", "mail", "state", "value")

    def __init__(self, call: Callable[[], Any], mail: _Mail) -> None:
        self.call: Callable[[], Any] | None = call
        self.mail = mail
        self.state: Literal["waiting", "running", "stuck", "done", "dropped"] = "waiting"
        self.value: Any = None
        self.error: BaseException | None = None
        self.future: asyncio.Future[None] = mail.loop.create_future()
        self.late: Callable[[Job], None] | None = None

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is set when the call ended, a new one if need be."""
        if self.future.cancelled():
            self.future = self.mail.loop.create_future()
            if self.state == "done":
                self.future.set_result(None)
        return self.future

    def finish(self) -> None:
        """Tell whoever waits; runs on the event loop."""
        if self.late is not None:
            self.late(self)
        else:
            # Nobody may wait any more, and a signal may cancel it between any two steps.
            with contextlib.suppress(asyncio.InvalidStateError):
                self.future.set_result(None)


class _Mail:
    """Finished jobs on their way back to one event loop, one wake-up for many."""

    __slots__ = ("_jobs", "_lock", "_woken", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        self._woken = False

    def put(self, job: Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._woken:
                return
            self._woken = True
        try:
            self.loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            # The loop is closed: nobody is left to be told.
            self._jobs.clear()

    def _deliver(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, deque()
            self._woken = False
        for job in jobs:
            job.finish()


class Threads:
    """A pool of worker threads, owned by one toolbox.

    Args:
        size: Threads that work at once; they stay once started.
        spare: Further threads that may replace stuck ones.
    """

    def __init__(self, size: int = 64, *, spare: int | None = None) -> None:
        if size < 1 or (spare is not None and spare < 0):
            text = "a pool has at least one thread"
            raise ValueError(text)
        self._size = size
        self._most = size + (size if spare is None else spare)
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._outstanding = 0
        self._live = 0
        self._stuck = 0
        self._mail: _Mail | None = None
        self._closed = False

    @property
    def size(self) -> int:
        """How many threads may work at once."""
        return self._size

    @property
    def stuck(self) -> int:
        """How many threads are held by calls that nobody waits for any more."""
        return self._stuck

    @property
    def alive(self) -> int:
        """How many threads there are, stuck ones included."""
        return self._live + self._stuck

    def warm(self, count: int | None = None) -> None:
        """Start threads ahead of need."""
        with self._lock:
            while self._live < min(self._size, self._size if count is None else count):
                self._spawn()

    def submit(self, call: Callable[[], Any]) -> Job:
        """Queue a call; wait for it with ``await job.wait()``.

        Raises:
            ThreadsStuckError: no thread is left that could ever run it.
        """
        loop = asyncio.get_running_loop()
        mail = self._mail
        if mail is None or mail.loop is not loop:
            mail = self._mail = _Mail(loop)
        job = Job(call, mail)
        with self._lock:
            if self._closed:
                text = "the worker threads are closed"
                raise ThreadsStuckError(text)
            if (
                self._outstanding >= self._live
                and self._live < self._size
                and self._live + self._stuck < self._most
            ):
                self._spawn()
            if not self._live:
                text = f"all {self._stuck} worker threads are held by calls that do not end"
                raise ThreadsStuckError(text)
            self._outstanding += 1
        self._jobs.put(job)
        return job

    def abandon(self, job: Job, late: Callable[[Job], None] | None = None) -> bool:
        """Stop waiting for a job; True means that it had not started and never will.

        If it is running, ``late`` is called on the event loop when it ends.
        """
        with self._lock:
            if job.state == "waiting":
                job.state = "dropped"
                job.call = None
                self._outstanding -= 1
                return True
            if job.state == "running":
                job.state = "stuck"
                self._outstanding -= 1
                self._live -= 1
                self._stuck += 1
            job.late = late
            return False

    def close(self) -> None:
        """Let idle threads end; running ones end with their calls. Never waits."""
        with self._lock:
            self._closed = True
            count = self._live + self._stuck
        for _ in range(count):
            self._jobs.put(None)

    def _spawn(self) -> None:
        self._live += 1
        thread = threading.Thread(target=self._work, name="toolcrib-worker", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # No more threads from the system: the others have to do.
            self._live -= 1

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                with self._lock:
                    self._live -= 1
                return
            with self._lock:
                if job.state != "waiting":
                    continue
                job.state = "running"
            self._run(job)
            stays = self._go_on(job)
            # An idle thread must not keep the last result alive.
            del job
            if not stays:
                return

    def _run(self, job: Job) -> None:
        call, job.call = job.call, None
        try:
            job.value = call() if call is not None else None
        except BaseException as error:  # noqa: BLE001 - carried to the event loop
            job.error = error

    def _go_on(self, job: Job) -> bool:
        """Hand a finished job back; False if this thread is one too many."""
        with self._lock:
            was_stuck = job.state == "stuck"
            job.state = "done"
            if was_stuck:
                self._stuck -= 1
                stays = self._live < self._size
                self._live += stays
            else:
                self._outstanding -= 1
                stays = True
        job.mail.put(job)
        return stays
