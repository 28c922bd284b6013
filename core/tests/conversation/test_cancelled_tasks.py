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


def reviewed(asked, answer):
    """Make a pack whose reviewer says that it was asked, and waits for its own answer."""
    pack = Pack("slow")

    @pack.tool(effects=())
    async def work(ctx: Context) -> str:
        """Work."""
        return "done"

    @pack.review
    async def look(call, outcome):
        asked.set()
        await answer.wait()

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


def test_end_of_a_call_is_recorded_though_its_task_is_cancelled_while_the_result_is_kept(run):
    """It did run; without a record of that nobody would know after a restart."""
    pack = Pack("wordy")

    @pack.tool(effects=())
    async def talk(ctx: Context) -> str:
        """Talk, and have the task cancelled as soon as it waits for something."""
        asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
        return "word " * 60_000

    async def scenario(session):
        task = asyncio.ensure_future(session.call("wordy.talk"))
        await asyncio.wait([task])
        ledger = session.toolbox.ledger
        (receipt,) = ledger.receipts("c")
        content = ledger.recorded(receipt.call_id).result.content
        (whole,) = [block.digest for block in content if block.type == "artifact"]
        page = await session.call("crib.read", {"artifact": whole})
        return task.cancelled(), receipt.status, page.status

    assert run(scenario, pack) == (True, "ok", "ok")


def test_end_of_a_call_is_recorded_though_its_task_is_cancelled_while_it_is_reviewed(run):
    """The reviewer has its say first."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def scenario(session):
        task = asyncio.ensure_future(session.call("slow.work"))
        await asked.wait()
        task.cancel()
        await asyncio.sleep(0)
        still = not task.done()
        answer.set()
        await asyncio.wait([task])
        (receipt,) = session.toolbox.ledger.receipts("c")
        return still, task.cancelled(), receipt.status

    pack = reviewed(asked, answer)
    assert run(scenario, pack, reviewers=["slow"]) == (True, True, "ok")


def test_end_of_a_call_is_recorded_without_its_result_if_the_loop_ends_while_it_is_kept(run):
    """asyncio.run cancels every task; what the effect came to is known all the same."""
    asked = asyncio.Event()

    async def scenario(session):
        call = asyncio.ensure_future(session.call("slow.work"))
        await asked.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait([call])
        ledger = session.toolbox.ledger
        (receipt,) = ledger.receipts("c")
        return call.cancelled(), receipt.status, ledger.recorded(receipt.call_id).result

    pack = reviewed(asked, asyncio.Event())
    cancelled, status, result = run(scenario, pack, reviewers=["slow"])
    assert (cancelled, status, result.content) == (True, "ok", ())
    assert "could not be kept" in result.notes[0]
