"""Two sessions interleaved: nothing of one is visible to the other."""

from __future__ import annotations

import pytest

from toolcrib import Allow, Context, Pack, Result, Text


SECRET = "s3cret-of-a"


def make_pack(trace):
    pack = Pack("desk")

    @pack.resource
    async def drawer(ctx: Context):
        box = {"owner": ctx.principal, "app": ctx.app}
        trace.append(("open", ctx.conversation))
        yield box
        trace.append(("close", ctx.conversation))

    @pack.tool(effects=())
    async def put(ctx: Context, item: str) -> dict:
        """Put something into the drawer."""
        inside = await ctx.use(drawer)
        inside[item] = True
        return dict(inside)

    @pack.tool(effects={"host_state"})
    async def order(ctx: Context, item: str) -> str:
        """Order."""
        return item

    @pack.tool(effects=(), result_budget=2000)
    async def long(ctx: Context) -> Result:
        """Give a long text."""
        return Result("long", [Text(f"{ctx.app} " * 2000)])

    @pack.tool(effects=())
    async def job(ctx: Context) -> list:
        """List the jobs."""
        return [each.id for each in await ctx.jobs.list()]

    @pack.tool(effects=(), deferred=True)
    async def rare(ctx: Context) -> str:
        """Do something rare."""
        return "rare"

    @rare.rules
    def _(app):
        if app == "of a":
            msg = "only a knows this"
            raise ValueError(msg)
        return [(1, f"rule {app}")]

    return pack


def test_nothing_of_one_session_is_visible_to_the_other(run):
    """Loaded tools, news, grants, resources, artifacts, modes, forks and directions."""
    trace = []

    async def scenario(alice):
        async with alice.toolbox.session("d", principal="bob", app="of b") as bob:
            # Loaded state.
            await alice.call("crib.search", {"query": "rare"})
            mine, theirs = await alice.view("openai"), await bob.view("openai")
            assert "desk.rare" in mine.tools
            assert "desk.rare" not in theirs.tools
            # News and contributions.
            assert await alice.rules() == ()
            assert [str(rule) for rule in await bob.rules()] == ["rule of b"]
            assert "only a knows" in alice.news()
            assert bob.news() == ""
            # Grants, and modes.
            await alice.call(
                "desk.order",
                {"item": "tea"},
                approver=lambda q: Allow(by="alice", scope="session"),
            )
            again = await alice.call("desk.order", {"item": "tea"})
            other = await bob.call("desk.order", {"item": "tea"})
            assert (again.status, other.status) == ("ok", "needs_approval")
            alice.mode = "plan"
            assert bob.mode == "ask"
            alice.mode = "ask"
            # Resources.
            first = await alice.call("desk.put", {"item": "a"})
            second = await bob.call("desk.put", {"item": "b"})
            assert first.result.structured == {"owner": "alice", "app": "of a", "a": True}
            assert second.result.structured == {"owner": "bob", "app": "of b", "b": True}
            # Artifacts: a foreign digest answers like an unknown one.
            kept = await alice.call("desk.long")
            link = next(b for b in kept.result.content if b.type == "artifact")
            page = await alice.call("crib.read", {"artifact": link.digest})
            foreign = await bob.call("crib.read", {"artifact": link.digest})
            unknown = await bob.call("crib.read", {"artifact": "sha256:" + "0" * 64})
            assert page.ok
            assert (foreign.status, foreign.code) == (unknown.status, unknown.code)
            assert foreign.text.replace(link.digest, "") == unknown.text.replace(
                "sha256:" + "0" * 64, ""
            )
            # Receipts.
            ledger = alice.toolbox.ledger
            assert {r.principal for r in ledger.receipts("c")} == {"alice"}
            assert {r.principal for r in ledger.receipts("d")} == {"bob"}
        return await alice.call("desk.put", {"item": "later"})

    last = run(
        scenario,
        make_pack(trace),
        session={"principal": "alice", "app": "of a"},
    )
    assert last.result.structured == {"owner": "alice", "app": "of a", "a": True, "later": True}
    assert trace == [("open", "c"), ("open", "d"), ("close", "d"), ("close", "c")]


def test_a_secret_of_one_tool_is_unknown_to_another_in_the_same_words(run, monkeypatch):
    """A tool cannot tell a secret that it may not have from one that does not exist."""
    monkeypatch.setenv("A_SECRET", SECRET)
    pack = Pack("keys")

    @pack.tool(effects=())
    async def own(ctx: Context, name: str) -> int:
        """Use a secret."""
        return len(await ctx.secret(name))

    @pack.tool(effects=())
    async def other(ctx: Context, name: str) -> int:
        """Use a secret."""
        return len(await ctx.secret(name))

    async def scenario(session):
        mine = await session.call("keys.own", {"name": "a"})
        foreign = await session.call("keys.other", {"name": "a"})
        unknown = await session.call("keys.other", {"name": "b"})
        return mine, foreign, unknown

    mine, foreign, unknown = run(
        scenario, pack, secrets={"a": {"env": "A_SECRET", "tools": ["keys.own"]}}
    )
    assert mine.result.structured == len(SECRET)
    assert foreign.code == unknown.code
    assert foreign.text.replace("'a'", "") == unknown.text.replace("'b'", "")


@pytest.mark.parametrize("durable", [False, True])
def test_what_ran_for_one_principal_is_not_replayed_to_another(run, reply, tmp_path, durable):
    """Of one name of a conversation and one reply: it runs once, and is told once."""
    ran = []
    pack = Pack("desk")

    @pack.tool(effects={"host_state"})
    async def look(ctx: Context) -> str:
        """Look into the drawer."""
        ran.append(ctx.principal)
        return f"private of {ctx.principal}"

    async def scenario(alice):
        sent = reply(("desk_look", "{}"))
        await alice.view("openai")
        mine = await alice.answer(sent)
        async with alice.toolbox.session("c", principal="bob") as bob:
            await bob.view("openai")
            theirs = await bob.answer(sent)
            asked = reply(("desk_look", "{}"), id="r2")
            batch = await bob.submit((await bob.view("openai")).calls(asked))
            other = await alice.submit((await alice.view("openai")).calls(asked))
            return mine, theirs, batch, other

    folder = tmp_path / "ledger"
    folder.mkdir(mode=0o700)
    more = {"ledger": folder / "ledger.db"} if durable else {}
    mine, theirs, batch, other = run(
        scenario,
        pack,
        session={"principal": "alice"},
        rules=["allow desk.look(principal=alice)"],
        **more,
    )

    assert ran == ["alice"]
    assert "private of alice" in mine[0]["content"]
    assert "private" not in theirs[0]["content"]
    assert "call.reused" in theirs[0]["content"]
    assert len(batch.questions) == 1
    assert other.id != batch.id
    assert not other.questions
