"""A fork's authority is an intersection, whatever it says of itself; the rest is its own."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import (
    Allow,
    AllowRule,
    Context,
    Pack,
    RecordError,
    Signature,
    StageError,
    resources,
)


def make_pack(ran=None):
    ran = [] if ran is None else ran
    pack = Pack("team")

    @pack.tool(effects={"fs_read"})
    async def look(ctx: Context, path: str = "a.txt") -> str:
        """Look at a file."""
        ran.append("look")
        return "seen"

    @look.signature
    def _(path: str = "a.txt") -> Signature:
        return Signature(reads=[resources.Path(path)])

    @pack.tool(effects={"fs_write"})
    async def change(ctx: Context) -> str:
        """Change a file."""
        ran.append("change")
        return "changed"

    @change.signature
    def _() -> Signature:
        return Signature(writes=[resources.Path("a.txt")])

    @pack.resource
    async def desk(ctx: Context):
        ran.append(f"open {ctx.conversation}")
        yield object()
        ran.append(f"close {ctx.conversation}")

    @pack.tool(effects=())
    async def sit(ctx: Context) -> int:
        """Use a resource."""
        return id(await ctx.use(desk))

    return pack


def test_a_fork_may_not_what_its_parent_may_not(run):
    """A wider mode is narrowed, and the parent's later mode counts too."""

    async def scenario(session):
        async with session.fork(mode="trust") as child:
            first = str(child.mode)
            child.mode = "trust"
            asked = await child.call("team.change")
            session.mode = "plan"
            refused = await child.call("team.change")
            session.mode = "trust"
            runs = await child.call("team.change")
            return first, asked.status, refused.code, runs.status

    assert run(scenario, make_pack()) == ("ask", "needs_approval", "mode.denied", "ok")


def test_a_fork_has_fewer_tools_everywhere(run, reply):
    """Offer, search and dispatch ask the same question."""

    async def scenario(session):
        async with session.fork(tools=["team.lo*"]) as child:
            view = await child.view("openai")
            names = [d["function"]["name"] for d in view.declarations]
            called = await child.call("team.change")
            wide = await session.view("openai")
            (answered,) = await child.answer(reply(("team_change", "{}")), view=wide)
            async with child.fork(tools=["*"]) as grandchild:
                inner = [d.id for d in await grandchild.describe()]
            return names, called.status, answered["content"], inner

    names, status, content, inner = run(scenario, make_pack())
    assert names == ["team_look"]
    assert status == "unknown_tool"
    assert content.startswith("unavailable")
    assert inner == ["team.look"]


def test_grants_of_the_parent_are_not_the_forks(run):
    """What people granted to one is not granted to the other, in either direction."""

    def yes(question):
        return Allow(by="ada", scope="session")

    async def scenario(session):
        await session.call("team.change", approver=yes)
        async with session.fork("helper") as child:
            asked = await child.call("team.change")
            granted = await child.call("team.change", approver=yes)
            again = await child.call("team.change")
        async with session.fork("other") as sibling:
            sister = await sibling.call("team.change")
        return asked.status, granted.status, again.status, sister.status

    assert run(scenario, make_pack()) == ("needs_approval", "ok", "ok", "needs_approval")


def test_a_deny_of_policy_holds_in_every_fork(run):
    """Even a person's yes in the fork does not lift it."""

    async def scenario(session):
        async with session.fork(mode="trust") as child, child.fork() as grandchild:
            outcome = await grandchild.call(
                "team.look", {"path": "x.env"}, approver=lambda q: AllowRule(by="ada")
            )
            return outcome.code

    assert run(scenario, make_pack(), rules=["deny team.look(path=*.env)"]) == "rule.denied"


def test_what_a_fork_loaded_is_its_own(run):
    """Deferral begins anew in a fork, and does not flow back."""

    async def scenario(session):
        await session.call("crib.search", {"query": "select:team.look"})
        async with session.fork() as child:
            before = await child.view("openai")
            await child.call("crib.search", {"query": "select:team.change"})
            after = await child.view("openai")
        mine = await session.view("openai")
        return [sorted(v.tools) for v in (before, after, mine)]

    assert run(scenario, make_pack(), defer=True) == [
        ["crib.search"],
        ["crib.search", "team.change"],
        ["crib.search", "team.look"],
    ]


def test_forks_are_closed_before_their_parent_and_with_their_resources(run):
    """Nothing of a child outlives its parent."""
    ran = []

    async def scenario(session):
        child = await session.fork("kid").__aenter__()
        mine, theirs = await session.call("team.sit"), await child.call("team.sit")
        assert mine.result.structured != theirs.result.structured
        await session.close()
        with pytest.raises(StageError):
            await child.call("team.sit")

    run(scenario, make_pack(ran))
    assert ran == ["open c", "open c/kid", "close c/kid", "close c"]


def test_what_a_fork_read_counts_for_its_parent(run):
    """Labels flow back with the answer, or a sub-agent would launder them."""
    pack = Pack("flow")

    @pack.tool(effects=(), labels=["reads_private"])
    async def read(ctx: Context) -> str:
        """Read what is private."""
        return "secret"

    @pack.tool(effects=(), labels=["sends_out"])
    async def send(ctx: Context) -> str:
        """Send out."""
        return "sent"

    async def scenario(session):
        async with session.fork() as child:
            await child.call("flow.read")
        return (await session.call("flow.send")).code

    assert run(scenario, pack, forbid_labels=[["reads_private", "sends_out"]]) == (
        "labels.forbidden"
    )


def test_closing_goes_on_although_the_task_is_cancelled(run):
    """Resources are closed in reverse order also on the way out of a cancelled task."""
    pack = Pack("deep")
    order = []

    @pack.resource
    async def first(ctx: Context):
        yield 1
        await asyncio.sleep(0.02)
        order.append("first")

    @pack.resource
    async def second(ctx: Context):
        await ctx.use(first)
        yield 2
        await asyncio.sleep(0.02)
        order.append("second")

    @pack.tool(effects=())
    async def use(ctx: Context) -> int:
        """Use both."""
        return await ctx.use(second)

    async def scenario(session):
        opened = asyncio.Event()

        async def other():
            async with session.toolbox.session("d") as inner:
                await inner.call("deep.use")
                opened.set()
                await asyncio.Event().wait()

        task = asyncio.ensure_future(other())
        await opened.wait()
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return list(order)

    assert run(scenario, pack) == ["second", "first"]


def test_a_grant_that_cannot_be_stored_holds_for_the_session_and_refuses_nothing(
    run, monkeypatch
):
    """The approved call runs; the trouble is told apart from it."""

    async def scenario(session):
        def full(*_, **__):
            msg = "the disk is full"
            raise RecordError(msg)

        monkeypatch.setattr(session.toolbox.ledger, "grant", full)
        yes = Allow(by="ada", scope="project")
        first = await session.call("team.change", approver=lambda question: yes)
        return first.status, session.authority.problems

    status, problems = run(scenario, make_pack())
    assert status == "ok"
    assert "the disk is full" in problems[0]
