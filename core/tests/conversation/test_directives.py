"""What tools ask of the host is obeyed only for packs that policy names, and then enforced."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Context, Directive, Pack, Result


ALL = ("stop_turn", "use_mode", "use_model", "restrict", "switch_workspace")


def boss(ran, id_="boss", directives=ALL):
    pack = Pack(id_)

    @pack.tool(effects=(), directives=directives)
    async def say(ctx: Context, name: str, value: str | None = None) -> Result:
        """Ask the host for something."""
        parsed = value.split(",") if name == "restrict" and value else value
        return Result("said", directives=[Directive(name, parsed)])

    @pack.tool(effects=())
    async def work(ctx: Context, what: str = "it") -> str:
        """Work."""
        ran.append(what)
        return str(ctx.workspace.root)

    return pack


def test_a_directive_of_a_pack_that_policy_does_not_name_is_a_note(run):
    """Nothing happens, and the outcome says why."""

    async def scenario(session):
        outcome = await session.call("boss.say", {"name": "use_model", "value": "big"})
        return outcome.result.directives, outcome.result.notes, session.directions.model

    directives, notes, model = run(scenario, boss([]))
    assert (directives, model) == ((), None)
    assert "policy's directives do not name the pack boss" in notes[0]


def test_a_directive_that_the_tool_does_not_declare_is_a_note(run):
    """What a manifest does not say cannot happen."""

    async def scenario(session):
        outcome = await session.call("boss.say", {"name": "stop_turn"})
        return outcome.result.notes, session.directions.stopped

    notes, stopped = run(scenario, boss([], directives=["use_mode"]), directives=["boss"])
    assert stopped is None
    assert "does not declare it" in notes[0]


def test_stop_turn_ends_what_has_not_started_and_the_next_turn_begins_anew(run, reply):
    """Judged calls of the same batch end as refused."""
    ran = []

    async def scenario(session):
        await session.view("openai")
        outcome = await session.call("boss.say", {"name": "stop_turn"})
        refused = await session.call("boss.work")
        session.begin_turn()
        again = await session.call("boss.work")
        return outcome.result.directives, refused.code, again.ok

    directives, code, ok = run(scenario, boss(ran), directives=["boss"])
    assert [d.name for d in directives] == ["stop_turn"]
    assert (code, ok, ran) == ("turn.stopped", True, ["it"])


@pytest.mark.parametrize(
    ("opened", "policy", "asked", "now"),
    [
        ("plan", "ask", "ask", "ask"),
        ("ask", "ask", "plan", "plan"),
        ("ask", "ask", "trust", "ask"),
        ("plan", "plan", "edits", "plan"),
        ("edits", "ask", "edits", "edits"),
        ("ask", "ask", "nonsense", "ask"),
    ],
)
def test_use_mode_never_gives_more_than_the_user_chose(run, opened, policy, asked, now):
    """The widest mode is what policy or the session began with."""

    async def scenario(session):
        outcome = await session.call("boss.say", {"name": "use_mode", "value": asked})
        return str(session.mode), bool(outcome.result.notes)

    mode, noted = run(
        scenario, boss([]), directives=["boss"], mode=policy, session={"mode": opened}
    )
    assert mode == now
    assert noted == (asked != now)


def test_restrict_is_enforced_where_calls_are_judged_until_it_ends(run, reply):
    """Not only hidden: the full grammar of rules decides, and the app may end it."""
    ran = []
    other = Pack("other")

    @other.tool(effects=())
    async def work(ctx: Context) -> str:
        """Work elsewhere."""
        ran.append("other")
        return "x"

    async def scenario(session):
        view = await session.view("openai")
        await session.call("boss.say", {"name": "restrict", "value": "boss.*"})
        offered = [d["function"]["name"] for d in (await session.view("openai")).declarations]
        (result,) = await session.answer(reply(("other_work", "{}")), view=view)
        mine = await session.call("boss.work")
        (restriction,) = session.directions.restrictions
        session.begin_turn()
        free = await session.call("other.work")
        return offered, result["content"], mine.ok, restriction.tools, free.ok

    offered, content, mine, tools, free = run(scenario, boss(ran), other, directives=["boss"])
    assert offered == ["boss_say", "boss_work"]
    assert "withdrawn" in content
    assert (mine, tools, free, ran) == (True, ("boss.*",), True, ["it", "other"])


def test_restrict_looks_at_what_a_call_touches(run):
    """A pattern with fields narrows arguments, not only tools."""
    pack = Pack("boss")
    read = []

    @pack.tool(effects=(), directives=ALL)
    async def say(ctx: Context) -> Result:
        """Restrict."""
        value = {"tools": ["boss.open(path=docs/**)"], "until": "session"}
        return Result("said", directives=[Directive("restrict", value)])

    from pathlib import Path  # noqa: PLC0415 - the annotation of the handler

    @pack.tool(effects={"fs_read"})
    async def open(ctx: Context, path: Path) -> str:  # noqa: A001 - the tool's name
        """Read."""
        read.append(str(path))
        return "x"

    @open.signature
    def _(path: Path):
        from toolcrib import Signature, resources  # noqa: PLC0415 - for this test

        return Signature(reads=[resources.Path(str(path))])

    async def scenario(session):
        await session.call("boss.say")
        session.begin_turn()
        good = await session.call("boss.open", {"path": "docs/a.md"})
        bad = await session.call("boss.open", {"path": "src/a.py"})
        session.directions.release(session.directions.restrictions[0].id)
        free = await session.call("boss.open", {"path": "src/a.py"})
        return good.ok, bad.code, free.ok

    assert run(scenario, pack, directives=["boss"]) == (True, "directive.restricted", True)


def test_switch_workspace_moves_paths_and_rules_and_stays_inside(run, tmp_path):
    """The session works there, the toolbox and other sessions do not."""
    (tmp_path / "tree").mkdir()

    async def scenario(session):
        out = await session.call("boss.say", {"name": "switch_workspace", "value": ".."})
        gone = await session.call("boss.say", {"name": "switch_workspace", "value": "none"})
        await session.call("boss.say", {"name": "switch_workspace", "value": "tree"})
        there = await session.call("boss.work")
        async with session.toolbox.session("other") as other:
            here = await other.call("boss.work")
        folder = session.authority.context().folder
        return out.result.notes, gone.result.notes, there, here, folder

    out, gone, there, here, folder = run(scenario, boss([]), directives=["boss"])
    assert "outside the workspace" in out[0]
    assert "no folder" in gone[0]
    assert there.result.content[0].text == folder == str(tmp_path / "tree")
    assert here.result.content[0].text == str(tmp_path)


def test_a_call_that_was_judged_in_another_workspace_does_not_run(run, reply, tmp_path):
    """Relative paths would mean something else now."""
    (tmp_path / "tree").mkdir()
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        batch = await session.submit(view.calls(reply(("boss_work", "{}"))))
        await session.call("boss.say", {"name": "switch_workspace", "value": "tree"})
        (outcome,) = await batch.complete()
        return outcome.code

    assert run(scenario, boss(ran), directives=["boss"]) == "answer.stale"
    assert ran == []


def test_only_success_carries_directives(run):
    """A failed call asks for nothing."""
    pack = Pack("boss")

    @pack.tool(effects=(), directives=["stop_turn"], output_schema={"type": "integer"})
    async def say(ctx: Context) -> Result:
        """Ask, and break the own promise."""
        await asyncio.sleep(0)
        return Result("said", structured="x", directives=[Directive("stop_turn")])

    async def scenario(session):
        outcome = await session.call("boss.say")
        return outcome.code, session.directions.stopped

    assert run(scenario, pack, directives=["boss"]) == ("output.invalid", None)
