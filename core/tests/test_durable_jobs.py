"""Jobs that outlive the process that started them."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat

import pytest

from toolcrib.errors import Busy, Failed, NotFound, RecordError, Refused
from toolcrib.host import SystemClock
from toolcrib.jobs import LostError
from toolcrib.jobs.durable import DurableJobs
from toolcrib.jobs.identity import is_alive, start_of
from toolcrib.jobs.log import JobLog


class Kind:
    """A kind of job whose work ends when it is told, or dies with the process."""

    name = "scripted"

    def __init__(self):
        self.gate = asyncio.Event()

    async def run(self, control, arguments):
        control.write(arguments.get("write", "").encode())
        if arguments.get("wait"):
            await self.gate.wait()
        if "fail" in arguments:
            raise ValueError(arguments["fail"])
        return {"said": len(arguments.get("write", ""))}


class Adopting(Kind):
    """One whose work can be taken up again."""

    async def adopt(self, control, arguments):
        control.write(b" and on")
        if arguments.get("gone"):
            text = "nobody knows"
            raise LostError(text)
        return {"adopted": arguments["write"]}


def run(folder, scenario, kind=Kind, **options):
    async def main():
        made = kind()
        jobs = DurableJobs(SystemClock(), folder, **options)
        jobs.register(made)
        try:
            return await scenario(jobs.owned("alice"), jobs, made)
        finally:
            await jobs.close()

    return asyncio.run(main())


def die(folder):
    """Make the jobs of this process look like those of one that died."""
    with sqlite3.connect(folder / "jobs.db") as database:
        database.execute(
            "UPDATE jobs SET host_start = 'another time', status = 'running',"
            " ended = NULL, error = NULL WHERE status IN ('running', 'stopped')"
        )
    database.close()  # fmt: skip


def test_a_job_and_its_output_are_there_after_a_restart(tmp_path):
    """By offset, and the same when asked twice."""

    async def first(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "hello"})
        await mine.wait(job.id)
        return job.id

    job_id = run(tmp_path, first)

    async def second(mine, jobs, kind):
        found = await mine.get(job_id)
        one = await mine.output(job_id, offset=1, size=3)
        return (
            found.status,
            found.result,
            found.size,
            one,
            await mine.output(job_id, offset=1, size=3),
        )

    assert run(tmp_path, second) == ("done", {"said": 5}, 5, b"ell", b"ell")


def test_what_cannot_go_on_is_lost_and_says_so(tmp_path):
    """It does not stay running for ever; what it wrote stays readable."""

    async def first(mine, jobs, kind):
        return (await mine.start("scripted", {"write": "so far", "wait": True})).id

    job_id = run(tmp_path, first)
    die(tmp_path)

    async def second(mine, jobs, kind):
        (found,) = await mine.list()
        return found.id, found.status, found.error, await mine.output(job_id)

    found_id, status, error, output = run(tmp_path, second)
    assert (found_id, status, output) == (job_id, "lost", b"so far")
    assert "gone" in error


def test_what_goes_on_outside_is_taken_up(tmp_path):
    """Arguments and output are those it was started with."""

    async def first(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "so far", "wait": True})
        await asyncio.sleep(0)
        return job.id

    job_id = run(tmp_path, first, Adopting)
    die(tmp_path)

    async def second(mine, jobs, kind):
        found = await mine.wait(job_id, timeout=60)
        return found.status, found.result, await mine.output(job_id)

    assert run(tmp_path, second, Adopting) == (
        "done", {"adopted": "so far"}, b"so far and on",
    )  # fmt: skip


def test_a_kind_that_cannot_take_up_says_what_it_knows(tmp_path):
    """Lost, with the reason."""

    async def first(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "x", "wait": True, "gone": True})
        return job.id

    job_id = run(tmp_path, first, Adopting)
    die(tmp_path)

    async def second(mine, jobs, kind):
        found = await mine.wait(job_id, timeout=60)
        return found.status, found.error

    assert run(tmp_path, second, Adopting) == ("lost", "nobody knows")


def give_to(folder, pid):
    """Make all jobs look like those of another process."""
    with sqlite3.connect(folder / "jobs.db") as database:
        database.execute(
            "UPDATE jobs SET host_pid = ?, host_start = ?", (pid, start_of(pid) or "gone")
        )
    database.close()  # fmt: skip


def test_a_job_of_another_process_is_left_alone_and_stopped_by_it_when_asked(tmp_path):
    """Two hosts share a folder; who runs a job hears of it, and ends it."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        give_to(tmp_path, os.getppid())
        other = DurableJobs(SystemClock(), tmp_path)
        other.register(Kind())
        theirs = other.owned("alice")
        seen = (await theirs.get(job.id)).status
        stopped = await theirs.stop(job.id)
        await other.close()
        return seen, stopped.status, (await mine.get(job.id)).status

    assert run(tmp_path, scenario) == ("running", "stopped", "stopped")


def test_a_process_that_does_not_react_is_named(tmp_path):
    """The order stays, for when it does."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        job_id = job.id
        await jobs.close()
        die(tmp_path)
        give_to(tmp_path, os.getppid())
        other = DurableJobs(SystemClock(), tmp_path, patience=0.0)
        other.register(Kind())
        with pytest.raises(Refused) as caught:
            await other.owned("alice").stop(job_id)
        await other.close()
        return caught.value

    refused = run(tmp_path, scenario)
    assert refused.code == "job.elsewhere"
    assert f"process {os.getppid()}" in str(refused)


def test_an_order_to_stop_outlives_who_gave_it_and_who_was_to_follow(tmp_path):
    """Who takes a job up does what its first process did not live to do."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        job_id = job.id
        await jobs.close()
        die(tmp_path)
        bare = DurableJobs(SystemClock(), tmp_path, patience=0.0)
        with pytest.raises(Refused, match="is gone") as caught:
            await bare.owned("alice").stop(job_id)
        await bare.close()

        class Endless(Adopting):
            async def adopt(self, control, arguments):
                await asyncio.Event().wait()

        heir = DurableJobs(SystemClock(), tmp_path)
        heir.register(Endless())
        ended = await heir.owned("alice").wait(job_id, timeout=60)
        await heir.close()
        return caught.value.code, ended.status

    assert run(tmp_path, scenario) == ("job.elsewhere", "stopped")


def test_all_jobs_of_an_owner_and_of_those_below_are_stopped(tmp_path):
    """And nobody else's, whatever their name begins with."""

    async def scenario(mine, jobs, kind):
        for owner in ("alice", "alice/agent", "alicent", "bob"):
            await jobs.start("scripted", {"wait": True}, owner=owner)
        stopped = await jobs.stop_all("alice")
        left = [(await jobs.list(owner=owner))[0].status for owner in ("alicent", "bob")]
        return [(record.owner, record.status) for record in stopped], left

    assert run(tmp_path, scenario) == (
        [("alice", "stopped"), ("alice/agent", "stopped")],
        ["running", "running"],
    )


def test_a_job_is_stopped_before_it_takes_its_first_step(tmp_path):
    """Nothing of it is left running, and it is told as stopped."""

    async def scenario(mine, jobs, kind):
        started = asyncio.create_task(mine.start("scripted", {"wait": True}))
        job = await started
        return (await mine.stop(job.id)).status, (await mine.get(job.id)).status

    assert run(tmp_path, scenario) == ("stopped", "stopped")


def test_a_job_takes_its_first_step_before_its_process_lets_go(tmp_path):
    """What goes on elsewhere has begun then, so that it can be taken up."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "hi", "wait": True})
        await jobs.close()
        return job.id

    job_id = run(tmp_path, scenario, Adopting)
    assert JobLog(tmp_path / job_id).read(0, 9) == b"hi"


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path):
    """Jobs that are in it stay."""

    async def first(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "hello"})
        await mine.wait(job.id)
        return job.id

    job_id = run(tmp_path, first)
    with sqlite3.connect(tmp_path / "jobs.db") as database:
        database.execute("ALTER TABLE jobs DROP COLUMN stop_asked")
        database.execute("PRAGMA user_version = 1")
    database.close()

    async def second(mine, jobs, kind):
        return (await mine.get(job_id)).status, await jobs.stop_all("alice")

    assert run(tmp_path, second) == ("done", ())


def test_final_states_are_final(tmp_path):
    """A late ending changes nothing."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"wait": True})
        stopped = await mine.stop(job.id)
        kind.gate.set()
        again = await mine.stop(job.id)
        return stopped.status, again.status, again.ended == stopped.ended

    assert run(tmp_path, scenario) == ("stopped", "stopped", True)


def test_a_foreign_job_is_an_unknown_one(tmp_path):
    """Whoever asks learns nothing."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "x"})
        found = []
        for work in (jobs.owned("bob").get(job.id), mine.get("job_nothing")):
            with pytest.raises(NotFound) as caught:
                await work
            found.append(caught.value.code)
        return found

    assert run(tmp_path, scenario) == ["job.unknown", "job.unknown"]


def test_an_owner_runs_only_so_many(tmp_path):
    """The one too many is not started."""

    async def scenario(mine, jobs, kind):
        await mine.start("scripted", {"wait": True})
        with pytest.raises(Busy):
            await mine.start("scripted", {"wait": True})
        return len(await mine.list())

    assert run(tmp_path, scenario, most=1) == 1


def test_a_failure_is_kept(tmp_path):
    """With its type and text."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"fail": "bad luck"})
        found = await mine.wait(job.id)
        return found.status, found.error

    assert run(tmp_path, scenario) == ("failed", "ValueError: bad luck")


def test_old_jobs_are_forgotten_with_their_output(tmp_path):
    """A folder does not grow for ever."""

    async def scenario(mine, jobs, kind):
        for _ in range(5):
            await mine.wait((await mine.start("scripted", {"write": "x"})).id)
        return len(await mine.list())

    assert run(tmp_path, scenario, kept=2) == 3
    assert len([p for p in tmp_path.iterdir() if p.is_dir()]) == 3


@pytest.mark.parametrize("content", [b"not a database at all, but somebody's notes", None])
def test_a_file_that_is_not_ours_is_left_as_it_is(tmp_path, content):
    """Corrupt, or another program's."""
    path = tmp_path / "jobs.db"
    if content is None:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE theirs (x)")
        database.close()
        content = path.read_bytes()
    else:
        content *= 40
        path.write_bytes(content)

    async def scenario(mine, jobs, kind):
        return await mine.list()

    with pytest.raises(RecordError):
        run(tmp_path, scenario)
    assert path.read_bytes() == content


def test_files_are_private(tmp_path):
    """Nobody else reads commands or output."""

    async def scenario(mine, jobs, kind):
        await mine.wait((await mine.start("scripted", {"write": "x"})).id)

    run(tmp_path / "new", scenario)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    for path in (tmp_path / "new").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_log_drops_the_oldest_and_counts_it(tmp_path):
    """What is kept and what is gone adds up to what was written."""
    log = JobLog(tmp_path, limit=80)
    data = bytes(range(256)) * 2
    for start in range(0, len(data), 7):
        log.write(data[start : start + 7])
    assert log.size == len(data)
    assert 80 <= log.size - log.kept_from <= 90
    assert log.read(0, 1000) == data[log.kept_from :]
    assert log.read(log.size - 5, 3) == data[-5:-2]
    log.close()
    assert JobLog(tmp_path).size == len(data)


def test_a_process_is_told_from_a_later_one_with_its_number():
    """A number alone says nothing."""
    assert is_alive(os.getpid(), start_of(os.getpid()))
    assert not is_alive(os.getpid(), "1")
    assert not is_alive(2**22 + 1, "1")


def test_a_result_that_is_no_json_is_a_failure_and_not_a_job_without_end(tmp_path):
    """It could not be told to the next process."""

    class Odd(Kind):
        async def run(self, control, arguments):
            return {"set": {1, 2}}

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {})
        ended = await mine.wait(job.id, timeout=60)
        return ended.status, ended.error

    status, error = run(tmp_path, scenario, Odd)
    assert status == "failed"
    assert "not JSON serializable" in error


def test_jobs_of_a_process_that_died_meanwhile_take_nobodys_place(tmp_path):
    """They are settled before somebody is told that too many run."""

    async def scenario(mine, jobs, kind):
        await mine.start("scripted", {"wait": True})
        await jobs.close()
        die(tmp_path)
        give_to(tmp_path, os.getppid())
        heir = DurableJobs(SystemClock(), tmp_path, most=1)
        heir.register(Kind())
        give_to(tmp_path, 1 << 30)
        job = await heir.owned("alice").start("scripted", {})
        status = [record.status for record in await heir.owned("alice").list()]
        await heir.close()
        return job.status, status[0]

    assert run(tmp_path, scenario) == ("running", "lost")


def test_a_file_that_is_damaged_meanwhile_ends_calls_and_says_so(tmp_path):
    """With the file's name; it is no crash of whoever asked."""

    async def scenario(mine, jobs, kind):
        job = await mine.start("scripted", {"write": "x"})
        await mine.wait(job.id)
        with sqlite3.connect(tmp_path / "jobs.db") as database:
            database.execute("DROP TABLE jobs")
        database.close()
        found = []
        for work in (mine.get(job.id), mine.list(), mine.start("scripted", {})):
            with pytest.raises(Failed) as caught:
                await work
            found.append((caught.value.code, "jobs.db" in str(caught.value)))
        return found

    assert run(tmp_path, scenario) == [("job.store", True)] * 3
