"""Jobs of every kind behind one protocol, in memory."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib.errors import Busy, NotFound, Refused
from toolcrib.host import SystemClock
from toolcrib.jobs import MemoryJobs


class Scripted:
    """A kind of job that writes what it is told and waits to be let go."""

    name = "scripted"

    def __init__(self):
        self.gate = asyncio.Event()

    async def run(self, control, arguments):
        control.write(arguments.get("write", b""))
        if arguments.get("wait"):
            await self.gate.wait()
        if "fail" in arguments:
            raise ValueError(arguments["fail"])
        return {"said": len(arguments.get("write", b""))}


def run(scenario, **options):
    async def main():
        kind = Scripted()
        jobs = MemoryJobs(SystemClock(), **options)
        jobs.register(kind)
        try:
            return await scenario(jobs.owned("alice"), jobs, kind)
        finally:
            await jobs.close()

    return asyncio.run(main())


def test_a_job_ends_with_its_result_and_its_output_can_be_read_twice():
    """Reading by offset does not use output up."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"write": b"hello"})
        ended = await mine.wait(job.id)
        first = await mine.output(job.id, offset=1, size=3)
        return ended.status, ended.result, first, await mine.output(job.id, offset=1, size=3)

    assert run(scenario) == ("done", {"said": 5}, b"ell", b"ell")


def test_output_beyond_the_limit_is_dropped_from_the_front_and_counted():
    """What is kept and what is gone is exact."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"write": b"0123456789"})
        ended = await mine.wait(job.id)
        return ended.size, ended.kept_from, await mine.output(job.id, offset=0)

    assert run(scenario, output_limit=4) == (10, 6, b"6789")


def test_stopping_a_job_is_final():
    """A stopped job is not overwritten by a late end."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        stopped = await mine.stop(job.id)
        kind.gate.set()
        later = await mine.stop(job.id)
        return stopped.status, later.status, later.ended == stopped.ended

    assert run(scenario) == ("stopped", "stopped", True)


def test_a_job_that_fails_says_why():
    """The error is kept as text."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"fail": "no disk"})
        return await mine.wait(job.id)

    ended = run(scenario)
    assert (ended.status, ended.error) == ("failed", "ValueError: no disk")


def test_waiting_for_zero_seconds_looks_once():
    """A timeout of zero means the same for every kind."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        return (await mine.wait(job.id, timeout=0)).status

    assert run(scenario) == "running"


def test_another_owner_sees_nothing():
    """A foreign job answers like an unknown one."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {})
        bob = jobs.owned("bob")
        with pytest.raises(NotFound):
            await bob.get(job.id)
        return await bob.list()

    assert run(scenario) == ()


def test_too_many_jobs_and_unknown_kinds_are_refused():
    """Each refusal says what to do."""

    async def scenario(mine, jobs, kind):
        await mine.start("scripted", {"wait": True})
        with pytest.raises(Busy, match="stop or wait"):
            await mine.start("scripted", {})
        with pytest.raises(NotFound, match="there are: scripted"):
            await mine.start("nothing", {})
        job = (await mine.list())[0]
        with pytest.raises(Refused):
            await mine.output(job.id, offset=-1)

    run(scenario, most=1)


def test_all_jobs_of_an_owner_and_of_those_below_are_stopped():
    """What has ended before is not among them."""

    async def scenario(mine, jobs, kind):
        await mine.wait((await mine.start("scripted", {})).id)
        for owner in ("alice", "alice/agent", "alicent"):
            await jobs.start("scripted", {"wait": True}, owner=owner)
        stopped = await jobs.stop_all("alice")
        left = (await jobs.list(owner="alicent"))[0].status
        return [(record.owner, record.status) for record in stopped], left

    assert run(scenario) == ([("alice", "stopped"), ("alice/agent", "stopped")], "running")
