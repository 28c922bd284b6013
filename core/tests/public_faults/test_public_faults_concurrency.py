"""Batches that wait for a person, and hosts that go away meanwhile."""

from __future__ import annotations

import asyncio

from toolcrib import Allow, Context


def test_what_ran_beside_an_open_question_is_kept_and_not_run_again(kit, tmp_path):
    """The free call runs at once; after a restart the other is answered, and it alone runs."""
    ran = []
    policy = {"ledger": tmp_path / "state" / "ledger.sqlite"}

    def packs():
        pack = kit.count_pack(ran, tools=("delete",))

        @pack.tool(name="list", effects=())
        def list_(ctx: Context) -> str:
            """List what is there."""
            ran.append("list")
            return "all of it"

        return pack

    reply = kit.chat(("d", "shop_delete", {}), ("l", "shop_list", {}))

    async def before(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply))
        async with batch.run(keep_questions=True) as events:
            async for _ in events:
                pass
        return batch.id, [q.id for q in batch.questions]

    async def after(session):
        batch = await session.batch(batch_id)
        still = [q.id for q in batch.questions]
        await batch.decide(still[0], Allow(by="alice"))
        await batch.complete()
        return still, batch.view.results(batch)

    batch_id, questions = kit.converse(before, packs(), **policy)
    assert ran == ["list"]
    still, results = kit.converse(after, packs(), **policy)
    assert still == questions
    assert ran == ["list", "delete tea"]
    assert [r["tool_call_id"] for r in results] == ["d", "l"]
    assert results[1]["content"].startswith("all of it")


def test_one_call_that_ends_by_its_own_limit_leaves_its_siblings_alone(kit):
    """Results come back in the order of the request."""
    pack = kit.count_pack([], tools=())

    @pack.tool(effects=(), timeout=0.05)
    async def late(ctx: Context) -> str:
        """Take too long."""
        await asyncio.Event().wait()
        return "never"

    @pack.tool(effects=())
    async def slow(ctx: Context, n: int) -> str:
        """Take a while."""
        await asyncio.sleep(0.1)
        return f"done {n}"

    calls = [("a", "shop_slow", {"n": 1}), ("b", "shop_late", {}), ("c", "shop_slow", {"n": 2})]
    assert [o.status for o in kit.outcomes([pack], *calls)] == ["ok", "timeout", "ok"]


def test_two_calls_of_one_tool_are_told_apart_after_a_restart(kit, tmp_path):
    """Resuming goes by call, never by the tool's name."""
    ran = []
    policy = {"ledger": tmp_path / "state" / "ledger.sqlite"}
    calls = [(f"c{n}", "shop_order", {"item": f"i{n}"}) for n in range(4)]

    async def before(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(kit.chat(*calls)))
        await batch.decide(batch.questions[0].id, Allow(by="alice"))
        async with batch.run(keep_questions=True) as events:
            async for _ in events:
                pass
        return batch.id

    async def after(session):
        batch = await session.batch(batch_id)
        for question in batch.questions:
            await batch.decide(question.id, Allow(by="alice"))
        return [o.status for o in await batch.complete()]

    batch_id = kit.converse(before, kit.count_pack(ran), **policy)
    assert ran == ["order i0"]
    assert kit.converse(after, kit.count_pack(ran), **policy) == ["ok"] * 4
    assert sorted(ran) == ["order i0", "order i1", "order i2", "order i3"]
