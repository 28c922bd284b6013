"""Functions beside a tool reach the toolbox's resources through their host."""

from __future__ import annotations

import asyncio

from collections.abc import AsyncIterator

from toolcrib import Allow, Context, Pack, PackHost


def _pack(seen):
    pack = Pack("shop")

    @pack.resource(scope="toolbox")
    async def till(ctx: Context) -> AsyncIterator[list[str]]:
        seen.append("open")
        yield seen
        seen.append("closed")

    @pack.resource(scope="session")
    async def basket(ctx: Context) -> AsyncIterator[list[str]]:
        yield seen

    @pack.tool(effects={"host_state"}, timeout=60)
    async def sell(ctx: Context, what: str) -> str:
        """Sell something."""
        (await ctx.use(till)).append(f"sold {what}")
        return "done"

    @sell.preview
    async def _(host: PackHost, /, what: str) -> str:
        if what == "slowly" and not seen:  # it is asked for again before the call runs
            await asyncio.sleep(2.2)
        if what == "basket":
            await host.use(basket)
        (await host.use(till)).append(f"shown {what}")
        return f"sells {what}"

    return pack


def _shown(run, what):
    seen = []
    asked = []

    async def scenario(session):
        await session.call(
            "shop.sell",
            {"what": what},
            approver=lambda q: asked.append(q.preview) or Allow(by="tester"),
        )

    run(scenario, _pack(seen))
    return seen, asked


def test_preview_and_handler_share_one_resource_that_is_closed_once(run):
    seen, asked = _shown(run, "eggs")
    assert asked == ["sells eggs"]
    assert seen[0] == "open"
    assert seen[-1] == "closed"
    assert "sold eggs" in seen
    assert seen.count("open") == 1


def test_resource_of_a_session_is_not_given_to_a_host(run):
    _, asked = _shown(run, "basket")
    assert "belongs to a session" in asked[0]


def test_async_preview_may_take_as_long_as_its_tool_says(run):
    _, asked = _shown(run, "slowly")
    assert asked == ["sells slowly"]
