"""Closing while calls run: they are cancelled, and each outcome is recorded."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolcrib import Context, Pack, Policy, Toolbox


class Desk:
    """A pack whose calls wait, and what happened to it, in order."""

    def __init__(self):
        self.story = []
        self.started = asyncio.Event()
        self.app = {}
        self.pack = pack = Pack("desk", title="Desk", version="1")

        @pack.resource(scope="session")
        async def drawer(ctx: Context):
            """Open a drawer."""
            yield "drawer"
            self.story.append("drawer closed")

        @pack.tool(effects=())
        async def wait(ctx: Context, name: str = "") -> str:
            """Wait for ever."""
            await ctx.use(drawer)
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.story.append("call ended")
            return "never"

        @pack.tool(effects=())
        async def shut(ctx: Context) -> str:
            """Close what it is called in."""
            await ctx.app["close"]()
            return "closed"


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


def recorded(policy):
    """Return the statuses in the ledger, as another process reads them."""

    async def main():
        async with Toolbox(policy) as box:
            assert box.ledger.unfinished() == ()
            return [receipt.status for receipt in box.ledger.receipts()]

    return asyncio.run(main())


def test_a_session_that_closes_cancels_its_call_and_then_closes_its_resources(desk, policy):
    """Whoever awaits the call gets its one outcome, and the ledger has it."""

    async def main():
        async with Toolbox(policy) as box:
            async with box.session("c") as session:
                call = asyncio.create_task(session.call("desk.wait"))
                await desk.started.wait()
            assert desk.story == ["call ended", "drawer closed"]
            assert [r.status for r in box.ledger.receipts("c")] == ["cancelled"]
            return await call, call.cancelled()

    outcome, cancelled = asyncio.run(main())
    assert (outcome.status, cancelled) == ("cancelled", False)
    assert "The session was closed." in outcome.text
    assert recorded(policy) == ["cancelled"]


def test_a_toolbox_that_closes_does_the_same_for_all_its_sessions(desk, policy):
    """Before the ledger closes."""

    async def main():
        async with Toolbox(policy) as box:
            calls = []
            for name in ("a", "b"):
                session = await box.session(name).__aenter__()
                desk.started.clear()
                calls.append(asyncio.create_task(session.call("desk.wait")))
                await desk.started.wait()
        return [(await call).status for call in calls]

    assert asyncio.run(main()) == ["cancelled", "cancelled"]
    assert recorded(policy) == ["cancelled", "cancelled"]


def test_every_call_of_a_reply_that_runs_ends_with_its_session(desk, policy, reply):
    """The iteration over the run ends as well."""

    async def main():
        async with Toolbox(policy) as box:
            session = await box.session("c").__aenter__()
            view = await session.view("openai")
            calls = [("desk_wait", f'{{"name": "{name}"}}') for name in "ab"]
            batch = await session.submit(view.calls(reply(*calls)))
            running = asyncio.create_task(batch.complete())
            await desk.started.wait()
            await session.close()
            return [outcome.status for outcome in await running]

    assert asyncio.run(main()) == ["cancelled", "cancelled"]
    assert recorded(policy) == ["cancelled", "cancelled"]


def test_a_call_in_a_fork_ends_with_the_session_above(desk, policy):
    """A sub-agent does not outlive its caller."""

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            child = await session.fork("sub").__aenter__()
            call = asyncio.create_task(child.call("desk.wait"))
            await desk.started.wait()
            await session.close()
            return (await call).status

    assert asyncio.run(main()) == "cancelled"
    assert recorded(policy) == ["cancelled"]


def test_two_that_close_one_session_both_wait_for_its_end(desk, policy):
    """Else the toolbox would close the ledger while the first still works."""

    async def main():
        async with Toolbox(policy) as box:
            session = await box.session("c").__aenter__()
            call = asyncio.create_task(session.call("desk.wait"))
            await desk.started.wait()
            first = asyncio.create_task(session.close())
            await asyncio.sleep(0)
            await session.close()
            ended = list(desk.story)
            await first
            return ended, (await call).status

    assert asyncio.run(main()) == (["call ended", "drawer closed"], "cancelled")


@pytest.mark.parametrize("which", ["session", "fork"])
def test_a_handler_may_close_what_it_runs_in(desk, policy, which):
    """Its own call is not waited for, and has its outcome."""

    async def main():
        async with Toolbox(policy) as box, box.session("c", app=desk.app) as session:
            child = await session.fork("sub").__aenter__()
            desk.app["close"] = session.close
            outcome = await (session if which == "session" else child).call("desk.shut")
            return outcome.result.content[0].text

    assert asyncio.run(main()) == "closed"
    assert recorded(policy) == ["ok"]


def test_what_was_judged_does_not_run_in_a_closed_session(desk, policy, reply):
    """And that is its outcome."""

    async def main():
        async with Toolbox(policy) as box:
            async with box.session("c") as session:
                view = await session.view("openai")
                batch = await session.submit(view.calls(reply(("desk_wait", "{}"))))
            (outcome,) = await batch.complete()
            return outcome.code, desk.story

    assert asyncio.run(main()) == ("call.cancelled", [])
    assert recorded(policy) == ["cancelled"]


def test_a_session_that_cannot_close_keeps_no_other_open(desk, policy):
    """Its failure is raised when all are closed."""

    async def main():
        box = await Toolbox(policy).__aenter__()
        broken = await box.session("a").__aenter__()
        session = await box.session("b").__aenter__()

        async def fail():
            raise RuntimeError("broken")

        broken.lifetimes.close = fail
        call = asyncio.create_task(session.call("desk.wait"))
        await desk.started.wait()
        with pytest.raises(RuntimeError, match="broken"):
            await box.close()
        return (await call).status

    assert asyncio.run(main()) == "cancelled"
    assert recorded(policy) == ["cancelled"]


def test_a_blocking_session_closed_from_another_thread_ends_its_call(desk, policy):
    """The thread that waits gets the outcome."""
    outcomes = []
    with Toolbox.sync(policy) as box, box.session("c") as session:
        caller = threading.Thread(
            target=lambda: outcomes.append(session.call("desk.wait").status)
        )
        caller.start()
        box._loop.wait(desk.started.wait())
    caller.join()
    assert outcomes == ["cancelled"]
    assert recorded(policy) == ["cancelled"]
