"""The pool of worker threads."""

from __future__ import annotations

import threading

import pytest

from toolcrib.execution import Threads
from toolcrib.execution.threads import ThreadsStuckError


def test_threads_are_reused_and_never_more_than_the_size(go):
    """Many short calls share few threads."""
    threads = Threads(2)
    seen = set()

    async def main():
        jobs = [threads.submit(lambda: seen.add(threading.get_ident())) for _ in range(50)]
        for job in jobs:
            await job.wait()

    go(main)
    assert len(seen) <= 2
    assert threads.alive <= 2
    threads.close()


def test_warming_starts_threads_ahead(go):
    """A warm pool has its threads before the first call."""
    threads = Threads(5)
    threads.warm(3)
    assert threads.alive == 3
    threads.warm()
    assert threads.alive == 5
    threads.close()


def test_threads_are_daemons(go):
    """A stuck call does not hold up the end of the program."""
    threads = Threads(1)

    async def main():
        job = threads.submit(lambda: threading.current_thread().daemon)
        await job.wait()
        return job.value

    assert go(main) is True
    threads.close()


def test_an_exception_comes_back(go):
    """What a call raised is kept with its job."""
    threads = Threads(1)

    async def main():
        job = threads.submit(lambda: 1 / 0)
        await job.wait()
        return job.error

    assert isinstance(go(main), ZeroDivisionError)
    threads.close()


def test_a_stuck_thread_is_replaced_and_rejoins(go, until):
    """Abandoned work is counted, replaced, and its thread serves again afterwards."""
    threads = Threads(1, spare=1)
    release, late = threading.Event(), []

    async def main():
        started = threading.Event()

        def stuck():
            started.set()
            release.wait(60)
            return "late"

        job = threads.submit(stuck)
        await until(started.is_set)
        assert threads.abandon(job, late.append) is False
        assert threads.stuck == 1
        other = threads.submit(lambda: "other")
        await other.wait()
        release.set()
        await until(lambda: late)
        return other.value

    assert go(main) == "other"
    assert late[0].value == "late"
    assert threads.stuck == 0
    assert threads.alive == 1
    threads.close()


def test_a_job_that_has_not_started_is_dropped(go, until):
    """A queued job can be taken back for certain."""
    threads = Threads(1)
    release, ran = threading.Event(), []

    async def main():
        started = threading.Event()

        def first():
            started.set()
            release.wait(60)

        running = threads.submit(first)
        await until(started.is_set)
        queued = threads.submit(lambda: ran.append(1))
        assert threads.abandon(queued) is True
        release.set()
        await running.wait()
        last = threads.submit(lambda: None)
        await last.wait()

    go(main)
    assert ran == []
    threads.close()


def test_a_pool_whose_threads_are_all_stuck_refuses(go, until):
    """Nothing is queued that can never run."""
    threads = Threads(1, spare=0)
    release = threading.Event()

    async def main():
        started = threading.Event()

        def stuck():
            started.set()
            release.wait(60)

        job = threads.submit(stuck)
        await until(started.is_set)
        threads.abandon(job)
        with pytest.raises(ThreadsStuckError, match="1 worker"):
            threads.submit(lambda: None)
        release.set()

    go(main)
    threads.close()


def test_a_closed_pool_takes_no_calls(go):
    """After close nothing starts."""
    threads = Threads(1)
    threads.close()

    async def main():
        threads.submit(lambda: None)

    with pytest.raises(ThreadsStuckError, match="closed"):
        go(main)


def test_one_pool_serves_one_loop_after_another(go):
    """A pool outlives the loop that used it first."""
    threads = Threads(1)

    async def main():
        job = threads.submit(lambda: 1)
        await job.wait()
        return job.value

    assert go(main) == 1
    assert go(main) == 1
    threads.close()


@pytest.mark.parametrize("size", [0, -1])
def test_a_pool_has_at_least_one_thread(size):
    """A pool of nothing is a mistake."""
    with pytest.raises(ValueError, match="at least one"):
        Threads(size)
