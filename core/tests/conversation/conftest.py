"""What the tests of sessions share: replies of a model, and a toolbox for one scenario."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Policy, Toolbox


def chat_reply(*calls, id="r1"):
    """Make a chat completion that calls tools: (name, arguments text)."""
    tool_calls = [
        {
            "id": f"{id}-{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "tool_calls": tool_calls}
    return {"id": id, "choices": [{"message": message}]}


@pytest.fixture
def reply():
    """Return the maker of replies."""
    return chat_reply


@pytest.fixture
def run(tmp_path):
    """Run ``scenario(session)`` in a toolbox with some packs."""

    def running(scenario, *packs, session=None, parts=None, **policy):
        policy.setdefault("state", tmp_path / "state")
        policy.setdefault("workspace", tmp_path)

        async def main():
            async with Toolbox(Policy(local=list(packs), **policy), **(parts or {})) as box:
                async with box.session("c", **(session or {})) as opened:
                    return await scenario(opened)

        return asyncio.run(main())

    return running
