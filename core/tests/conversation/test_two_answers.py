"""Two people answer one question: the first is heard, and the second is told."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Allow, AllowRule, AnsweredError, Context, Deny, Pack, Policy, Toolbox


YES, NO = Allow(by="alice"), Deny(by="bob", reason="no")


def shop(ran):
    """Return a pack with a tool that a person is asked about."""
    pack = Pack("shop", title="Shop", version="1")

    @pack.tool()
    async def order(ctx: Context, item: str) -> str:
        """Order something."""
        ran.append(item)
        return "ordered"

    return pack


@pytest.fixture
def meet(tmp_path, reply):
    """Run ``scenario(first, second, ran)`` with one open question seen by two sessions."""

    def meeting(scenario, *, ledger=True):
        ran = []

        def policy():
            path = tmp_path / "ledger.sqlite" if ledger else None
            return Policy(
                local=[shop(ran)], ledger=path, state=tmp_path / "state", workspace=tmp_path
            )

        async def main():
            async with Toolbox(policy()) as one, Toolbox(policy()) as other:
                async with (
                    one.session("c") as here,
                    (other if ledger else one).session("c") as there,
                ):
                    view = await here.view("openai")
                    calls = view.calls(reply(("shop_order", '{"item": "tea"}')))
                    first = await here.submit(calls)
                    second = await there.batch(first.id)
                    return await scenario(first, second, ran)

        return asyncio.run(main())

    return meeting


@pytest.mark.parametrize("ledger", [True, False], ids=["two processes", "two sessions"])
@pytest.mark.parametrize(("early", "late"), [(YES, NO), (NO, YES)], ids=["yes", "no"])
def test_who_comes_second_is_told_who_was_first(meet, early, late, ledger):
    """And what holds, as values."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, early)
        with pytest.raises(AnsweredError, match=f"{early.by} answered .* first") as raised:
            await second.decide(question.id, late)
        return (raised.value.first, raised.value.second) == (early, late)

    assert meet(scenario, ledger=ledger)


@pytest.mark.parametrize(("early", "late"), [(YES, NO), (NO, YES)], ids=["yes", "no"])
def test_the_first_answer_holds_in_both_sessions(meet, early, late):
    """The call runs once or never, and each session has its outcome."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, early)
        with pytest.raises(AnsweredError):
            await second.decide(question.id, late)
        outcomes = [(await batch.complete())[0] for batch in (first, second)]
        return {outcome.status for outcome in outcomes}, ran

    expected = ({"ok"}, ["tea"]) if early is YES else ({"refused"}, [])
    assert meet(scenario) == expected


def test_a_no_after_the_call_ran_gives_what_it_gave(meet):
    """It is too late, and that is said."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, YES)
        await first.complete()
        with pytest.raises(AnsweredError):
            await second.decide(question.id, NO)
        (outcome,) = await second.complete()
        return outcome.status, outcome.replayed, second.questions, ran

    assert meet(scenario) == ("ok", True, (), ["tea"])


def test_the_same_batch_answers_a_second_no_too(meet):
    """Not as if there had been no question."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, YES)
        with pytest.raises(AnsweredError, match="alice answered"):
            await first.decide(question.id, NO)
        return (await first.complete())[0].status

    assert meet(scenario) == "ok"


@pytest.mark.parametrize(
    ("early", "late"),
    [(YES, Allow(by="bob")), (NO, Deny(by="alice", reason="too dear"))],
    ids=["yes", "no"],
)
def test_two_who_agree_are_both_heard(meet, early, late):
    """There is nothing to tell."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, early)
        await second.decide(question.id, late)
        return {(await batch.complete())[0].status for batch in (first, second)}

    assert meet(scenario) == ({"ok"} if early is YES else {"refused"})


def test_a_wider_yes_that_came_second_is_not_dropped_silently(meet):
    """Whoever meant it to last has to know that it does not."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, YES)
        with pytest.raises(AnsweredError, match="AllowRule by bob changes nothing"):
            await second.decide(question.id, AllowRule(by="bob"))

    meet(scenario)


def test_a_question_closed_here_after_it_was_settled_there_has_that_outcome(meet):
    """Leaving it open is no answer that could contradict."""

    async def scenario(first, second, ran):
        (question,) = first.questions
        await first.decide(question.id, NO)
        (outcome,) = await second.complete()
        return outcome.code

    assert meet(scenario) == "person.denied"


def test_an_approver_that_comes_second_is_told_in_the_news(meet, reply):
    """An agent's loop goes on with what holds."""

    async def scenario(first, second, ran):
        session = second._session
        _, before = session.toolbox.news.read(0)

        async def approver(question):
            await first.decide(question.id, YES)
            return NO

        view = await session.view("openai")
        again = reply(("shop_order", '{"item": "tea"}'))
        await session.answer(again, view=view, approver=approver)
        _, items = session.toolbox.news.read(0)
        return [(e.name, e.data["held"], e.data["late"]) for e in items[len(before) :]], ran

    assert meet(scenario) == ([("question.contested", "alice", "bob")], ["tea"])
