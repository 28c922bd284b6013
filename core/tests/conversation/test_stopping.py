"""A person says stop: calls and jobs of the conversation end, wherever they run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from toolcrib import Context, Pack, Policy, RecordError, Toolbox


HOST = '''
import asyncio
import sys

from pathlib import Path

from toolcrib import Context, Pack, Policy, Toolbox

pack = Pack("desk", title="Desk", version="1")


@pack.tool(effects=())
async def wait(ctx: Context) -> str:
    """Wait for ever."""
    print("started", flush=True)
    await asyncio.Event().wait()
    return "never"


async def main(folder):
    policy = Policy(local=[pack], ledger=folder / "ledger.sqlite", state=folder / "state",
                    workspace=folder)
    async with Toolbox(policy) as box, box.session("c/agent") as session:
        outcome = await session.call("desk.wait")
        again = await session.call("crib.search", {"query": "desk"})
        print(outcome.status, again.status, outcome.text, flush=True)


asyncio.run(main(Path(sys.argv[1])))
'''


class Waiting:
    """A kind of job that ends when it is stopped."""

    name = "waiting"

    async def run(self, control, arguments):
        await asyncio.Event().wait()


class Desk:
    """A pack whose calls wait until somebody ends them."""

    def __init__(self):
        self.started = asyncio.Event()
        self.pack = pack = Pack("desk", title="Desk", version="1")

        @pack.tool(effects=(), concurrency="shared")
        async def wait(ctx: Context) -> str:
            """Wait for ever."""
            self.started.set()
            await asyncio.Event().wait()
            return "never"

        @pack.tool(effects=())
        async def order(ctx: Context) -> str:
            """Stop the conversation that it is called in."""
            stopped = await ctx.app.stop("somebody")
            return f"{stopped.calls} calls"


@pytest.fixture
def desk():
    """Return a fresh desk."""
    return Desk()


@pytest.fixture
def policy(desk, tmp_path):
    """Return a policy with a ledger on disk."""
    return Policy(
        local=[desk.pack],
        ledger=tmp_path / "ledger.sqlite",
        state=tmp_path / "state",
        workspace=tmp_path,
    )


async def begun(desk, session):
    desk.started.clear()
    call = asyncio.create_task(session.call("desk.wait"))
    await desk.started.wait()
    return call


def test_a_stop_cancels_the_running_call_and_says_who_and_why(desk, policy):
    """The session stays open, and the next call runs."""

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            call = await begun(desk, session)
            stopped = await session.stop("alice", "wrong file")
            outcome = await call
            again = await session.call("crib.search", {"query": "desk"})
            kinds = [(e.kind, e.body.get("by")) for e in box.ledger.entries("c")]
            return stopped, outcome, again.status, kinds

    stopped, outcome, again, kinds = asyncio.run(main())
    assert (stopped.calls, stopped.jobs, stopped.left, stopped.told) == (1, (), (), True)
    assert outcome.status == "cancelled"
    assert "alice stopped the conversation: wrong file." in outcome.text
    assert again == "ok"
    assert ("stop", "alice") in kinds


def test_a_stop_reaches_forks_and_conversations_below_and_no_others(desk, policy):
    """A name that only begins alike is another one."""

    async def main():
        async with Toolbox(policy) as box:
            async with box.session("c") as mine, box.session("c/agent") as below:
                async with box.session("cd") as other:
                    fork = await mine.fork("sub").__aenter__()
                    calls = [await begun(desk, s) for s in (mine, fork, below, other)]
                    stopped = await box.stop("c", by="alice")
                    ended = [(await call).status for call in calls[:3]]
                    alive = not calls[3].done()
        return stopped.calls, ended, alive, (await calls[3]).text

    calls, ended, alive, text = asyncio.run(main())
    assert (calls, ended, alive) == (3, ["cancelled"] * 3, True)
    assert "The session was closed." in text


def test_a_stop_ends_the_jobs_of_the_conversation(desk, policy):
    """Those of its sub-agents too."""

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            session.jobs.register(Waiting())
            mine = await session.jobs.start("waiting", {})
            below = await box.jobs.start("waiting", {}, owner="c/agent")
            other = await box.jobs.start("waiting", {}, owner="other")
            stopped = await session.stop("alice")
            status = (await box.jobs.get(other.id, owner="other")).status
            return stopped.jobs, (mine.id, below.id), status

    jobs, expected, other = asyncio.run(main())
    assert (jobs, other) == (expected, "running")


def test_jobs_in_memory_are_stopped_as_well(desk, tmp_path):
    """Nobody else hears of it, and the result says so."""
    policy = Policy(local=[desk.pack], state=tmp_path / "state", workspace=tmp_path)

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            session.jobs.register(Waiting())
            job = await session.jobs.start("waiting", {})
            call = await begun(desk, session)
            stopped = await session.stop("alice")
            return stopped, job.id, (await call).status

    stopped, job_id, status = asyncio.run(main())
    assert (stopped.calls, stopped.jobs, stopped.told) == (1, (job_id,), False)
    assert status == "cancelled"


def test_the_call_that_gives_the_order_is_left_alone(desk, policy):
    """It could not say what it stopped otherwise."""

    async def main():
        async with Toolbox(policy) as box:
            session = box.session("c")
            session.app = session
            async with session:
                call = await begun(desk, session)
                ordered = await session.call("desk.order")
                return ordered.result.content[0].text, (await call).status

    assert asyncio.run(main()) == ("1 calls", "cancelled")


def test_a_stop_reaches_a_call_in_another_process(tmp_path):
    """A toolbox that was not even opened gives the order; later calls run."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert host.stdout.readline() == "started\n"
        policy = Policy(
            ledger=tmp_path / "ledger.sqlite", state=tmp_path / "state", workspace=tmp_path
        )
        stopped = asyncio.run(Toolbox(policy).stop("c", by="alice", reason="enough"))
        said = host.communicate(timeout=60)[0]
    finally:
        host.kill()
        host.wait()
    assert (stopped.calls, stopped.told) == (0, True)
    assert said.startswith("cancelled ok ")
    assert "alice stopped the conversation: enough" in said


def test_an_order_from_before_does_not_end_what_begins_after_it(desk, policy):
    """It looks for orders, and finds only an old one."""

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            await box.stop("c", by="alice")
            call = await begun(desk, session)
            looked = asyncio.Event()
            stopped = box.ledger.stopped

            def seen(name, *, since):
                found = stopped(name, since=since)
                looked.set()
                return found

            box.ledger.stopped = seen
            await asyncio.wait_for(looked.wait(), 60)
            running = not call.done()
            await session.stop("bob")
            return running, (await call).text

    running, text = asyncio.run(main())
    assert running
    assert "bob" in text


def test_an_order_that_cannot_be_written_stops_nothing(desk, policy, tmp_path):
    """Half an order would leave other processes running."""

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            call = await begun(desk, session)
            with pytest.raises(RecordError):
                await box.stop("", by="alice")
            for order in ({"by": "\ud800"}, {"by": "alice", "reason": "\ud800"}):
                with pytest.raises(ValueError, match="half a character"):
                    await session.stop(**order)
            running = not call.done()
        await call
        return running

    assert asyncio.run(main())


def test_a_blocking_session_is_stopped_from_another_thread(desk, policy):
    """While the thread that calls waits for its call."""
    with Toolbox.sync(policy) as box, box.session("c") as session:
        found = []
        caller = threading.Thread(target=lambda: found.append(session.call("desk.wait")))
        caller.start()
        while not box.stop("c", by="alice").calls:
            pass
        caller.join(60)
    assert [outcome.status for outcome in found] == ["cancelled"]
