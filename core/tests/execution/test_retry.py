"""Trying again: three yeses, and honest waiting."""

from __future__ import annotations

import asyncio
import errno
import math

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib import retry
from toolcrib.errors import Busy, Failed, Invalid, NotFound, Refused, Transient
from toolcrib.retry import Again, Stop
from toolcrib.vocabulary import Effect, Idempotence


YES, NO, KEYED = Idempotence.YES, Idempotence.NO, Idempotence.KEYED
WRITES = frozenset({Effect.NET_WRITE})


class Terms:
    """Retry terms, as plain as can be."""

    def __init__(self, attempts=3, base=1.0, cap=30.0):
        self.attempts, self.base, self.cap = attempts, base, cap


def plan(failure=None, **fields):
    fields = {"attempt": 1, "terms": Terms(), "idempotent": YES, **fields}
    return retry.plan(failure or Transient("x"), **fields)


@pytest.mark.parametrize(
    ("failure", "passing"),
    [
        (Transient("x"), True),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (OSError(errno.EAGAIN, ""), True),
        (OSError(errno.EBUSY, ""), True),
        (OSError(errno.EMFILE, ""), True),
        (OSError(errno.ENFILE, ""), True),
        (OSError(errno.ENOENT, ""), False),
        (Failed("EAGAIN EBUSY timeout"), False),
        (Busy("x"), False),
        (NotFound("x"), False),
        (Refused("x"), False),
        (Invalid("/a", "x"), False),
        (ValueError("connection reset"), False),
    ],
)
def test_only_a_failure_raised_as_passing_is_tried_again(failure, passing):
    """The type decides, never the message."""
    assert isinstance(plan(failure), Again) is passing


def test_the_cause_of_a_failure_does_not_count():
    """A tool that wraps a passing failure has decided what it means."""
    failure = ValueError()
    failure.__cause__ = ConnectionError()
    assert isinstance(plan(failure), Stop)


@pytest.mark.parametrize(
    ("idempotent", "key", "again"),
    [(YES, "", True), (NO, "k", False), (KEYED, "k", True), (KEYED, "", False)],
)
def test_the_tools_declaration_is_one_of_the_yeses(idempotent, key, again):
    """Undeclared and keyed without a key are a no."""
    assert isinstance(plan(idempotent=idempotent, key=key), Again) is again


def test_policy_counts_the_first_attempt():
    """Three attempts are one call and two repeats."""
    assert isinstance(plan(attempt=2), Again)
    assert isinstance(plan(attempt=3), Stop)
    assert isinstance(plan(terms=Terms(attempts=1)), Stop)


@pytest.mark.parametrize(
    ("asked", "delay"),
    [
        (7, 7.0),
        (0, 0.0),
        (299.5, 299.5),
        (-1, 2.0),
        (9e9, 2.0),
        (math.nan, 2.0),
        (math.inf, 2.0),
        ("garbage", 2.0),
        (True, 2.0),
        (None, 2.0),
    ],
)
def test_a_remotes_waiting_time_is_obeyed_exactly_or_not_believed(asked, delay):
    """A usable number is taken as it is, whatever the cap; nonsense is backed off."""
    failure = Transient("x", retry_after=asked)
    assert plan(failure, terms=Terms(base=2.0, cap=3.0), roll=1.0) == Again(delay)


def test_a_remote_that_asks_for_too_long_is_not_waited_for():
    """The call ends and says how long was asked."""
    planned = plan(Transient("x", retry_after=3600))
    assert isinstance(planned, Stop)
    assert "3.6e+03" in planned.reason


def test_a_wait_beyond_the_deadline_ends_at_once():
    """Nobody waits for an attempt that can never be made."""
    planned = plan(Transient("x", retry_after=7), remaining=5.0)
    assert isinstance(planned, Stop)
    assert "7 s would pass the deadline in 5 s" in planned.reason
    assert plan(Transient("x", retry_after=7), remaining=8.0) == Again(7.0)


@given(
    attempt=st.integers(1, 10_000),
    base=st.floats(0, 1e6),
    cap=st.floats(0, 1e6),
    roll=st.floats(0, 1),
)
def test_back_off_is_bounded_and_grows(attempt, base, cap, roll):
    """Between half and the whole of the doubled pause, never above the cap."""
    terms = Terms(base=base, cap=cap)
    delay = retry.backoff(attempt, terms, roll)
    assert 0 <= delay <= cap
    assert delay >= 0.5 * min(cap, base)
    assert retry.backoff(attempt + 1, terms, roll) >= delay


@given(
    answer=st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text()),
    delay=st.floats(0, 100),
)
def test_a_packs_hook_can_only_tighten(answer, delay):
    """No answer shortens a pause or turns a no into a yes."""
    tightened = retry.tighten(Again(delay), answer, remaining=1000.0)
    if isinstance(tightened, Again):
        assert tightened.delay >= delay
        assert answer is True or (not isinstance(answer, bool) and answer >= 0)


# ------------------------------------------------------------------ in execute


def counting(error):
    seen = []

    async def handler(ctx):
        seen.append(ctx.idempotency_key)
        raise error

    return handler, seen


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"idempotent": NO}, 1),
        ({}, 1),
        ({"idempotent": YES}, 3),
        ({"idempotent": KEYED}, 3),
    ],
)
def test_the_declaration_decides_how_often_a_call_is_made(bench, go, attempts, fields, count):
    """No and undeclared once, yes and keyed as policy allows; one key for all."""
    handler, seen = counting(ConnectionError("cut"))
    tool = bench.tool(effects=WRITES, **fields)
    outcome = go(lambda: bench.run(handler, tool=tool, retry=attempts()))
    assert len(seen) == outcome.attempts == count
    assert set(seen) == {"key-1"}
    assert outcome.status == "uncertain"


def test_keyed_without_a_key_is_made_once(bench, go, attempts):
    """Nothing tells the remote that it is the same call."""
    handler, seen = counting(ConnectionError("cut"))
    tool = bench.tool(effects=WRITES, idempotent=KEYED)
    go(lambda: bench.run(handler, tool=tool, retry=attempts(), key=""))
    assert len(seen) == 1


def test_the_second_attempt_may_succeed(bench, go, clock, attempts):
    """A passing failure passes; the outcome counts the attempts and tells of pauses."""

    async def handler(ctx):
        if ctx.attempt < 3:
            msg = "later"
            raise Transient(msg, retry_after=7 if ctx.attempt == 1 else None)
        return f"attempt {ctx.attempt}"

    tool = bench.tool(idempotent=YES)
    outcome = go(lambda: bench.run(handler, tool=tool, retry=attempts(base=2.0)))
    assert outcome.result.content[0].text == "attempt 3"
    assert outcome.attempts == 3
    assert clock.sleeps == [7.0, 4.0]
    assert [e["delay"] for e in bench.events if e["event"] == "retrying"] == [7.0, 4.0]


def test_counters_are_per_call(bench, go, attempts):
    """Ten calls beside each other do not use up one budget."""
    failed = set()

    async def handler(ctx, n):
        if n < 3 and n not in failed:
            failed.add(n)
            msg = "once"
            raise Transient(msg)
        return n

    tool = bench.tool(idempotent=YES)

    async def main():
        return await asyncio.gather(
            *(bench.run(handler, {"n": n}, tool=tool, retry=attempts(2)) for n in range(10))
        )

    outcomes = go(main)
    assert all(o.ok for o in outcomes)
    assert [o.attempts for o in outcomes] == [2, 2, 2] + [1] * 7


def test_a_call_that_is_not_tried_again_says_why(bench, go, attempts):
    """People see which of the yeses was missing."""
    handler, _ = counting(Transient("x", retry_after=60))
    tool = bench.tool(idempotent=YES)
    outcome = go(lambda: bench.run(handler, tool=tool, retry=attempts(), timeout=10))
    assert (outcome.code, outcome.attempts) == ("tool.transient", 1)
    assert "would pass the deadline" in outcome.details["not_retried"]
    assert outcome.retryable


async def hang():
    await asyncio.Event().wait()


async def late_yes():
    return True


@pytest.mark.parametrize(
    ("hook", "count", "sleeps"),
    [
        (None, 3, [1.0, 2.0]),
        (lambda failure, attempt: True, 3, [1.0, 2.0]),
        (lambda failure, attempt: 5, 3, [6.0, 7.0]),
        (lambda failure, attempt: late_yes(), 3, [1.0, 2.0]),
        (lambda failure, attempt: False, 1, []),
        (lambda failure, attempt: None, 1, []),
        (lambda failure, attempt: -1, 1, []),
        (lambda failure, attempt: 1 / 0, 1, []),
        (lambda failure, attempt: hang(), 1, []),
        (lambda failure, attempt: attempt < 2, 2, [1.0]),
    ],
)
def test_the_packs_hook(bench, go, clock, attempts, hook, count, sleeps):  # noqa: PLR0917
    """True keeps, a number adds; anything else, an error and a late answer forbid."""
    object.__setattr__(bench.runtime, "hook_timeout", 0.0 if hook and count == 1 else 5.0)
    handler, seen = counting(Transient("x"))
    tool = bench.tool(idempotent=YES)
    go(lambda: bench.run(handler, tool=tool, retry=attempts(), pack_retry=hook))
    assert len(seen) == count
    assert clock.sleeps == sleeps


def test_the_hook_is_not_asked_where_the_core_says_no(bench, go, attempts):
    """A pack cannot loosen what the core forbids."""
    asked = []
    handler, _ = counting(ConnectionError())
    tool = bench.tool(effects=WRITES)
    go(
        lambda: bench.run(
            handler, tool=tool, retry=attempts(), pack_retry=lambda *a: asked.append(a)
        )
    )
    assert asked == []


def test_each_attempt_gets_fresh_arguments(bench, go, attempts):
    """A handler that changes what it is given does not change the next attempt."""
    seen = []

    async def handler(ctx, items):
        seen.append(list(items))
        items.append("changed")
        msg = "x"
        raise Transient(msg)

    tool = bench.tool(idempotent=YES)
    go(lambda: bench.run(handler, {"items": [1]}, tool=tool, retry=attempts()))
    assert seen == [[1], [1], [1]]


def test_a_pause_gives_the_permit_to_others(bench, go, limits, attempts):
    """A call that waits for its next attempt does not hold up the rest."""
    bench.limits = limits(total=1)
    running = []

    async def sleep(seconds):
        running.append(bench.runtime.scheduler.running)

    bench.clock.sleep = sleep
    handler, _ = counting(Transient("x"))
    tool = bench.tool(idempotent=YES)
    outcome = go(lambda: bench.run(handler, tool=tool, retry=attempts()))
    assert outcome.attempts == 3
    assert running == [0, 0]
