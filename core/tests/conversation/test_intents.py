"""Selecting an intent runs nothing; a delegate is a tool under another name."""

from __future__ import annotations

import json

from toolcrib import Allow, Context, Invalid, Pack, Refusal


def travel(ran):
    pack = Pack("travel")

    @pack.tool(effects={"net_write"}, intent=True, serves=["trip"], delegate="booker")
    async def book(ctx: Context, town: str, nights: int = 1) -> str:
        """Book a room."""
        ran.append(town)
        return f"{town} for {nights}"

    @book.resolve
    def _(stage_id: str, town: str, nights: int = 1):
        if town == "nowhere":
            raise Invalid("/town", "there is no such town")
        return {"stage": stage_id, "town": town.title(), "nights": nights}

    @pack.tool(effects=())
    async def look(ctx: Context) -> str:
        """Look around."""
        ran.append("look")
        return "seen"

    return pack


def test_selecting_gives_the_resolved_value_and_runs_nothing(run, reply):
    """Arguments are admitted, defaults filled in, and ``resolve`` is told the stage."""
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        (intent,) = session.intents(view)
        (chosen,) = await session.select(
            reply((intent.wire_name, '{"town": "bonn"}')), stage_id="plan"
        )
        return intent, chosen

    intent, chosen = run(scenario, travel(ran))
    assert (intent.tool_id, intent.serves) == ("travel.book", ("trip",))
    json.dumps(intent.declaration)
    assert chosen.value == {"stage": "plan", "town": "Bonn", "nights": 1}
    assert chosen.arguments == {"town": "bonn", "nights": 1}
    assert ran == []


def test_a_resolve_that_raises_rejects_the_selection_and_the_call(run, reply):
    """Before any effect, for selections and for ordinary calls alike."""
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        (refusal,) = await session.select(reply(("travel_book", '{"town": "nowhere"}')))
        session.mode = "trust"
        outcome = await session.call("travel.book", {"town": "nowhere"})
        (wrong,) = await session.select(reply(("travel_book", '{"town": 3}')))
        (other,) = await session.select(reply(("travel_look", "{}")), view=view)
        return refusal, outcome, wrong, other

    refusal, outcome, wrong, other = run(scenario, travel(ran))
    assert isinstance(refusal, Refusal)
    assert refusal.code == outcome.code == "resolve.refused"
    assert "no such town" in refusal.text
    assert (wrong.code, other.code) == ("arguments.invalid", "intent.unknown")
    assert ran == []


def test_what_was_resolved_is_on_the_item_of_a_call(run, reply):
    """An ordinary call resolves too, with the stage of its batch."""

    async def scenario(session):
        view = await session.view("openai")
        calls = view.calls(reply(("travel_book", '{"town": "bonn"}')))
        batch = await session.submit(calls, stage_id="s1")
        return batch.items[0].resolved

    assert run(scenario, travel([]))["stage"] == "s1"


def test_a_delegate_runs_through_all_stages(run):
    """Without approval it is not run either."""
    ran = []

    async def scenario(session):
        booker = session.delegate("booker")
        asked = await booker({"town": "bonn"})
        done = await booker({"town": "bonn"}, approver=lambda question: Allow(by="ada"))
        unknown = session.delegate("bookre")
        return booker.tool_id, asked.status, done.status, unknown

    tool_id, asked, done, unknown = run(scenario, travel(ran))
    assert (tool_id, asked, done, ran) == ("travel.book", "needs_approval", "ok", ["bonn"])
    assert unknown.code == "delegate.unknown"
    assert "booker" in unknown.text


def test_a_delegate_that_two_tools_answer_is_nobodys(run):
    """The name is withheld, the tools are not."""
    other = Pack("other")

    @other.tool(effects=(), delegate="booker")
    async def book(ctx: Context) -> str:
        """Book too."""
        return "x"

    async def scenario(session):
        refusal = session.delegate("booker")
        return (
            refusal.code,
            refusal.text,
            sorted(session.toolbox.catalog),
            [r.code for r in session.toolbox.catalog.refusals],
        )

    code, text, tools, codes = run(scenario, travel([]), other)
    assert code == "delegate.contested"
    assert "other.book" in text
    assert "travel.book" in text
    assert tools == ["other.book", "travel.book", "travel.look"]
    assert codes == ["delegate.contested"]
