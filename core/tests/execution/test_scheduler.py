"""Limits, fairness and bounded queues."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib.execution import CancelToken, Scheduler
from toolcrib.execution.scheduler import QueueFullError
from toolcrib.vocabulary import Effect


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


def path(value, *, exclusive=True):
    above = ["path:"]
    parts = value.split("/")
    above += ["path:" + "/".join(parts[:n]) for n in range(1, len(parts))]
    return (f"path:{value}", exclusive, tuple(above))


class Waiters:
    """Calls that ask for a turn, in the order in which they got one."""

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.got = []
        self.turns = {}
        self.tasks = []

    async def ask(self, name, session="s", pack="p", claims=()):
        """Ask for a turn in a task of its own."""

        async def wait():
            self.turns[name] = await self.scheduler.wait(session, pack, claims)
            self.got.append(name)

        task = asyncio.create_task(wait())
        self.tasks.append(task)
        await turns()
        return task

    async def leave(self, name):
        """Give a turn back, and let others go."""
        self.scheduler.leave(self.turns.pop(name))
        await turns()


@pytest.mark.parametrize(
    ("limit", "same", "other"),
    [
        ({"total": 1}, ("s", "p"), ("t", "q")),
        ({"session": 1}, ("s", "p"), ("s", "q")),
        ({"pack": 1}, ("s", "p"), ("t", "p")),
    ],
)
def test_each_limit_holds(go, limits, limit, same, other):
    """One over the limit waits until one leaves."""

    async def main():
        waiters = Waiters(Scheduler(limits(**limit)))
        await waiters.ask("a", *same)
        await waiters.ask("b", *other)
        assert waiters.got == ["a"]
        await waiters.leave("a")
        assert waiters.got == ["a", "b"]
        await waiters.leave("b")
        assert waiters.scheduler.running == waiters.scheduler.waiting == 0

    go(main)


def test_sessions_take_turns(go, limits):
    """A session with many calls does not make another one wait for all of them."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=1)))
        await waiters.ask("first", "x")
        for n in range(4):
            await waiters.ask(f"x{n}", "x")
        await waiters.ask("y0", "y")
        await waiters.ask("z0", "z")
        order = []
        while waiters.turns:
            (name,) = waiters.turns
            order.append(name)
            await waiters.leave(name)
        return order

    assert go(main) == ["first", "x0", "y0", "z0", "x1", "x2", "x3"]


def test_a_full_pack_does_not_hold_up_others_of_the_session(go, limits):
    """Only calls of the pack at its limit wait for it."""

    async def main():
        waiters = Waiters(Scheduler(limits(pack=1, session=2)))
        await waiters.ask("p1", "s", "p")
        await waiters.ask("p2", "s", "p")
        await waiters.ask("q1", "s", "q")
        return waiters.got

    assert go(main) == ["p1", "q1"]


def test_a_cancelled_waiter_makes_room(go, limits):
    """A waiter that gives up is out of the line, and the rest goes on."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=1)))
        await waiters.ask("a")
        b = await waiters.ask("b")
        await waiters.ask("c")
        b.cancel()
        await turns()
        await waiters.leave("a")
        assert waiters.got == ["a", "c"]
        await waiters.leave("c")
        assert waiters.scheduler.running == waiters.scheduler.waiting == 0

    go(main)


@pytest.mark.parametrize("claims", [(), (path("a"),)])
def test_a_turn_given_in_the_moment_of_cancellation_is_given_back(go, limits, claims):
    """Neither a permit nor a claim is lost between two that meet."""

    async def main():
        scheduler = Scheduler(limits(total=1))
        waiters = Waiters(scheduler)
        await waiters.ask("a", claims=claims)
        b = await waiters.ask("b", claims=claims)
        await waiters.ask("c", claims=claims)
        scheduler.leave(waiters.turns.pop("a"))
        b.cancel()
        await turns()
        assert waiters.got == ["a", "c"]
        await waiters.leave("c")
        assert scheduler.running == scheduler.waiting == 0
        assert scheduler.enter("s", "p", claims) is not None

    go(main)


def test_claims_are_given_back_when_the_wait_for_a_permit_ends(go, limits):
    """Who gives up after it got its locks leaves none behind."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=1)))
        await waiters.ask("running")
        b = await waiters.ask("b", claims=(path("f"),))
        b.cancel()
        await turns()
        await waiters.leave("running")
        await waiters.ask("c", claims=(path("f"),))
        return waiters.got

    assert go(main) == ["running", "c"]


def test_the_queue_of_a_session_is_bounded(go, limits):
    """More than may wait are refused at once; other sessions still have room."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=1, queue=2)))
        for name in "abc":
            await waiters.ask(name)
        with pytest.raises(QueueFullError, match="2 calls of this session"):
            await waiters.scheduler.wait("s", "p", ())
        await waiters.ask("other", "t")
        assert waiters.scheduler.waiting == 3
        for task in waiters.tasks:
            task.cancel()

    go(main)


def test_the_queue_of_all_sessions_is_bounded(go, limits):
    """Many sessions together cannot fill the memory either."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=1, queue=1)))
        await waiters.ask("running", "s0")
        for n in range(4):
            await waiters.ask(str(n), f"t{n}")
        with pytest.raises(QueueFullError, match="4 calls wait"):
            await waiters.scheduler.wait("u", "p", ())
        for task in waiters.tasks:
            task.cancel()

    go(main)


def test_waiting_for_a_lock_holds_no_permit(go, limits):
    """A call that waits for a resource leaves the permits to others."""

    async def main():
        waiters = Waiters(Scheduler(limits(total=2)))
        await waiters.ask("holder", claims=(path("a"),))
        await waiters.ask("waits", claims=(path("a"),))
        await waiters.ask("free")
        return waiters.got

    assert go(main) == ["holder", "free"]


def test_a_rest_gives_the_permit_but_not_the_claims(go, limits):
    """A call that pauses lets others run, but nobody touches what it holds."""

    async def main():
        scheduler = Scheduler(limits(total=1))
        waiters = Waiters(scheduler)
        await waiters.ask("a", claims=(path("f"),))
        await waiters.ask("same", claims=(path("f"),))
        await waiters.ask("other")
        scheduler.rest(waiters.turns["a"])
        await turns()
        assert waiters.got == ["a", "other"]
        again = asyncio.create_task(scheduler.resume(waiters.turns["a"]))
        await waiters.leave("other")
        await again
        await waiters.leave("a")
        assert waiters.got == ["a", "other", "same"]

    go(main)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, None])
def test_limits_are_whole_numbers_from_one(limits, value):
    """A limit that lets nothing through, or is no number, is refused by name."""
    with pytest.raises(ValueError, match="session"):
        Scheduler(limits(session=value))


def test_a_busy_scheduler_ends_the_call_as_busy(bench, go, limits):
    """The model is told to make fewer calls; nothing ran."""
    bench.limits = limits(total=1, queue=1)

    async def main():
        gate = asyncio.Event()

        async def handler(ctx):
            await gate.wait()

        tasks = [asyncio.create_task(bench.run(handler)) for _ in range(2)]
        await turns()
        outcome = await bench.run(handler)
        gate.set()
        await asyncio.gather(*tasks)
        return outcome

    outcome = go(main)
    assert (outcome.status, outcome.code, outcome.retryable) == ("busy", "call.busy", True)
    assert outcome.attempts == 0


def test_a_queued_call_tells_why_it_waits(bench, go, limits):
    """Somebody who looks on sees which limit holds the call up, and its place."""
    bench.limits = limits(session=1)

    async def main():
        gate = asyncio.Event()

        async def handler(ctx):
            await gate.wait()

        tasks = [asyncio.create_task(bench.run(handler)) for _ in range(3)]
        await turns()
        gate.set()
        await asyncio.gather(*tasks)

    go(main)
    queued = [e for e in bench.events if e["event"] == "queued"]
    assert [(e["scope"], e["running"], e["limit"], e["position"]) for e in queued] == [
        ("session", 1, 1, 1),
        ("session", 1, 1, 2),
    ]


def test_a_call_that_waits_for_a_resource_names_it(bench, go):
    """The resource that is in use is named in words."""
    tool = bench.tool(effects=frozenset({Effect.FS_WRITE}))

    async def main():
        gate = asyncio.Event()

        async def handler(ctx):
            await gate.wait()

        tasks = [asyncio.create_task(bench.run(handler, tool=tool)) for _ in range(2)]
        await turns()
        gate.set()
        await asyncio.gather(*tasks)

    go(main)
    (queued,) = [e for e in bench.events if e["event"] == "queued"]
    assert (queued["scope"], queued["resource"]) == ("resource", "any path")


@pytest.mark.parametrize("by", ["patience", "token"])
def test_a_call_that_gives_up_in_the_queue_did_nothing(bench, go, limits, by):
    """Waiting too long, or being cancelled while waiting, is not uncertain."""
    bench.limits = limits(total=1)
    tool = bench.tool(effects=frozenset(Effect))

    async def main():
        gate, ran, token = asyncio.Event(), [], CancelToken()

        async def holder(ctx):
            await gate.wait()

        async def handler(ctx):
            ran.append(1)

        first = asyncio.create_task(bench.run(holder))
        await turns()
        second = asyncio.create_task(bench.run(handler, tool=tool, patience=9, token=token))
        await turns()
        if by == "token":
            token.cancel()
        else:
            bench.clock.advance(9)
        outcome = await second
        gate.set()
        await first
        return outcome, ran, asyncio.current_task().cancelling()

    outcome, ran, cancelling = go(main)
    assert outcome.status == ("cancelled" if by == "token" else "timeout")
    assert "Nothing was done" in outcome.text
    assert (outcome.attempts, outcome.started, ran, cancelling) == (0, None, [], 0)


def test_a_progress_listener_that_fails_hurts_nobody(bench, go):
    """Progress is not worth a call."""

    def broken(event):
        msg = "no"
        raise RuntimeError(msg)

    async def handler(ctx):
        return "x"

    terms = bench.terms
    bench.terms = lambda **fields: __import__("attrs").evolve(
        terms(**fields), on_progress=broken
    )
    assert go(lambda: bench.run(handler)).ok
