"""Packs beside each other: one bad one is its own fault domain, names have one owner."""

from __future__ import annotations

import asyncio
import logging

import pytest

from toolcrib import Context, Pack, Policy, Toolbox


def search_pack(pack_id, answer):
    pack = Pack(pack_id)

    @pack.tool(effects=())
    def search(ctx: Context) -> str:
        """Search."""
        return answer

    return pack


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_tools_of_one_name_never_replace_each_other(kit, order):
    """Both are there under their own ids, in whatever order their packs were loaded."""
    packs = [search_pack(name, f"by {name}") for name in order]
    calls = [("a", "one_search", {}), ("b", "two_search", {}), ("c", "search", {})]
    found = kit.outcomes(packs, *calls)
    assert [o.status for o in found] == ["ok", "ok", "unknown_tool"]
    assert found[0].result.content[0].text == "by one"
    assert found[1].result.content[0].text == "by two"
    assert "one_search" in found[2].text


def test_only_an_explicit_override_swaps_a_tool_and_it_shows(kit):
    """The entry says what it stands in for."""

    async def scenario(session):
        outcome = await session.call("one.search")
        return session.toolbox.catalog["one.search"], outcome.result.content[0].text

    packs = [search_pack("one", "by one"), search_pack("two", "by two")]
    entry, text = kit.converse(scenario, *packs, overrides={"one.search": "two.search"})
    assert text == "by two"
    assert entry.replaces is not None or entry.pack == "two"


def test_two_packs_of_one_id_are_both_withheld_and_named(kit):
    """None of them wins by order."""

    async def scenario(session):
        return list(session.toolbox.catalog.tools), session.toolbox.catalog.refusals

    first = [search_pack("one", "a"), search_pack("one", "b"), search_pack("two", "c")]
    for packs in (first, first[::-1]):
        tools, refusals = kit.converse(scenario, *packs)
        assert "two.search" in tools
        assert "one.search" not in tools
        assert {r.code for r in refusals} == {"pack.contested"}


@pytest.mark.parametrize("order", [("p1", "p2", "p3"), ("p3", "p2", "p1")])
def test_an_observer_that_raises_silences_no_other(order, caplog):
    """The error is logged once, with its pack; who is asked when is policy's order."""
    heard = []

    def observer(name):
        pack = Pack(name)

        @pack.observe
        def _(event) -> None:
            if name == "p2":
                message = "not today"
                raise RuntimeError(message)
            heard.append((name, event["name"]))

        return pack

    worker = search_pack("w", "done")

    async def main():
        packs = [worker, *map(observer, order)]
        async with Toolbox(Policy(local=packs, observers=["p1", "p2", "p3"])) as box:
            async with box.session("c") as session:
                for _ in range(3):
                    assert (await session.call("w.search")).ok

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    names = {name for name, _ in heard}
    assert names == {"p1", "p3"}
    assert [e for n, e in heard if n == "p1"] == [e for n, e in heard if n == "p3"]
    told = [r for r in caplog.records if "p2" in r.getMessage() or "p2" in r.name]
    assert len(told) == 1


def test_a_guard_that_raises_refuses(kit):
    """It is never skipped."""
    guard = Pack("guard")

    @guard.guard
    def _(call) -> None:
        message = "cannot tell"
        raise RuntimeError(message)

    (outcome,) = kit.outcomes(
        [search_pack("w", "done"), guard], ("a", "w_search", {}), guards=["guard"], mode="trust"
    )
    assert outcome.status == "refused"
