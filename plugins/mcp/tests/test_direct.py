"""Calls go past the SDK's dispatcher, and on the wire nobody can tell."""

from __future__ import annotations

import asyncio
import json

from pathlib import Path
from typing import Any

import pytest

from mcp_kit import opened, tool, yes
from opentelemetry import trace
from toolcrib import Allow


pytestmark = pytest.mark.usefixtures("nothing_left")


class Provider(trace.TracerProvider):
    """Collects nothing, but is somebody's own."""

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        """Return a tracer that makes no spans."""
        return trace.NoOpTracer()


def call(tmp_path: Path, one: Any, **arguments: Any) -> Any:
    """Call the tool ``t`` of a server once."""

    async def main() -> Any:
        async with opened(tmp_path, {"a": one}) as (_, session):
            return await session.call("mcp.a.t", arguments, approver=yes)

    return asyncio.run(main())


def answer(text: str) -> str:
    """Return a whole answer of the peer's, with the request's id still to be put in."""
    result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": "$id", "result": result}).replace('"$id"', "$id")


def test_a_request_is_the_one_that_the_sdk_would_send(
    tmp_path: Path, peer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where spans are collected the SDK sends it, which hands their context on."""
    sent = []
    for number, provider in enumerate([None, Provider()]):
        if provider is not None:
            monkeypatch.setattr(
                trace, "get_tracer_provider", lambda provider=provider: provider
            )
        one = peer({"tools": [tool("t")], "calls": {"t": [{"text": "yes"}]}})
        (folder := tmp_path / str(number)).mkdir()
        assert call(folder, one).ok
        (message,) = one.messages("tools/call")
        assert message["params"]["_meta"]["progressToken"] == message["id"]
        sent.append(message)
    ours, theirs = sent
    assert ours["id"] != theirs["id"]  # both ways were gone
    ours["id"] = ours["params"]["_meta"]["progressToken"] = theirs["id"]
    assert ours == theirs


def test_of_two_answers_to_a_request_the_first_holds(tmp_path: Path, peer: Any) -> None:
    """And the connection goes on."""
    twice = [{"raw": answer("first") + "\n" + answer("second")}]
    one = peer({"tools": [tool("t"), tool("u")], "calls": {"t": twice, "u": [{"text": "u"}]}})

    async def main() -> None:
        async with opened(tmp_path, {"a": one}) as (_, session):
            first = await session.call("mcp.a.t", {}, approver=yes)
            after = await session.call("mcp.a.u", {}, approver=yes)
            assert [o.result.content[0].text for o in (first, after)] == ["first", "u"]

    asyncio.run(main())


def test_a_number_that_comes_back_as_text_is_the_same(tmp_path: Path, peer: Any) -> None:
    """Some servers write every id as text."""
    one = peer(
        {"tools": [tool("t")], "calls": {"t": [{"raw": answer("yes").replace("$id", '"$id"')}]}}
    )
    assert call(tmp_path, one).result.content[0].text == "yes"


@pytest.mark.parametrize(
    "params",
    [
        {"progressToken": True, "progress": 1},
        {"progressToken": ["x"], "progress": 1},
        {"progressToken": 1 << 30, "progress": "much"},
        {"progressToken": 1 << 30, "progress": 10**400},
        {"progressToken": 1 << 30, "progress": True, "total": "all"},
        {"progress": 1},
        None,
    ],
)
def test_odd_progress_ends_no_call(tmp_path: Path, peer: Any, params: Any) -> None:
    """What cannot be read is passed over."""
    note = {"method": "notifications/progress"} | ({} if params is None else {"params": params})
    one = peer({"tools": [tool("t")], "calls": {"t": [{"send": note}, {"text": "yes"}]}})
    assert call(tmp_path, one).result.content[0].text == "yes"


def test_progress_is_told_before_the_answer_that_follows_it(tmp_path: Path, peer: Any) -> None:
    """Both are read in one piece."""
    steps = [{"progress": {"times": 3, "every": 0.0}}, {"text": "done"}]
    one = peer({"tools": [tool("t")], "calls": {"t": steps}})

    async def main() -> None:
        async with opened(tmp_path, {"a": one}) as (_, session):
            view = await session.view("openai")
            function = {"name": "mcp__a__t", "arguments": "{}"}
            made = {"id": "c1", "type": "function", "function": function}
            reply = {
                "id": "r",
                "choices": [{"message": {"role": "assistant", "tool_calls": [made]}}],
            }
            batch = await session.submit(view.calls(reply))
            for question in batch.questions:
                await batch.decide(question.id, Allow(by="tester"))
            async with batch.run() as events:
                names = [event.name async for event in events]
            assert names == ["call.started", *["call.progress"] * 3, "call.finished"]

    asyncio.run(main())
