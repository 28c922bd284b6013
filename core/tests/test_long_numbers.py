"""Numbers that Python will neither read nor write, wherever a model may send them."""

from __future__ import annotations

import asyncio
import json

import pytest

from toolcrib import Context, Pack, Policy, Toolbox, canonical


DIGITS = "7" * 5000
HUGE = 7 * (10**5000 - 1) // 9
PACK = Pack("probe", title="Probe", version="1")


@PACK.tool(effects=())
async def count(ctx: Context, n: int = 0) -> str:
    """Count."""
    return "counted"


@PACK.tool()
async def change(ctx: Context) -> str:
    """Change."""
    return "changed"


@pytest.fixture
def run(tmp_path):
    """Run ``scenario(session)``."""

    def running(scenario):
        async def main():
            policy = Policy(local=[PACK], state=tmp_path, workspace=tmp_path)
            async with Toolbox(policy) as box, box.session("c") as session:
                return await scenario(session)

        return asyncio.run(main())

    return running


def uses(*calls):
    """Make a message that uses tools."""
    content = [
        {"type": "tool_use", "id": f"u{i}", "name": name, "input": value}
        for i, (name, value) in enumerate(calls)
    ]
    return {"role": "assistant", "content": content}


async def codes(session, dialect, reply):
    """Return how each call of a reply ended."""
    view = await session.view(dialect)
    batch = await session.submit(view.calls(reply))
    return [outcome.code for outcome in await batch.complete()]


def test_a_number_of_too_many_digits_is_a_sentence():
    """The reader is not told of settings of Python."""
    with pytest.raises(canonical.LongNumberError, match="more than 4300 digits"):
        canonical.loads(f"[{DIGITS}]")


@pytest.mark.parametrize("arguments", [{"n": HUGE}, f'{{"n":{DIGITS}}}'], ids=["value", "text"])
def test_a_call_with_one_is_answered(run, arguments):
    """Malformed, as everything that JSON cannot say."""
    outcome = run(lambda session: session.call("probe.count", arguments))
    assert outcome.code == "arguments.malformed"
    assert "digits" in outcome.text


@pytest.mark.parametrize("as_text", [False, True], ids=["value", "text"])
def test_in_a_reply_the_other_calls_are_answered_too(run, as_text):
    """One call that cannot be read is no reason to drop the reply."""
    reply = uses(("probe_count", {"n": HUGE}), ("probe_count", {"n": 1}))
    if as_text:
        small = uses(("probe_count", {"n": "HUGE"}), ("probe_count", {"n": 1}))
        reply = json.dumps(small).replace('"HUGE"', DIGITS)
    assert run(lambda session: codes(session, "anthropic", reply)) == [
        "arguments.malformed",
        None,
    ]


def test_a_bare_one_is_no_object(run):
    """It is told what it is instead."""
    reply = uses(("probe_count", HUGE))
    assert run(lambda session: codes(session, "anthropic", reply)) == ["arguments.not_object"]


def test_beside_a_question_it_can_be_stored(run):
    """What is written down for later holds no such number."""
    reply = uses(("probe_change", {}), ("probe_count", {"n": HUGE}))
    assert run(lambda session: codes(session, "anthropic", reply)) == [
        "question.open",
        "arguments.malformed",
    ]


def test_as_the_id_of_a_request_it_is_left_out(run):
    """It could not be sent back, and the call runs all the same."""
    params = {"name": "probe_count", "arguments": {}}
    reply = {"jsonrpc": "2.0", "id": HUGE, "method": "tools/call", "params": params}
    assert run(lambda session: codes(session, "mcp", reply)) == [None]
