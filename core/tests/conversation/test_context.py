"""What a running handler is given: identity, loggers, facts and progress of its own call."""

from __future__ import annotations

import asyncio
import json

from toolcrib import Context, Pack


def test_an_invocation_has_one_logger_of_its_own(run):
    """Asked again it is the same one; another call has another."""
    pack = Pack("log")
    seen = []

    @pack.tool(effects=())
    async def note(ctx: Context) -> str:
        """Note."""
        seen.append((ctx.sub_logger(), ctx.sub_logger(), ctx.invocation_id))
        return "noted"

    async def scenario(session):
        return [await session.call("log.note") for _ in range(2)]

    outcomes = run(scenario, pack)
    (first, again, id_), (other, _, other_id) = seen
    assert first is again
    assert first is not other
    assert first.name.endswith(id_)
    assert [o.call_id for o in outcomes] == [id_, other_id]


def test_facts_for_people_are_on_the_receipt_and_not_in_the_result(run):
    """The model never sees diagnostics."""
    pack = Pack("log")

    @pack.tool(effects=())
    async def note(ctx: Context) -> str:
        """Note."""
        ctx.diagnostics.add("cache", "missed")
        return "noted"

    async def scenario(session):
        outcome = await session.call("log.note")
        return outcome, " ".join(map(str, session.toolbox.ledger.export("c")))

    outcome, entries = run(scenario, pack)
    assert "missed" in entries
    assert "missed" not in repr(outcome)


def test_progress_of_calls_side_by_side_carries_the_right_call(run, reply):
    """A tool cannot report for another one: identity is not its to give."""
    pack = Pack("log")

    @pack.tool(effects=(), concurrency="shared")
    async def note(ctx: Context, word: str) -> str:
        """Note."""
        for _ in range(3):
            ctx.report(word)
            await asyncio.sleep(0)
        return word

    async def scenario(session):
        view = await session.view("openai")
        calls = view.calls(reply(("log_note", '{"word": "a"}'), ("log_note", '{"word": "b"}')))
        batch = await session.submit(calls)
        words = {call.id: json.loads(call.arguments)["word"] for call in batch.calls}
        async with batch.run() as events:
            told = [e async for e in events if e.name == "call.progress"]
        return [(words[e.call_id], e.data["message"]) for e in told]

    told = run(scenario, pack)
    assert len(told) == 6
    assert all(mine == said for mine, said in told)
