"""Calls through all stages: sessions, batches, questions, results."""

from __future__ import annotations

import asyncio
import json

from typing import Annotated

import pytest

from toolcrib import (
    Allow,
    AllowRule,
    Between,
    Context,
    Deny,
    Pack,
    Policy,
    Signature,
    StageError,
    Toolbox,
)


def make_pack(ran):
    """Make a pack whose tools note outside the framework that they ran."""
    pack = Pack("shop")

    @pack.tool(effects=())
    async def add(ctx: Context, a: int, b: Annotated[int, Between(0, 9)] = 1) -> int:
        """Add two numbers."""
        ran.append("add")
        return a + b

    @pack.tool(effects={"host_state"})
    async def order(ctx: Context, item: str) -> str:
        """Order something."""
        ran.append(f"order {item}")
        return f"ordered {item}"

    @order.signature
    def _(item: str) -> Signature:
        return Signature(effects={"host_state"})

    @order.preview
    def _(item: str) -> str:
        return f"will order {item}; before that: {[r for r in ran if 'somebody' in r]}"

    @order.generalize
    def _(item: str) -> str:
        return "(effect=host_state)"

    return pack


def reply(*calls, id="r1"):
    """Make a chat completion that calls tools: (id, name, arguments)."""
    return {
        "id": id,
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": call_id,
                            "type": "function",
                            "function": {"name": name, "arguments": arguments},
                        }
                        for call_id, name, arguments in calls
                    ],
                }
            }
        ],
    }


ORDER = ("o", "shop_order", '{"item": "tea"}')


def run(scenario, *, ran=None, **policy):
    ran = [] if ran is None else ran

    async def main():
        async with Toolbox(Policy(local=[make_pack(ran)], **policy)) as box:
            async with box.session("c") as session:
                return await scenario(session, ran)

    return asyncio.run(main())


def test_each_call_of_a_reply_gets_one_result_in_order_with_its_id():
    """Good, wrong arguments, unknown tool and a refusal side by side."""

    async def scenario(session, ran):
        await session.view("openai")
        return await session.answer(
            reply(
                ("a", "shop_add", '{"a": 2}'),
                ("b", "shop_add", '{"a": 2, "b": 10}'),
                ("c", "shop_ad", "{}"),
                ORDER,
            )
        )

    results = run(scenario)

    assert [r["tool_call_id"] for r in results] == ["a", "b", "c", "o"]
    assert results[0]["content"] == "3"
    assert "/b" in results[1]["content"]
    assert "shop_add" in results[2]["content"]
    assert results[3]["content"].startswith("needs_approval")


def test_a_submitted_batch_has_run_nothing():
    """Judging is apart from running, for calls that need no question too."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(("a", "shop_add", '{"a": 2}'), ORDER)))
        return list(ran), len(batch.questions), batch.finished

    assert run(scenario) == ([], 1, False)


def test_an_approved_call_runs_once_and_its_receipt_names_who_approved():
    """A person's yes is on the receipt."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(ORDER)))
        await batch.decide(batch.questions[0].id, Allow(by="alice"))
        (outcome,) = await batch.complete()
        receipts = session.toolbox.ledger.receipts("c")
        return outcome.status, ran, [r.decided_by for r in receipts]

    assert run(scenario) == ("ok", ["order tea"], [("person alice",)])


def test_a_denied_call_does_not_run_and_the_reason_reaches_the_model():
    """A person's no is final for this call."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(ORDER)))
        outcome = await batch.decide(batch.questions[0].id, Deny(by="alice", reason="too dear"))
        return (
            outcome.status,
            outcome.code,
            "too dear" in view.results(batch)[0]["content"],
            ran,
        )

    assert run(scenario) == ("refused", "person.denied", True, [])


def test_what_changed_after_it_was_shown_is_refused():
    """The approval was for another preview."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(ORDER)))
        await batch.decide(batch.questions[0].id, Allow(by="alice"))
        ran.append("somebody else was faster")
        (outcome,) = await batch.complete()
        return outcome.code, [r for r in ran if r.startswith("order")]

    assert run(scenario) == ("answer.stale", [])


def test_the_same_reply_again_gives_the_recorded_outcomes_and_runs_nothing():
    """Nothing runs twice in a conversation."""

    async def scenario(session, ran):
        await session.view("openai")
        first = await session.answer(reply(ORDER), approver=lambda q: Allow(by="a"))
        again = await session.answer(reply(ORDER), approver=lambda q: Allow(by="a"))
        return first == again, ran

    assert run(scenario) == (True, ["order tea"])


def test_a_call_id_with_other_arguments_is_refused():
    """A provider's id stands for one call."""

    async def scenario(session, ran):
        await session.view("openai")
        await session.answer(reply(("x", "shop_add", '{"a": 1}')))
        (result,) = await session.answer(reply(("x", "shop_add", '{"a": 2}'), id="r2"))
        return result["content"], ran

    content, ran = run(scenario)
    assert "call.reused" in content
    assert ran == ["add"]


def test_always_stores_a_rule_that_answers_the_next_question():
    """A rule approved for the session covers other arguments."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(ORDER)))
        await batch.decide(batch.questions[0].id, AllowRule(by="a"))
        await batch.complete()
        other = ("p", "shop_order", '{"item": "milk"}')
        batch = await session.submit(view.calls(reply(other, id="r2")))
        return [q.id for q in batch.questions], (await batch.complete())[0].status

    assert run(scenario) == ([], "ok")


def test_an_approval_for_once_does_not_cover_a_second_call():
    """Approving one parallel call does not approve the turn."""

    async def scenario(session, ran):
        view = await session.view("openai")
        batch = await session.submit(
            view.calls(reply(ORDER, ("p", "shop_order", '{"item": "tea"}')))
        )
        await batch.decide(batch.questions[0].id, Allow(by="a"))
        return [o.status for o in await batch.complete()], ran

    assert run(scenario) == (["ok", "needs_approval"], ["order tea"])


@pytest.mark.parametrize("answer", [True, "yes", 1, object()])
def test_only_a_decision_is_a_yes(answer):
    """An approver that returns anything else has not approved."""

    async def scenario(session, ran):
        await session.view("openai")
        (result,) = await session.answer(reply(ORDER), approver=lambda q: answer)
        return result["content"].startswith("refused"), ran

    assert run(scenario) == (True, [])


def test_open_questions_survive_a_restart_and_are_answered_by_another_process(tmp_path):
    """Batch, view and question are restored from the ledger."""
    policy = {"ledger": tmp_path / "state" / "ledger.sqlite"}
    ran = []

    async def asked(session, ran):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(("a", "shop_add", '{"a": 1}'), ORDER)))
        return batch.id, batch.questions[0].id

    async def answered(session, ran):
        batch = await session.batch(batch_id)
        open_ids = [q.id for q in batch.questions]
        await batch.decide(open_ids[0], Allow(by="b"))
        await batch.complete()
        return open_ids, [r["tool_call_id"] for r in batch.view.results(batch)]

    batch_id, question_id = run(asked, ran=ran, **policy)
    assert run(answered, ran=ran, **policy) == ([question_id], ["a", "o"])
    assert sorted(ran) == ["add", "order tea"]


def test_a_batch_of_another_principal_is_unknown(tmp_path):
    """A foreign batch answers like one that does not exist."""

    async def main():
        policy = Policy(local=[make_pack([])])
        async with Toolbox(policy) as box:
            async with box.session("c", principal="alice") as alice:
                view = await alice.view("openai")
                batch = await alice.submit(view.calls(reply(ORDER)))
            async with box.session("c", principal="bob") as bob:
                with pytest.raises(KeyError, match="no batch"):
                    await bob.batch(batch.id)

    asyncio.run(main())


def test_leaving_a_run_early_cancels_and_still_gives_every_call_an_outcome():
    """One outcome for each call, whatever the app does."""
    started = asyncio.Event()
    pack = Pack("slow")

    @pack.tool(effects=())
    async def wait(ctx: Context) -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def main():
        async with Toolbox(Policy(local=[pack])) as box:
            async with box.session("c") as session:
                view = await session.view("openai")
                calls = view.calls(reply(("a", "slow_wait", "{}"), ("b", "slow_wait", "")))
                batch = await session.submit(calls)
                async with batch.run():
                    await started.wait()
                return [o.status for o in batch.outcomes], len(box.ledger.receipts("c"))

    assert asyncio.run(main()) == (["cancelled", "cancelled"], 2)


def test_events_tell_what_happens_and_progress_carries_the_call():
    """Identity is the core's to give."""
    pack = Pack("talk")

    @pack.tool(effects=())
    async def work(ctx: Context) -> str:
        """Report progress."""
        ctx.report("half way", progress=1, total=2)
        return "done"

    async def main():
        async with Toolbox(Policy(local=[pack])) as box:
            async with box.session("c") as session:
                view = await session.view("openai")
                batch = await session.submit(view.calls(reply(("a", "talk_work", "{}"))))
                async with batch.run() as events:
                    return [(e.name, e.tool_id, e.data.get("message")) async for e in events]

    assert asyncio.run(main()) == [
        ("call.started", "talk.work", None),
        ("call.progress", "talk.work", "half way"),
        ("call.finished", "talk.work", None),
    ]


def test_a_closed_session_takes_no_calls():
    """Forgetting ``async with`` is said plainly."""

    async def main():
        async with Toolbox(Policy()) as box:
            session = box.session("c")
            with pytest.raises(StageError, match="async with"):
                await session.view("openai")

    asyncio.run(main())


def test_anthropic_and_responses_replies_are_answered_in_their_own_form():
    """Results go back in the dialect that the calls came in."""

    async def scenario(session, ran):
        await session.view("anthropic")
        (message,) = await session.answer(
            {
                "id": "m1",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "shop_add", "input": {"a": 1}},
                    {"type": "tool_use", "id": "t2", "name": "shop_add", "input": {"a": "x"}},
                ],
            }
        )
        await session.view("openai-responses")
        (item,) = await session.answer(
            {
                "id": "resp",
                "output": [
                    {
                        "type": "function_call",
                        "call_id": "f1",
                        "name": "shop_add",
                        "arguments": '{"a": 3}',
                    }
                ],
            }
        )
        return message, item

    message, item = run(scenario)
    assert [b["tool_use_id"] for b in message["content"]] == ["t1", "t2"]
    assert message["content"][1]["is_error"] is True
    assert (item["type"], item["call_id"], item["output"]) == (
        "function_call_output",
        "f1",
        "4",
    )


def test_a_rule_of_policy_denies_in_every_mode():
    """Deny is absolute."""

    async def scenario(session, ran):
        await session.view("openai")
        (result,) = await session.answer(reply(ORDER), approver=lambda q: Allow(by="a"))
        return "rule.denied" in result["content"], ran

    assert run(scenario, mode="trust", rules=["deny shop.order"]) == (True, [])


def test_the_blocking_toolbox_has_the_same_names():
    """Code without a loop gets the same results."""
    ran = []
    with Toolbox.sync(Policy(local=[make_pack(ran)])) as box, box.session("c") as session:
        view = session.view("openai")
        batch = session.submit(view.calls(reply(("a", "shop_add", '{"a": 1}'), ORDER)))
        batch.decide(batch.questions[0].id, Allow(by="a"))
        with batch.run() as events:
            names = [event.name for event in events]
        results = view.results(batch)

    assert names.count("call.finished") == 2
    assert [r["content"] for r in results] == ["2", "ordered tea"]


def test_blocking_methods_work_where_a_loop_runs():
    """As in a notebook, whose cells run inside one."""

    async def cell():
        with Toolbox.sync(Policy(local=[make_pack([])])) as box, box.session() as session:
            return session.call("shop.add", {"a": 1, "b": 2})

    assert asyncio.run(cell()).ok


def test_a_disabled_pack_says_which_line_would_enable_it(tmp_path):
    """An unknown name of an installed pack is not just unknown."""

    async def scenario(session, ran):
        await session.view("openai")
        (result,) = await session.answer(reply(("a", "nothing_here", "{}")))
        return json.dumps(result)

    assert "tool.unknown" in run(scenario)


@pytest.mark.parametrize("scope", ["asyncio", "anyio"])
def test_a_timeout_of_the_handlers_own_is_not_a_cancellation_of_the_call(scope, tmp_path):
    """A scope inside takes its cancellation back; the call never heard of one."""
    pytest.importorskip(scope)
    pack = Pack("own")

    @pack.tool(effects=())
    async def patient(ctx: Context) -> str:
        """Give up on something, and go on."""
        if scope == "asyncio":
            try:
                async with asyncio.timeout(0):
                    await asyncio.Event().wait()
            except TimeoutError:
                pass
        else:
            import anyio  # noqa: PLC0415

            with anyio.move_on_after(0):
                await anyio.sleep_forever()
        await asyncio.sleep(0)
        return f"requested: {ctx.cancellation.requested}"

    async def main():
        async with Toolbox(Policy(local=[pack])) as box, box.session() as session:
            return await session.call("own.patient")

    outcome = asyncio.run(main())
    assert outcome.result.notes == ()
    assert outcome.result.content[0].text == "requested: False"
