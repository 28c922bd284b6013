"""Live sources: replaced at once, bad tools withheld alone, stale ones marked."""

from __future__ import annotations

import asyncio

import attrs
import pytest

from toolcrib import Context, Implementation, Pack, Policy, Toolbox
from toolcrib.tool import Description, Tool


def live(name, handler=None, **more):
    async def run(ctx: Context, **arguments):
        return name

    made = Tool(
        id=f"mcp.hub.{name}",
        title=name,
        description=Description(f"Live {name}."),
        input_schema={"type": "object"},
        effects=(),
        **more,
    )
    return Implementation(tool=made, handler=handler or run)


class Hub:
    """A source whose tools a test sets."""

    name = "hub"

    def __init__(self, *tools):
        self.now = list(tools)
        self.failing = None
        self.closed = False
        self.read = asyncio.Event()

    async def open(self, changed):
        self.changed = changed

    async def tools(self):
        if self.failing:
            raise self.failing
        return self.now

    async def close(self):
        self.closed = True


def pack_of(*sources):
    pack = Pack("mcp")
    for source in sources:

        @pack.source
        def _(host, source=source):
            return source

    return pack


def pack_with(*sources):
    pack = Pack("mcp")

    @pack.source
    def _(host):
        return list(sources)

    return pack


async def settled(condition):
    """Let tasks run until something holds."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError


def test_tools_are_replaced_at_once_and_survivors_stay_loaded(run):
    """What is gone is forgotten, what stays keeps its state, the news say so."""
    hub = Hub(live("a"), live("b"))

    async def scenario(session):
        box = session.toolbox
        await session.call("crib.search", {"query": "select:mcp.hub.a,mcp.hub.b"})
        hub.now = [live("b"), live("c")]
        hub.changed()
        await settled(lambda: "mcp.hub.c" in box.catalog)
        first = sorted((await session.view("openai")).tools)
        hub.now = [live("a"), live("b"), live("c")]
        hub.changed()
        await settled(lambda: "mcp.hub.a" in box.catalog)
        return first, sorted((await session.view("openai")).tools), session.news()

    first, then, news = run(scenario, pack_with(hub), defer=True)
    assert first == ["crib.search", "mcp.hub.b"]
    assert then == ["crib.search", "mcp.hub.b"]
    assert "Tools added: mcp__hub__c" in news
    assert "Tools removed: mcp__hub__a" in news
    assert hub.closed


def test_what_is_no_tool_is_withheld_alone(run):
    """A source that gives nonsense among its tools keeps its good ones."""
    hub = Hub(live("good"), "nonsense", live("bad", input_schema=None) if False else object())

    async def scenario(session):
        outcome = await session.call("mcp.hub.good")
        return outcome.ok, [r.code for r in session.toolbox.catalog.refusals]

    assert run(scenario, pack_with(hub)) == (True, ["tool.misnamed", "tool.misnamed"])


def test_an_unreadable_source_keeps_its_tools_marked_stale(run):
    """They are still called; the news say that they may be old."""
    hub = Hub(live("a"))

    async def scenario(session):
        box = session.toolbox
        hub.failing = ConnectionError("gone")
        hub.changed()
        await settled(lambda: box.catalog["mcp.hub.a"].stale)
        called = await session.call("mcp.hub.a")
        news = session.news()
        hub.failing = None
        hub.changed()
        await settled(lambda: not box.catalog["mcp.hub.a"].stale)
        return called.ok, news, session.news()

    ok, news, later = run(scenario, pack_with(hub))
    assert ok
    assert "mcp.hub cannot be read" in news
    assert later == ""


def test_a_source_that_is_not_read_yet_is_not_an_unknown_one(run):
    """By name, by words, and for a name that will never exist: not yet, with the source."""
    release = asyncio.Event()
    hub = Hub(live("a"))

    async def slow(changed):
        hub.changed = changed
        await release.wait()

    hub.open = slow

    async def main():
        box = Toolbox(Policy(local=[pack_with(hub)], defer=True))
        import toolcrib.sources as module  # noqa: PLC0415 - patience is shortened

        class Impatient(module.Sources):
            def __init__(self, toolbox):
                super().__init__(toolbox, patience=0.0)

        module.Sources, kept = Impatient, module.Sources
        try:
            async with box, box.session("c") as session:
                queries = ("select:mcp.hub.a", "live a", "select:mcp.hub.never")
                early = [await session.call("crib.search", {"query": q}) for q in queries]
                direct = await session.call("mcp.hub.a")
                release.set()
                await settled(lambda: "mcp.hub.a" in box.catalog)
                late = [await session.call("crib.search", {"query": q}) for q in queries]
                return early, direct, late
        finally:
            module.Sources = kept

    early, direct, late = asyncio.run(main())
    assert [(o.code, o.status) for o in early] == [("source.pending", "unavailable")] * 3
    assert all("mcp.hub" in o.text for o in early)
    assert direct.code == "source.pending"
    assert [o.result.metadata["found"] for o in late] == [["mcp.hub.a"], [], []]
    assert late[0].result.metadata["revision"] > 1


@pytest.mark.parametrize("name", ["", "a b", 3, "hub"])
def test_a_source_without_a_name_of_its_own_is_passed_over(run, name):
    """The others are followed all the same."""
    good, bad = Hub(live("a")), Hub()
    bad.name = name

    async def scenario(session):
        return (await session.call("mcp.hub.a")).ok, session.toolbox.news.read(0)[1]

    ok, events = run(scenario, pack_with(good, bad))
    assert ok
    assert any("no name of a source" in e.data.get("problem", "") for e in events)


def test_a_source_that_cannot_be_opened_is_tried_again(run):
    """Entering does not wait for it, and it comes later."""
    hub = Hub(live("a"))
    tries = []

    async def flaky(changed):
        tries.append(1)
        if len(tries) < 3:
            msg = "not there"
            raise OSError(msg)

    hub.open = flaky

    class Clock:
        def time(self):
            return 0.0

        def monotonic(self):
            return 0.0

        async def sleep(self, seconds):
            await asyncio.sleep(0)

    async def scenario(session):
        await settled(lambda: "mcp.hub.a" in session.toolbox.catalog)
        return len(tries)

    assert run(scenario, pack_with(hub), parts={"clock": Clock()}) == 3


def test_a_late_source_keeps_nobody_waiting_and_can_be_waited_for(run):
    """The toolbox is entered with what came in; who looks only once waits for the rest."""

    class Late(Hub):
        name = "late"

        async def open(self, changed):
            await super().open(changed)
            await self.read.wait()

    late = Late()
    late.now = [attrs.evolve(live("x"), tool=attrs.evolve(live("x").tool, id="mcp.late.x"))]

    async def scenario(session):
        box = session.toolbox
        before = ("mcp.hub.a" in box.catalog, box.sources.pending)
        waiting = asyncio.create_task(box.sources.settle())
        await asyncio.sleep(0)
        late.read.set()
        await waiting
        return before, "mcp.late.x" in box.catalog

    before, after = run(scenario, pack_with(Hub(live("a")), late))
    assert before == (True, ("mcp.late",))
    assert after


@pytest.mark.parametrize(("come", "waits"), [(1, 0.25), (9, 0.25), (39, 0.0625), (99, 0.05)])
def test_the_more_sources_have_come_the_shorter_the_others_are_waited_for(
    run, monkeypatch, come, waits
):
    """Of many that start together, the few that are out are slow for reasons of their own."""
    asked = []
    wait = asyncio.wait

    async def noted(tasks, *, timeout=None, **more):
        asked.append(timeout)
        return await wait(tasks, timeout=timeout, **more)

    def named(name):
        source = Hub()
        source.name = name
        return source

    silent = named("silent")
    silent.open = lambda changed: silent.read.wait()

    async def scenario(session):
        return [timeout for timeout in asked if timeout is not None]

    monkeypatch.setattr(asyncio, "wait", noted)
    sources = [named(f"s{number}") for number in range(come)]
    assert run(scenario, pack_with(*sources, silent))[-1] == pytest.approx(waits)


def test_a_source_says_whose_words_change_by_themselves(run):
    """Its own names become ids, taken as they are."""
    hub = Hub(live("a"))
    hub.volatile = ["a", "b*"]

    async def scenario(session):
        return session.toolbox.sources.volatile

    assert run(scenario, pack_with(hub)) == ("mcp.hub.a", "mcp.hub.b[*]")
