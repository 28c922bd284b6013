"""Guards: they refuse, rewrite once, and a guard that breaks refuses as well."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from toolcrib import Context, Pack
from toolcrib.codes import refuse


def shell(ran):
    pack = Pack("shell")

    @pack.tool(effects=())
    async def run(ctx: Context, command: str, times: int = 1) -> str:
        """Run a command."""
        ran.append((command, times))
        return command

    return pack


def guard(function, id_="warden"):
    pack = Pack(id_)
    pack.guard(function)
    return pack


def _call(session, arguments=None):
    return session.call("shell.run", arguments or {"command": "ls"})


@pytest.fixture
def guarded(run):
    """Call a tool under guards; return the outcome and what ran."""

    def guarded(*packs, guards=None, arguments=None):
        ran = []

        async def scenario(session):
            return await _call(session, arguments)

        names = guards if guards is not None else [pack.id for pack in packs]
        return run(scenario, shell(ran), *packs, guards=names), ran

    return guarded


def test_a_guard_that_says_nothing_lets_a_call_through(guarded):
    """None is a yes."""
    outcome, ran = guarded(guard(lambda call: None))
    assert outcome.ok
    assert ran == [("ls", 1)]


def test_a_guard_sees_what_would_run(guarded):
    """Arguments are complete, with defaults, and of the tool's own form."""
    seen = []
    guarded(guard(lambda call: seen.append((call.tool.id, dict(call.arguments)))))
    assert seen == [("shell.run", {"command": "ls", "times": 1})]


def test_a_guard_refuses_in_its_own_words(guarded):
    """Nothing runs, and the model reads why."""
    no = refuse("guard.refused", "shell.run", "Not on a Sunday.")
    outcome, ran = guarded(guard(lambda call: no))
    assert (outcome.status, outcome.text) == (no.status, "Not on a Sunday.")
    assert ran == []


def test_what_a_guard_rewrites_is_what_runs(guarded):
    """The new arguments are admitted as any others."""

    def safer(call):
        return None if call.arguments["times"] == 3 else {"command": "pwd", "times": 3}

    outcome, ran = guarded(guard(safer))
    assert outcome.ok
    assert ran == [("pwd", 3)]


def test_every_guard_looks_at_what_another_has_rewritten(guarded):
    """A rewrite sends the call back to the first."""
    seen = []

    def first(call):
        seen.append(call.arguments["command"])

    def second(call):
        return {"command": "pwd"} if call.arguments["command"] == "ls" else None

    outcome, ran = guarded(guard(first, "first"), guard(second, "second"))
    assert outcome.ok
    assert seen == ["ls", "pwd"]
    assert ran == [("pwd", 1)]


def test_a_guard_that_rewrites_twice_refuses(guarded):
    """It would go on for ever."""
    outcome, ran = guarded(guard(lambda call: {"command": call.arguments["command"] + "!"}))
    assert outcome.code == "guard.broken"
    assert "it rewrote the same call twice" in outcome.text
    assert ran == []


@pytest.mark.parametrize("answer", [{"command": 7}, {}, {"command": "a", "more": 1}])
def test_a_guard_that_rewrites_wrongly_refuses(guarded, answer):
    """What it made is admitted like anything else, and is not."""
    outcome, ran = guarded(guard(lambda call: answer))
    assert outcome.code == "guard.broken"
    assert "it rewrote the arguments wrongly" in outcome.text
    assert ran == []


@pytest.mark.parametrize("answer", [True, False, "fine", 7])
def test_a_guard_that_answers_anything_else_refuses(guarded, answer):
    """A bool is no decision."""
    outcome, ran = guarded(guard(lambda call: answer))
    assert outcome.code == "guard.broken"
    assert ran == []


def test_a_guard_that_fails_refuses(guarded):
    """Its error is no yes."""

    def fails(call):
        raise RuntimeError("no idea")

    outcome, ran = guarded(guard(fails))
    assert outcome.code == "guard.broken"
    assert "no idea" in outcome.text
    assert ran == []


@pytest.mark.parametrize("guards", [["nobody"], ["shell"]])
def test_a_guard_that_is_not_there_refuses(guarded, guards):
    """Neither a pack that is missing nor one that guards nothing lets a call through."""
    outcome, ran = guarded(guards=guards)
    assert outcome.code == "guard.broken"
    assert outcome.status == "refused"
    assert ran == []


def test_a_rewrite_is_told_to_who_watches(run):
    """The event names the guard and the call."""
    heard = []
    watcher = Pack("watcher")
    watcher.observe(lambda event: heard.append((event["name"], event["data"])))
    ran = []

    def safer(call):
        return {"command": "pwd"} if call.arguments["command"] == "ls" else None

    async def scenario(session):
        return await _call(session)

    run(
        scenario,
        shell(ran),
        guard(safer),
        watcher,
        guards=["warden"],
        observers=["watcher"],
    )
    ((_, data),) = [each for each in heard if each[0] == "guard.rewrote"]
    assert data["guard"] == "warden"
    assert data["digest"].startswith("sha256:")


def test_guard_that_was_begun_in_a_thread_for_a_cancelled_task_leaves_nothing_to_warn_of(run):
    """A first look is taken in a thread; what it gives to await comes too late then."""
    begun, go, made = threading.Event(), threading.Event(), []

    async def answer():
        return None

    def slow(call):
        begun.set()
        go.wait()
        made.append(answer())
        return made[0]

    async def scenario(session):
        task = asyncio.ensure_future(_call(session))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.wait([task])
        go.set()
        while not made or inspect.getcoroutinestate(made[0]) != inspect.CORO_CLOSED:
            await asyncio.sleep(0)
        return task.cancelled()

    assert run(scenario, shell([]), guard(slow), guards=["warden"])
