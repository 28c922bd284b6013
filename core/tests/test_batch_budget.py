"""The results of one reply together: what a model is shown of them, and what is kept."""

from __future__ import annotations

import asyncio
import json

from toolcrib import Context, Pack, Policy, Toolbox
from toolcrib.execution import shown_size
from toolcrib.outcome import ArtifactLink, Result, Text


def make_pack():
    pack = Pack("long", effects=())

    @pack.tool
    async def text(ctx: Context, size: int) -> str:
        """Say much."""
        return f"begin {'x' * size} end"

    return pack


def reply(*sizes, id="r1"):
    calls = [
        {
            "id": f"id{number}",
            "type": "function",
            "function": {"name": "long_text", "arguments": json.dumps({"size": size})},
        }
        for number, size in enumerate(sizes)
    ]
    message = {"role": "assistant", "tool_calls": calls}
    return {"id": id, "choices": [{"message": message}]}


def play(tmp_path, scenario, **policy):
    async def main():
        rules = Policy(local=[make_pack()], workspace=tmp_path, state=tmp_path / "s", **policy)
        async with Toolbox(rules) as box, box.session("c") as session:
            view = await session.view("openai")
            return await scenario(session, view)

    return asyncio.run(main())


def shown(batch):
    return [shown_size(outcome.result) for outcome in batch.outcomes]


async def completed(session, view, wanted):
    batch = await session.submit(view.calls(wanted))
    await batch.complete()
    return batch


def test_results_that_fit_one_by_one_are_fitted_together(tmp_path):
    """The small one stays whole; the large ones share what is left, head and tail."""

    async def scenario(session, view):
        batch = await completed(session, view, reply(3_000, 100, 3_000))
        links = [
            block
            for outcome in batch.outcomes
            for block in outcome.result.content
            if isinstance(block, ArtifactLink)
        ]
        whole = [await session.artifacts.get(link.digest) for link in links]
        return shown(batch), [o.result.content[0].text for o in batch.outcomes], whole

    sizes, texts, whole = play(tmp_path, scenario, batch_budget=4_000)

    assert sum(sizes) <= 4_000
    assert texts[1] == f"begin {'x' * 100} end"
    assert all(text.startswith("begin x") and text.endswith("x end") for text in texts)
    assert [len(data) for data in whole] == [3_010, 3_010]


def test_a_reply_within_its_budget_is_left_alone(tmp_path):
    """Not a character is changed."""

    async def scenario(session, view):
        return shown(await completed(session, view, reply(1_000, 1_000)))

    assert play(tmp_path, scenario, batch_budget=2_020) == [1_010, 1_010]


def test_the_same_reply_again_is_fitted_the_same(tmp_path):
    """Receipts keep what each call gave; what the model sees does not change."""

    async def scenario(session, view):
        first = view.results(await completed(session, view, reply(3_000, 3_000)))
        again = view.results(await completed(session, view, reply(3_000, 3_000)))
        return first, again

    first, again = play(tmp_path, scenario, batch_budget=3_000)
    assert sum(len(result["content"]) for result in first) < 3_600
    replayed = [
        result["content"].replace("; replayed: recorded earlier, nothing ran now", "")
        for result in again
    ]
    assert replayed == [result["content"] for result in first]


def test_a_run_that_is_watched_is_fitted_too(tmp_path):
    """Whichever way a batch is run."""

    async def scenario(session, view):
        batch = await session.submit(view.calls(reply(3_000, 3_000, id="r2")))
        async with batch.run() as events:
            async for _ in events:
                pass
        return shown(batch)

    assert sum(play(tmp_path, scenario, batch_budget=3_000)) <= 3_000


def test_a_summary_is_shortened_although_the_content_is_short(tmp_path):
    """It is shown to people and models, and has a length of its own."""
    pack = Pack("brief", effects=())

    @pack.tool
    async def long_title(ctx: Context) -> Result:
        """Say little under a long title."""
        return Result("t" * 5000, [Text("ok")])

    async def main():
        policy = Policy(local=[pack], workspace=tmp_path, state=tmp_path / "s")
        async with Toolbox(policy) as box, box.session("c") as session:
            return await session.call("brief.long_title")

    outcome = asyncio.run(main())
    assert outcome.ok
    assert len(outcome.result.summary) <= 500
