"""The tool's own checks of arguments and output: never on the loop unbounded, never open."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolcrib import Context, Invalid, Pack


class Gate:
    """A pack whose checks do what a test says, and the threads they were called in."""

    def __init__(self):
        self.pack = Pack("gate")
        self.checks = lambda name: None
        self.output = lambda value: None
        self.ran = []
        self.threads = []

        @self.pack.tool(effects=())
        async def enter(ctx: Context, name: str) -> dict[str, str]:
            """Enter."""
            self.ran.append(name)
            return {"name": name}

        @enter.check
        def _(name: str) -> None:
            self.threads.append(threading.current_thread())
            return self.checks(name)

        @enter.check_output
        def _(value: dict[str, str]) -> None:
            return self.output(value)


@pytest.fixture
def gate():
    """A pack with a check before and a check after."""
    return Gate()


@pytest.fixture
def hangs():
    """A function that hangs until the test is over."""
    over = threading.Event()
    yield lambda _: over.wait(60)
    over.set()


def hurry(session):
    """Give hooks less time than they have by default."""
    session.toolbox.activator._hook_deadline = 0.05


async def ticking(work):
    """Wait for work; return what it gave, and how often the loop was free meanwhile."""
    task, ticks = asyncio.ensure_future(work), 0
    while not task.done():
        ticks += 1
        await asyncio.sleep(0.001)
    return task.result(), ticks


def test_a_check_that_hangs_refuses_the_call_and_the_loop_goes_on(run, gate, hangs):
    """Nothing ran, and the code says why."""
    gate.checks = hangs

    async def scenario(session):
        hurry(session)
        return await ticking(session.call("gate.enter", {"name": "a"}))

    outcome, ticks = run(scenario, gate.pack)
    assert (outcome.status, outcome.code) == ("refused", "check.late")
    assert gate.ran == []
    assert ticks > 3


def test_an_output_check_that_hangs_fails_the_call_and_the_loop_goes_on(run, gate, hangs):
    """The call did run; what nobody checked is not given to programs."""
    gate.output = hangs

    async def scenario(session):
        hurry(session)
        return await ticking(session.call("gate.enter", {"name": "a"}))

    outcome, ticks = run(scenario, gate.pack)
    assert (outcome.status, outcome.code) == ("failed", "output.unchecked")
    assert outcome.result.structured is None
    assert "did run" in outcome.text
    assert gate.ran == ["a"]
    assert ticks > 3


def test_a_check_is_not_asked_about_invalid_arguments(run, gate):
    """It may rely on the schema."""

    async def scenario(session):
        return await session.call("gate.enter", {"name": 5})

    assert run(scenario, gate.pack).code == "arguments.invalid"
    assert gate.threads == []


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), GeneratorExit(), SystemExit(3), KeyError("x")]
)
def test_no_check_ends_its_caller(run, gate, error):
    """What Python raises to end a task or a process is a refusal, on the loop as well."""

    def fail(name):
        if name == "bad":
            raise error

    gate.checks = fail

    async def scenario(session):
        for _ in range(10):
            assert (await session.call("gate.enter", {"name": "good"})).ok
        return await session.call("gate.enter", {"name": "bad"})

    outcome = run(scenario, gate.pack)
    assert (outcome.status, outcome.code) == ("failed", "tool.crashed")
    assert "bad" not in gate.ran


def test_a_check_that_would_have_to_be_awaited_passes_nothing(run, gate):
    """It never ran, so it approved of nothing."""

    async def later():
        raise AssertionError

    gate.checks = lambda name: later()

    async def scenario(session):
        return await session.call("gate.enter", {"name": "a"})

    assert run(scenario, gate.pack).code == "tool.crashed"
    assert gate.ran == []


def test_a_check_moves_onto_the_loop_when_it_is_quick(run, gate):
    """A hop to a thread for each call would cost more than the call."""

    async def scenario(session):
        for _ in range(12):
            await session.call("gate.enter", {"name": "a"})

    run(scenario, gate.pack)
    main = threading.main_thread()
    assert gate.threads[0] is not main
    assert gate.threads[-1] is main


def test_a_check_that_says_no_is_heard_in_a_thread_and_on_the_loop(run, gate):
    """With its path and words."""

    def no(name):
        if name == "bad":
            raise Invalid("/name", "is taken")

    gate.checks = no

    async def scenario(session):
        first = await session.call("gate.enter", {"name": "bad"})
        for _ in range(10):
            await session.call("gate.enter", {"name": "a"})
        return first, await session.call("gate.enter", {"name": "bad"})

    for outcome in run(scenario, gate.pack):
        assert (outcome.status, outcome.code) == ("invalid", "tool.invalid")
        assert "/name: is taken" in outcome.text


def test_a_call_is_cancelled_while_its_output_is_checked(run, gate):
    """The check ends, and the outcome says what it found: the call did run."""
    checking, go_on = threading.Event(), threading.Event()

    def check(value):
        checking.set()
        go_on.wait(60)

    gate.output = check

    async def scenario(session):
        task = asyncio.ensure_future(session.call("gate.enter", {"name": "a"}))
        await asyncio.to_thread(checking.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait([task])
        assert task.cancelled()
        return session.toolbox.ledger.receipts("c")

    (receipt,) = run(scenario, gate.pack)
    assert (receipt.status, receipt.code) == ("ok", None)
