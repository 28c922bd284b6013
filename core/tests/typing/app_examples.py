"""The app builder's side, as type checkers see it; checked, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

from toolcrib import (
    Allow,
    AllowRule,
    Batch,
    Calls,
    Catalog,
    Decision,
    Deny,
    Event,
    Outcome,
    Pack,
    Policy,
    Question,
    Refusal,
    Registry,
    Session,
    Status,
    Tool,
    Toolbox,
    View,
)


def approve(question: Question) -> Decision | None:
    """Answer as a person would."""
    if question.rule_offered is not None:
        return AllowRule(by="alice", scope="project")
    return Allow(by="alice") if question.preview else Deny(by="alice", reason="no preview")


async def loop(pack: Pack, reply: Any) -> list[dict[str, Any]]:
    """Take one reply through all stages."""
    policy = Policy(packs=["toolcrib-files"], local=[pack], mode="ask", rules=["deny a.*"])
    async with Toolbox(policy) as box:
        assert_type(box, Toolbox)
        assert_type(box.catalog, Catalog)
        async with box.session("conv-42", principal="alice", app={"plan": "pro"}) as session:
            assert_type(session, Session)
            view = await session.view("anthropic", strict=True)
            assert_type(view, View)
            calls = view.calls(reply)
            assert_type(calls, Calls)
            batch = await session.submit(calls)
            assert_type(batch, Batch)
            for question in batch.questions:
                assert_type(await batch.decide(question.id, Allow(by="a")), Outcome | None)
            async with batch.run() as events:
                async for event in events:
                    assert_type(event, Event)
            for outcome in batch.outcomes:
                assert_type(outcome.status, Status)
            assert_type(await session.call("a.b", {"c": 1}, approver=approve), Outcome)
            assert_type(view.tools["a.b"], Tool)
            return view.results(batch)


def blocking(folder: Path, reply: Any) -> list[dict[str, Any]]:
    """Do the same without an event loop."""
    with Toolbox.sync(Policy.discover(folder)) as box, box.session() as session:
        view = session.view("openai")
        batch = session.submit(view.calls(reply))
        batch.complete()
        return view.results(batch)


def listed(policy: Policy) -> tuple[Refusal, ...]:
    """Look at what is there; nothing is imported."""
    return Registry.discover().compose(policy).refusals
