"""One conversation over packs passed in as objects, and what ran outside the framework."""

from __future__ import annotations

import asyncio
import json

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from toolcrib import Context, Pack, Policy, Signature, Toolbox


def chat(*calls, name="r1"):
    """A chat completion of calls: ``(id, name, arguments)``; text is sent as it is."""
    listed = [
        {
            "id": id_,
            "type": "function",
            "function": {
                "name": wire,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for id_, wire, given in calls
    ]
    return {"id": name, "choices": [{"message": {"role": "assistant", "tool_calls": listed}}]}


def count_pack(ran, *, pack="shop", tools=("order", "pay", "drop")):
    """A pack whose tools have effects and note outside the framework that they ran."""
    made = Pack(pack)
    for tool in tools:
        _add(made, tool, ran)
    return made


def _add(pack, tool, ran):
    async def handler(ctx: Context, item: str = "tea") -> str:
        """Do something that cannot be undone."""
        ran.append(f"{tool} {item}")
        return f"{tool} {item}: done"

    made = pack.tool(name=tool, effects={"host_state"})(handler)

    @made.signature
    def _(item: str = "tea") -> Signature:
        return Signature(effects={"host_state"})

    @made.generalize
    def _(item: str = "tea") -> str:
        return "(effect=host_state)"


def schema_pack(schema, ran, *, name="take", pack="p"):
    """A pack of one tool with a schema as it is given."""
    made = Pack(pack)

    @made.tool(name=name, effects=(), input_schema=schema)
    async def take(ctx: Context, **arguments: Any) -> str:
        """Take what the schema says."""
        ran.append(arguments)
        return "taken"

    return made


def converse(scenario, *packs, **policy):
    """Run an async scenario with a toolbox and one of its sessions."""

    async def main():
        async with Toolbox(Policy(local=packs, **policy)) as box, box.session("c") as session:
            return await scenario(session)

    return asyncio.run(main())


def outcomes(packs, *calls, approver=None, **policy):
    """Submit one reply, run it, and return its outcomes."""

    async def scenario(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(chat(*calls)))
        for question in batch.questions if approver else ():
            await batch.decide(question.id, approver(question))
        await batch.complete()
        results = view.results(batch)
        assert [r["tool_call_id"] for r in results] == [id_ for id_, _, _ in calls]
        return batch.outcomes

    return converse(scenario, *packs, **policy)


@pytest.fixture(scope="session")
def kit():
    """The functions above."""
    return SimpleNamespace(
        chat=chat,
        count_pack=count_pack,
        schema_pack=schema_pack,
        converse=converse,
        outcomes=outcomes,
        evolve=attrs.evolve,
    )
