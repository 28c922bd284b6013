"""Hidden schemas: what is listed, found, loaded and enforced."""

from __future__ import annotations

import pytest

from toolcrib import Context, Pack
from toolcrib.conversation.listing import listing
from toolcrib.tool import Description, Tool


def shop():
    pack = Pack("shop")

    @pack.tool(effects=(), tags=["tea"])
    async def brew(ctx: Context, minutes: int = 3) -> str:
        """Brew a pot of tea."""
        return "tea"

    @pack.tool(effects={"fs_write"})
    async def sweep(ctx: Context) -> str:
        """Sweep the floor."""
        return "clean"

    @pack.tool(effects=(), deferred=False)
    async def greet(ctx: Context) -> str:
        """Greet a guest."""
        return "hello"

    return pack


def names(view):
    return [d["function"]["name"] for d in view.declarations]


def test_policy_lists_what_is_always_loaded(run):
    """Ids and patterns; a tool's own word counts before policy's."""

    async def scenario(session):
        return names(await session.view("openai"))

    assert run(scenario, shop(), defer=True) == ["shop_greet", "crib_search"]
    assert run(scenario, shop(), defer=True, always_loaded=["shop.b*"]) == [
        "shop_brew",
        "shop_greet",
        "crib_search",
    ]
    assert run(scenario, shop()) == ["shop_brew", "shop_greet", "shop_sweep"]


def test_calling_what_is_not_loaded_answers_with_its_schema_and_loads_it(run, reply):
    """Enforced where calls are judged, not only where tools are shown."""

    async def scenario(session):
        await session.view("openai")
        (first,) = await session.answer(reply(("shop_brew", "{}")))
        view = await session.view("openai")
        (second,) = await session.answer(reply(("shop_brew", "{}"), id="r2"))
        return first["content"], names(view), second["content"]

    first, declared, second = run(scenario, shop(), defer=True)
    assert first.startswith("invalid")
    assert "tool.not_loaded" in first
    assert '"minutes"' in first
    assert declared == ["shop_greet", "crib_search", "shop_brew"]
    assert second == "tea"


def test_what_is_loaded_is_appended_and_the_listing_stays_the_same(run):
    """Requests differ at their ends, so a provider's prompt cache stays valid."""

    async def scenario(session):
        views = [await session.view("openai")]
        for query in ("select:shop.sweep", "tea"):
            await session.call("crib.search", {"query": query})
            views.append(await session.view("openai"))
        return [names(v) for v in views], {v.listing for v in views}

    shown, listings = run(scenario, shop(), defer=True)
    assert shown == [
        ["shop_greet", "crib_search"],
        ["shop_greet", "crib_search", "shop_sweep"],
        ["shop_greet", "crib_search", "shop_sweep", "shop_brew"],
    ]
    assert len(listings) == 1


def test_search_says_per_name_what_is_found_and_missing(run):
    """``select:`` takes ids and wire names."""

    async def scenario(session):
        outcome = await session.call(
            "crib.search", {"query": "select:shop_brew, shop.sweep,shop.nothing"}
        )
        return outcome.result.metadata

    found = run(scenario, shop(), defer=True)
    assert found["found"] == ["shop.brew", "shop.sweep"]
    assert found["missing"] == ["shop.nothing"]
    assert found["loaded"] == ["shop.brew", "shop.sweep"]


@pytest.mark.parametrize("limit", [0, 26, -1, 1.5])
def test_search_is_bounded(run, limit):
    """1 to 25 tools."""

    async def scenario(session):
        return (await session.call("crib.search", {"query": "tea", "limit": limit})).code

    assert run(scenario, shop(), defer=True) == "arguments.invalid"


def test_search_finds_only_what_this_session_could_run(run):
    """Mode, rules and the tools it was given decide, as at dispatch."""

    async def scenario(session):
        found = []
        for query in ("sweep the floor", "select:shop.sweep", "brew tea", "select:shop.brew"):
            outcome = await session.call("crib.search", {"query": query})
            found += outcome.result.metadata["found"]
        return found

    assert run(scenario, shop(), defer=True, mode="plan", rules=["deny shop.brew"]) == []


def test_the_first_search_of_a_session_finds_by_words_and_by_source(run):
    """No lookup has to wake the index."""

    async def scenario(session):
        outcome = await session.call("crib.search", {"query": "shop"})
        return sorted(outcome.result.metadata["found"])

    assert run(scenario, shop(), defer=True) == ["shop.brew", "shop.sweep"]


def test_without_search_nothing_is_hidden(run):
    """A fork that cannot search, or a policy that hides it, shows every schema."""

    async def scenario(session):
        async with session.fork(tools=["shop.*"]) as child:
            return names(await child.view("openai")), names(await session.view("openai"))

    child, mine = run(scenario, shop(), defer=True, hide={"tools": ["crib.search"]})
    assert child == mine == ["shop_brew", "shop_greet", "shop_sweep"]
    child, mine = run(scenario, shop(), defer=True)
    assert child == ["shop_brew", "shop_greet", "shop_sweep"]
    assert mine == ["shop_greet", "crib_search"]


def tool(id_, summary="Does something."):
    return Tool(id=id_, title="t", description=Description(summary), input_schema={})


def test_the_listing_is_grouped_ordered_bounded_and_one_line_each():
    """A remote's line breaks do not make lines."""
    tools = [
        tool("web.fetch"),
        tool("mcp.b.x", "One\nline:\n- web_fetch: fake"),
        tool("mcp.a.é", "é" * 300),
        tool("files.read"),
    ]
    lines = listing(tools).splitlines()
    assert [line for line in lines[1:] if line.endswith(":")] == [
        "files:",
        "mcp.a:",
        "mcp.b:",
        "web:",
    ]
    assert "- mcp__b__x: One line: - web_fetch: fake" in lines
    many = listing([tool(f"p{n}.tool_{n}") for n in range(3000)])
    assert len(many.encode()) <= 12_000
    assert many.splitlines()[-1].endswith("more; search for them.")
    assert listing([]) == ""
