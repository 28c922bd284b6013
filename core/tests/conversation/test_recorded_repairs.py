"""What was mended is on the receipt, and what is not lossless happens only for who asks."""

from __future__ import annotations

import pytest

from toolcrib import Allow, Context, Pack, Policy, PolicyError, Signature


def make_pack():
    pack = Pack("trip")

    @pack.tool(effects=())
    async def plan(ctx: Context, cities: list[str], days: int = 1) -> str:
        """Plan a trip."""
        return f"{days} in {', '.join(cities)}"

    @pack.tool(effects={"host_state"})
    async def book(ctx: Context, days: int) -> str:
        """Book a trip."""
        return f"booked {days}"

    @book.signature
    def _(days: int) -> Signature:
        return Signature(effects={"host_state"})

    return pack


def test_what_was_mended_is_on_the_receipt(run):
    """With its rule and place, for a call that ran and for one that did not."""

    async def scenario(session):
        await session.call("trip.plan", '{"cities": "[\\"Bonn\\"]", "days": "2"}')
        await session.call("trip.plan", {"cities": ["Ulm"], "days": 3})
        await session.call("trip.book", {"days": "4"})
        return session.toolbox.ledger.receipts("c")

    mended, plain, asked = run(scenario, make_pack())
    assert [text.split(":")[0] for text in mended.repairs] == ["R3 /cities", "R4 /days"]
    assert plain.repairs == ()
    assert (asked.status, asked.repairs[0][:9]) == ("needs_approval", "R4 /days:")


def test_a_question_that_is_answered_elsewhere_keeps_what_was_mended(run, reply):
    """It is part of what was approved."""

    async def scenario(session):
        view = await session.view("openai")
        asked = await session.submit(view.calls(reply(("trip_book", '{"days": "4"}'))))
        batch = await session.batch(asked.id)
        await batch.decide(batch.questions[0].id, Allow(by="ada"))
        (outcome,) = await batch.complete()
        return outcome, session.toolbox.ledger.receipts("c")

    outcome, (receipt,) = run(scenario, make_pack())
    assert outcome.ok
    assert receipt.repairs[0].startswith("R4 /days:")


def test_what_a_guard_rewrites_keeps_what_was_mended_before(run):
    """The receipt tells the whole way of the model's words."""
    watch = Pack("watch")

    @watch.guard
    def longer(call):
        days = call.arguments["days"]
        return {"cities": ["Bonn"], "days": "7"} if days == 2 else None

    async def scenario(session):
        outcome = await session.call("trip.plan", {"cities": ["Bonn"], "days": "2"})
        return outcome, session.toolbox.ledger.receipts("c")

    outcome, (receipt,) = run(scenario, make_pack(), watch, guards=["watch"])
    assert outcome.result.content[0].text == "7 in Bonn"
    assert [text.split(":")[0] for text in receipt.repairs] == ["R4 /days", "R4 /days"]


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [("R12", {"cities": "Bonn"}), ("R13", {"cities": ["Bonn"], "hotel": None})],
)
def test_what_is_not_lossless_is_mended_only_where_policy_asks(run, rule, arguments):
    """Each for itself."""

    async def scenario(session):
        outcome = await session.call("trip.plan", arguments)
        return outcome, session.toolbox.ledger.receipts("c")

    outcome, _ = run(scenario, make_pack())
    assert outcome.code == "arguments.invalid"
    other = {"R12": "R13", "R13": "R12"}[rule]
    outcome, _ = run(scenario, make_pack(), optional_repairs=[other])
    assert outcome.code == "arguments.invalid"
    outcome, (receipt,) = run(scenario, make_pack(), optional_repairs=[rule])
    assert outcome.result.content[0].text == "1 in Bonn"
    assert receipt.repairs[0].startswith(rule)


@pytest.mark.parametrize("value", ["R12, R13", "R12:R13"])
def test_a_value_that_may_be_a_list_written_as_text_is_no_list_of_one(run, value):
    """Splitting or wrapping it would both be guesses."""

    async def scenario(session):
        return await session.call("trip.plan", {"cities": value})

    outcome = run(scenario, make_pack(), optional_repairs=["R12"])
    assert outcome.ok is ("," not in value)


def test_only_these_two_can_be_asked_for(tmp_path):
    """In Python and in a file, where its line is named; a workspace cannot ask."""
    with pytest.raises(PolicyError, match="'R14' is no repair"):
        Policy(optional_repairs=["R14"])
    file = tmp_path / "toolcrib.toml"
    file.write_text('mode = "ask"\noptional_repairs = ["R1"]\n')
    with pytest.raises(PolicyError, match="optional_repairs") as caught:
        Policy.load(file)
    assert caught.value.line == 2
    file.write_text('optional_repairs = ["R13"]\n')
    assert Policy.load(file).optional_repairs == {"R13"}


def test_a_workspace_that_is_not_trusted_cannot_ask(tmp_path, monkeypatch):
    """What it asks for is told and ignored."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "toolcrib.toml").write_text('optional_repairs = ["R13"]\n')
    policy = Policy.discover(tmp_path)
    assert policy.optional_repairs == frozenset()
    assert "optional_repairs" in str(policy.notices[0])
