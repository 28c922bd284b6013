"""Names in a known wrapper, and calls that hold calls, all the way and back again."""

from __future__ import annotations

import json

import pytest

from toolcrib import Allow, Context, Pack, Signature
from toolcrib.errors import Invalid


PARALLEL = "multi_tool_use.parallel"


def make_pack():
    pack = Pack("trip")

    @pack.tool(effects=())
    async def plan(ctx: Context, city: str, days: int = 1) -> str:
        """Plan a trip."""
        return f"{days} in {city}"

    @pack.tool(effects=(), deferred=True)
    async def rare(ctx: Context, city: str) -> str:
        """Do something rare."""
        return city

    @pack.tool(effects={"host_state"})
    async def book(ctx: Context, city: str) -> str:
        """Book a trip."""
        if city == "Atlantis":
            raise Invalid("/city", "it is under water")
        return f"booked {city}"

    @book.signature
    def _(city: str) -> Signature:
        return Signature(effects={"host_state"})

    return pack


def parallel(*uses):
    """Make the arguments of a call that holds calls."""
    held = [{"recipient_name": name, "parameters": given} for name, given in uses]
    return json.dumps({"tool_uses": held})


@pytest.fixture
def answer(run, reply):
    """Answer a reply with these calls; return results, outcomes and receipts."""

    def answering(*calls, dialect="openai", made=None, **policy):
        async def scenario(session):
            view = await session.view(dialect)
            batch = await session.submit(view.calls(made or reply(*calls)))
            await batch.complete()
            return view.results(batch), batch.outcomes, session.toolbox.ledger.receipts("c")

        return run(scenario, make_pack(), **policy)

    return answering


@pytest.mark.parametrize("wrapper", ["functions.", "default_api:", "default_api.", "tool:"])
def test_a_name_in_a_known_wrapper_is_read_and_recorded(answer, wrapper):
    """The answer goes back to the id that was sent."""
    (result,), (outcome,), (receipt,) = answer((wrapper + "trip_plan", '{"city": "Bonn"}'))
    assert outcome.ok
    assert (result["tool_call_id"], result["content"]) == ("r1-0", "1 in Bonn")
    assert receipt.tool_id == "trip.plan"
    assert receipt.repairs == (f"R10 /: read the name {wrapper}trip_plan as trip_plan",)


@pytest.mark.parametrize(
    "name",
    ["Trip_Plan", "trip_plans", "plan", "api.trip_plan", "functions.functions.trip_plan"],
)
def test_names_are_never_guessed(answer, name):
    """Case, likeness, a bare name, an unknown wrapper: suggestions at most."""
    _, (outcome,), (receipt,) = answer((name, '{"city": "Bonn"}'))
    assert outcome.code == "tool.unknown"
    assert receipt.repairs == ()


def test_a_wrapped_name_of_a_hidden_tool_loads_it(answer):
    """As its own name does."""
    _, (outcome,), _ = answer(("functions.trip_rare", '{"city": "Bonn"}'))
    assert outcome.code == "tool.not_loaded"


def test_arguments_of_a_wrapped_name_come_back_in_the_tools_own_form(run, reply):
    """The rewrite of the projection is undone under the name that was found."""
    pack = Pack("trip")

    @pack.tool(effects=())
    async def label(ctx: Context, labels: dict[str, int]) -> str:
        """Label it."""
        return json.dumps(labels)

    async def scenario(session):
        view = await session.view("openai", strict=True)
        sent = '{"labels": [{"key": "a", "value": 1}]}'
        (outcome,) = await session.answer(reply(("functions.trip_label", sent)), view=view)
        return outcome

    assert json.loads(run(scenario, pack)[("content")]) == {"a": 1}


def test_a_call_that_holds_calls_is_one_call_to_the_provider(answer):
    """Each runs, has its receipt and its number; one answer says how all ended."""
    sent = parallel(
        ("functions.trip_plan", {"city": "Bonn"}), ("trip_plan", {"city": "Ulm", "days": "2"})
    )
    (first, second), outcomes, receipts = answer(
        (PARALLEL, sent), ("trip_plan", '{"city": "Hof"}')
    )
    assert [outcome.ok for outcome in outcomes] == [True] * 3
    assert first["tool_call_id"] == "r1-0"
    assert first["content"].splitlines() == [
        "1 of 2, trip_plan: ok",
        "1 in Bonn",
        "2 of 2, trip_plan: ok",
        "2 in Ulm",
    ]
    assert (second["tool_call_id"], second["content"]) == ("r1-1", "1 in Hof")
    by_id = {receipt.provider_call_id: receipt for receipt in receipts}
    assert set(by_id) == {"r1-0.0", "r1-0.1", "r1-1"}
    rules = [text.split(" ")[0] for text in by_id["r1-0.1"].repairs]
    assert rules == ["R11", "R4"]


def test_half_of_it_is_never_told_as_the_whole(answer):
    """One that fails makes the answer a failure that tells of each."""
    sent = parallel(
        ("trip_plan", {"city": "Bonn"}),
        ("trip_plan", {"town": "Ulm"}),
        ("trip_nothing", {}),
        (PARALLEL, {"tool_uses": []}),
    )
    (result,), outcomes, _ = answer((PARALLEL, sent))
    assert [outcome.status for outcome in outcomes] == [
        "ok",
        "invalid",
        "unknown_tool",
        "unknown_tool",
    ]
    assert result["content"].startswith("invalid (arguments.invalid): 3 of 4 calls did not")
    assert "1 of 4, trip_plan: ok" in result["content"]
    assert "/town: unknown property" in result["content"]


@pytest.mark.parametrize("sent", ["{", "[]", '{"tool_uses": []}', '{"tool_uses": [1]}'])
def test_what_cannot_be_taken_apart_is_answered(answer, sent):
    """As one wrong call."""
    (result,), (outcome,), _ = answer((PARALLEL, sent))
    assert outcome.code == "arguments.invalid"
    assert result["tool_call_id"] == "r1-0"


def test_the_same_reply_again_runs_nothing(run, reply):
    """What was held in a call has keys of its own, the same every time."""
    sent = parallel(("trip_plan", {"city": "Bonn"}), ("trip_plan", {"city": "Ulm"}))

    async def scenario(session):
        view = await session.view("openai")
        first = await session.answer(reply((PARALLEL, sent)), view=view)
        again = await session.answer(reply((PARALLEL, sent)), view=view)
        return first, again, len(session.toolbox.ledger.receipts("c"))

    first, again, count = run(scenario, make_pack())
    assert count == 2
    assert "replayed" in str(again)
    assert "replayed" not in str(first)


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses"])
def test_every_form_answers_under_the_name_and_id_that_were_sent(answer, dialect):
    """Providers pair answers with what they know."""
    sent = json.loads(parallel(("trip_plan", {"city": "Bonn"}), ("trip_plan", {"city": "Ulm"})))
    replies = {
        "anthropic": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": PARALLEL, "input": sent}],
        },
        "openai-responses": {
            "output": [
                {
                    "type": "function_call",
                    "call_id": "t1",
                    "name": PARALLEL,
                    "arguments": json.dumps(sent),
                }
            ]
        },
    }
    results, outcomes, _ = answer(dialect=dialect, made=replies[dialect])
    assert [outcome.ok for outcome in outcomes] == [True, True]
    assert len(results) == 1
    assert '"t1"' in json.dumps(results)


def test_what_waits_for_a_person_keeps_how_it_was_read(run, reply):
    """The batch is restored elsewhere, answered, and told under the name that was sent."""
    sent = parallel(("functions.trip_book", {"city": "Bonn"}), ("trip_book", {"city": "Ulm"}))

    async def scenario(session):
        view = await session.view("openai")
        asked = await session.submit(view.calls(reply((PARALLEL, sent))))
        batch = await session.batch(asked.id)
        for question in batch.questions:
            await batch.decide(question.id, Allow(by="ada"))
        await batch.complete()
        return batch.view.results(batch), session.toolbox.ledger.receipts("c")

    (result,), receipts = run(scenario, make_pack())
    assert result["tool_call_id"] == "r1-0"
    assert "booked Bonn" in result["content"]
    assert "booked Ulm" in result["content"]
    assert all(receipt.repairs[0].startswith("R11 /: took call") for receipt in receipts)


def test_too_many_calls_in_calls_are_refused(answer):
    """A reply holds a bounded number, however it packs them."""
    sent = parallel(*[("trip_nothing", {})] * 128)
    _, outcomes, _ = answer(*[(PARALLEL, sent)] * 20)
    assert len(outcomes) <= 1_000 + 20
    assert outcomes[-1].code == "call.malformed"
