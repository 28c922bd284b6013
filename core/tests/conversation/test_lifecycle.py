"""What tools contribute beside their calls: bounded, ordered, and harmless when they fail."""

from __future__ import annotations

import asyncio
import json

import pytest

from toolcrib import Context, Pack, Policy, Toolbox


def notes(id_="notes"):
    pack = Pack(id_)

    @pack.tool(effects=())
    async def take(ctx: Context) -> str:
        """Take a note."""
        return "taken"

    return pack, take


def test_rules_come_in_order_and_name_their_tools(run):
    """Order first, then the tool; the text is the tool's own."""
    late, take_late = notes("late")
    early, take_early = notes("early")
    take_late.rules(lambda app: [(10, "second"), (1, "first")])
    take_early.rules(lambda app: [(10, f"for {app}")])

    async def scenario(session):
        return await session.rules()

    rules = run(scenario, late, early, session={"app": "ada"})
    assert [(r.order, r.text, r.tool_id) for r in rules] == [
        (1, "first", "late.take"),
        (10, "for ada", "early.take"),
        (10, "second", "late.take"),
    ]


def test_context_fragments_keep_their_placement(run):
    """Where a fragment goes is a word of the app's own."""
    pack, take = notes()
    take.context(lambda app: [(2, "later", "system"), (1, "sooner", "user")])

    async def scenario(session):
        return [(str(f), f.placement) for f in await session.context()]

    assert run(scenario, pack) == [("sooner", "user"), ("later", "system")]


def test_an_inactive_tool_contributes_nothing_and_is_not_described(run):
    """``active`` drives description, contributions and availability at once."""
    pack, take = notes()
    take.active(lambda app: app["on"])
    take.rules(lambda app: [(1, "rule")])
    take.visible_text(lambda text, app: text.upper())

    async def scenario(session):
        view = await session.view("openai")
        return (
            await session.rules(),
            str(await session.visible_text("a")),
            [d.id for d in await session.describe("model")],
            len(view.declarations),
            (await session.call("notes.take")).code,
        )

    assert run(scenario, pack, session={"app": {"on": False}}) == (
        (),
        "a",
        [],
        0,
        "tool.inactive",
    )
    rules, text, described, declared, code = run(scenario, pack, session={"app": {"on": True}})
    assert (len(rules), text, described, declared, code) == (1, "A", ["notes.take"], 1, None)


def test_visible_text_says_who_changed_it(run):
    """Transforms run in the order of ids; those that change nothing are not named."""
    packs = []
    for id_, change in (("b", str.strip), ("a", str.title), ("c", str)):
        pack, take = notes(id_)
        take.visible_text(lambda text, app, change=change: change(text))
        packs.append(pack)

    async def scenario(session):
        shown = await session.visible_text(" confirmed words ")
        only = await session.visible_text(" x ", tools=["b.take"])
        return shown.text, shown.changed_by, only.text

    assert run(scenario, *packs) == ("Confirmed Words", ("a.take", "b.take"), "x")


def raise_it(*_):
    msg = "broken\nby design"
    raise RuntimeError(msg)


@pytest.mark.parametrize(
    "wrong",
    [
        raise_it,
        lambda app: 3,
        lambda app: "text",
        lambda app: [("1", "x")],
        lambda app: [(float("nan"), "x")],
        lambda app: [(1, "x" * 5000)],
        lambda app: [(1, "x")] * 1000,
        lambda app: (raise_it() for _ in "a"),
    ],
)
def test_a_wrong_contribution_is_left_out_and_said(run, wrong):
    """The other tools' rules are there; news and doctor name the one that failed."""
    bad, take_bad = notes("bad")
    good, take_good = notes("good")
    take_bad.rules(wrong)
    take_good.rules(lambda app: [(1, "good")])

    async def scenario(session):
        rules = await session.rules()
        troubles = session.toolbox.health.troubles
        return [r.text for r in rules if r.tool_id == "good.take"], session.news(), troubles

    rules, news, troubles = run(scenario, bad, good)
    assert rules == ["good"]
    assert "rules of bad.take failed" in news
    assert "broken by design" in news or "broken" not in news
    assert [(t.tool_id, t.function) for t in troubles] == [("bad.take", "rules")]


def test_a_text_that_grows_too_much_is_left_as_it_was(run):
    """A transform has a length budget."""
    pack, take = notes()
    take.visible_text(lambda text, app: text * 100_000)

    async def scenario(session):
        return await session.visible_text("abc"), session.news()

    shown, news = run(scenario, pack)
    assert (shown.text, shown.changed_by) == ("abc", ())
    assert "visible_text of notes.take failed" in news


def test_functions_that_hang_cost_one_deadline_and_later_none(run):
    """They are asked side by side, and not again once they were late twice."""
    packs, waiting, most, asked = [], [], [], []
    for id_ in ("a", "b", "c"):
        pack, take = notes(id_)

        @take.rules
        async def _(app, id_=id_):
            asked.append(id_)
            waiting.append(id_)
            most.append(len(waiting))
            try:
                await asyncio.Event().wait()
            finally:
                waiting.remove(id_)

        packs.append(pack)

    async def scenario(session):
        session.toolbox.activator._hook_deadline = 0.1
        found = []
        for _ in range(4):
            found.append((await session.rules(), len(asked), max(most)))
            most[:] = [0]
        return found

    assert run(scenario, *packs) == [((), 3, 3), ((), 6, 3), ((), 6, 0), ((), 6, 0)]


def test_outcomes_are_delivered_in_order_before_the_session_is_closed(run):
    """Delivery never delays a call, and closing waits for it."""
    pack = Pack("post")
    delivered = []

    @pack.tool(effects=())
    async def send(ctx: Context, n: int) -> int:
        """Send."""
        return n

    @send.deliver
    async def _(outcome, app):
        await asyncio.sleep(0)
        delivered.append((outcome.status, outcome.result.structured, app))

    async def scenario(session):
        for n in range(3):
            await session.call("post.send", {"n": n})

    run(scenario, pack, session={"app": "x"})
    assert delivered == [("ok", 0, "x"), ("ok", 1, "x"), ("ok", 2, "x")]


def test_a_delivery_that_fails_harms_nothing(run):
    """The outcome stands, the failure is said."""
    pack, take = notes()
    take.deliver(raise_it)

    async def scenario(session):
        outcome = await session.call("notes.take")
        await session.lifecycle.delivered()
        return outcome.ok, session.news()

    ok, news = run(scenario, pack)
    assert ok
    assert "deliver of notes.take failed" in news


def test_troubles_are_kept_for_the_doctor_until_the_function_works(tmp_path):
    """The doctor runs in another process, so a file says what failed."""
    broken = [True]
    pack, take = notes()
    take.rules(lambda app: raise_it() if broken[0] else [(1, "fine")])
    policy = Policy(local=[pack], state=tmp_path / "state", workspace=tmp_path)
    file = tmp_path / "state" / "troubles.json"

    async def main():
        async with Toolbox(policy) as box, box.session("c") as session:
            await session.rules()

    asyncio.run(main())
    (trouble,) = json.loads(file.read_text())
    assert (trouble["tool_id"], trouble["function"]) == ("notes.take", "rules")
    assert file.stat().st_mode & 0o777 == 0o600
    broken[0] = False
    asyncio.run(main())
    assert not file.exists()
