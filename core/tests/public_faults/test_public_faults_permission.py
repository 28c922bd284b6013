"""A yes is for what was shown, to whom it was given, and for nothing else."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Allow, AllowRule, Deny, Policy, Toolbox


CALLS = [
    ("a", "shop_order", {"item": "a"}),
    ("b", "shop_order", {"item": "b"}),
    ("c", "shop_order", {"item": "c"}),
]


def test_approving_one_of_three_parallel_calls_runs_one(kit):
    """One is denied, one is never answered; each has its own end."""
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(kit.chat(*CALLS)))
        by_item = {q.call_id: q for q in batch.questions}
        first, second, _ = (by_item[o] for o in by_item)
        await batch.decide(second.id, Allow(by="alice"))
        await batch.decide(first.id, Deny(by="alice", reason="no"))
        ended = [o.status for o in await batch.complete()]
        with pytest.raises((KeyError, ValueError)):
            await batch.decide("q_unknown", Allow(by="alice"))
        return ended

    ended = kit.converse(scenario, kit.count_pack(ran))
    assert ended == ["refused", "ok", "needs_approval"]
    assert ran == ["order b"]


def test_always_of_one_session_frees_no_other(kit):
    """Neither another conversation, nor another person in the same one."""
    ran = []

    async def main():
        policy = Policy(local=[kit.count_pack(ran)])
        async with Toolbox(policy) as box:

            async def ask(name, principal, reply, *, always):
                async with box.session(name, principal=principal) as session:
                    view = await session.view("openai")
                    batch = await session.submit(view.calls(reply))
                    if always:
                        answer = AllowRule(by=principal, scope="session")
                        await batch.decide(batch.questions[0].id, answer)
                        await batch.complete()
                        more = ("x", "shop_order", {"item": "x"})
                        batch = await session.submit(view.calls(kit.chat(more, name="more")))
                    return len(batch.questions)

            same = await ask("one", "alice", kit.chat(CALLS[0]), always=True)
            other = await ask("two", "alice", kit.chat(CALLS[1], name="r2"), always=False)
            person = await ask("one", "bob", kit.chat(CALLS[2], name="r3"), always=False)
            return same, other, person

    assert asyncio.run(main()) == (0, 1, 1)
    assert ran == ["order a"]


@pytest.mark.parametrize("mode", ["plan", "ask", "edits", "trust"])
def test_a_deny_is_absolute_whatever_allows(kit, mode):
    """An allow of everything, a guard that lets pass and a person's yes change nothing."""
    ran = []
    rules = ["allow *", "deny shop.drop", "ask shop.pay"]
    calls = [("d", "shop_drop", {}), ("p", "shop_pay", {}), ("o", "shop_order", {})]
    found = kit.outcomes([kit.count_pack(ran)], *calls, mode=mode, rules=rules)
    statuses = [o.status for o in found]
    assert statuses[0] == "refused"
    assert statuses[1] == ("refused" if mode == "plan" else "needs_approval")
    assert "drop tea" not in ran
    assert "pay tea" not in ran


def test_a_rule_that_denies_everything_is_no_permission(kit):
    """That a rule names a tool says nothing about allowing it."""
    ran = []
    without = kit.outcomes([kit.count_pack(ran)], ("a", "shop_pay", {}))
    denied = kit.outcomes([kit.count_pack(ran)], ("a", "shop_pay", {}), rules=["deny shop.*"])
    assert without[0].status == "needs_approval"
    assert denied[0].status == "refused"
    assert ran == []


def test_an_approval_of_one_tool_is_none_for_its_neighbours(kit):
    """One is approved once, one is denied by rule, one was never asked about."""
    ran = []
    calls = [("o", "shop_order", {}), ("d", "shop_drop", {}), ("p", "shop_pay", {})]

    def approver(question):
        return Allow(by="alice", scope="once") if "order" in question.tool_id else None

    async def scenario(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(kit.chat(*calls)))
        for question in batch.questions:
            decision = approver(question)
            if decision is not None:
                await batch.decide(question.id, decision)
        first = [o.status for o in await batch.complete()]
        again = kit.chat(("o2", "shop_order", {}), name="r2")
        batch = await session.submit(view.calls(again))
        return first, len(batch.questions)

    first, asked_again = kit.converse(scenario, kit.count_pack(ran), rules=["deny shop.drop"])
    assert first == ["ok", "refused", "needs_approval"]
    assert asked_again == 1
    assert ran == ["order tea"]
