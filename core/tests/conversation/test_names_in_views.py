"""Hostile names through views: legal on the wire, distinct, stable, and back to the tool."""

from __future__ import annotations

import asyncio
import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib import Context, Implementation, Pack, Policy, Toolbox
from toolcrib.names import is_tool_id
from toolcrib.tool import Description, Tool


LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAMES = st.one_of(
    st.text(min_size=1, max_size=128),
    st.text(alphabet="aA_-.é \u02b9/\\\"'{}<|im_start|>\u202e", min_size=1, max_size=80),
    st.sampled_from(["__proto__", "constructor", "a__b", "_", "-", "x" * 128, "read", "Read"]),
)


def live(name):
    async def handler(ctx: Context, **arguments):
        return name

    tool = Tool(
        id=f"mcp.hub.{name}",
        title="t",
        description=Description("d"),
        input_schema={"type": "object"},
        effects=(),
    )
    return Implementation(tool=tool, handler=handler)


def call(wire):
    """Make one call of a message, its id taken from the name."""
    function = {"name": wire, "arguments": "{}"}
    return {"id": f"id-{wire}", "type": "function", "function": function}


class Hub:
    """A source of tools with the given names."""

    name = "hub"

    def __init__(self, names):
        self.names = names

    async def open(self, changed):
        self.changed = changed

    async def tools(self):
        return [live(name) for name in self.names]

    async def close(self):
        """Nothing to close."""


async def views_of(names, dialect):
    hub = Hub(names)
    pack = Pack("mcp")
    pack.source(lambda host: hub)
    async with Toolbox(Policy(local=[pack])) as box, box.session("c") as session:
        view = await session.view(dialect)
        shown = {entry.tool_id: entry.wire_name for entry in view.projected.entries}
        results = []
        if dialect == "openai":
            results = await session.answer({"tool_calls": [call(w) for w in shown.values()]})
        return shown, [r["content"] for r in results], session.news()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(names=st.lists(NAMES, min_size=1, max_size=12, unique=True), data=st.data())
def test_hostile_names_are_legal_distinct_stable_and_lead_back(names, data):
    """Any name that is a tool id is callable under one wire name, alone or among others."""
    good = [name for name in names if is_tool_id(f"mcp.hub.{name}")]
    shown, results, news = asyncio.run(views_of(names, "openai"))
    # The news tell apart a name that was withheld from a source that was not read.
    assert sorted(shown) == sorted(f"mcp.hub.{name}" for name in good), news
    assert all(LEGAL.fullmatch(wire) for wire in shown.values())
    assert len(set(shown.values())) == len(shown)
    assert results == [id_.removeprefix("mcp.hub.") for id_ in shown]
    if good:
        fewer = data.draw(st.lists(st.sampled_from(good), min_size=1, unique=True))
        again, _, _ = asyncio.run(views_of(fewer, "anthropic"))
        assert all(shown[id_] == wire for id_, wire in again.items())
