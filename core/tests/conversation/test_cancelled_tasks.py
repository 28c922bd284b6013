"""Whoever cancels a task is obeyed, and the call has its outcome all the same."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Context, Pack


def make_pack(started):
    pack = Pack("slow")

    @pack.tool(effects=())
    async def wait(ctx: Context) -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    return pack


WAYS = {
    "call": lambda session, reply, view: session.call("slow.wait"),
    "one": lambda session, reply, view: session.answer(reply(("slow_wait", "{}")), view=view),
    "two": lambda session, reply, view: session.answer(
        reply(("slow_wait", "{}"), ("slow_wait", "{}")), view=view
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_cancelled_task_ends_and_the_outcome_is_recorded(run, reply, way):
    """A task that went on after its cancellation could never be stopped."""
    started = asyncio.Event()

    async def scenario(session):
        view = await session.view("openai")
        task = asyncio.ensure_future(WAYS[way](session, reply, view))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled(), session.toolbox.ledger.receipts("c")

    cancelled, receipts = run(scenario, make_pack(started))
    assert cancelled
    assert {receipt.status for receipt in receipts} == {"cancelled"}


def test_a_timeout_around_a_call_is_raised(run):
    """The scope of the app's own sees its cancellation come back."""
    started = asyncio.Event()

    async def scenario(session):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(None) as scope:
                passes = asyncio.ensure_future(started.wait())
                passes.add_done_callback(lambda _: scope.reschedule(0))
                await session.call("slow.wait")
        return session.toolbox.ledger.receipts("c")

    (receipt,) = run(scenario, make_pack(started))
    assert (receipt.status, receipt.code) == ("cancelled", "call.cancelled")


def test_a_call_may_be_made_while_its_task_is_being_cancelled(run):
    """To tidy up; the cancellation that came before it is not raised a second time."""
    started = asyncio.Event()
    pack = make_pack(started)
    tidied = []

    @pack.tool(effects=())
    async def tidy(ctx: Context) -> str:
        """Tidy up."""
        return "tidy"

    async def scenario(session):
        async def work():
            try:
                await session.call("slow.wait")
            finally:
                tidied.append(await session.call("slow.tidy"))

        task = asyncio.ensure_future(work())
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert run(scenario, pack)
    assert [outcome.status for outcome in tidied] == ["ok"]
