"""All deadlines on one timer."""

from __future__ import annotations

import asyncio

from toolcrib.execution import CancelToken
from toolcrib.execution.deadlines import Deadlines


class Late:
    """Something that tells when it expired."""

    def __init__(self, told, name):
        self.told, self.name = told, name

    def expire(self):
        """Tell."""
        self.told.append(self.name)


def test_each_expires_in_its_time(go, clock):
    """Order of asking does not matter; removed ones stay silent."""

    async def main():
        told = []
        deadlines = Deadlines(clock, clock.later)
        things = {name: Late(told, name) for name in "abcd"}
        for name, seconds in zip("abcd", (30, 10, 20, 15), strict=True):
            deadlines.add(things[name], seconds)
        deadlines.remove(things["d"])
        deadlines.remove(things["d"])
        for seconds in (9, 1, 10, 10):
            clock.advance(seconds)
            told.append("|")
        assert len(deadlines) == 0
        return "".join(told)

    assert go(main) == "|b|c|a|"


def test_a_thousand_deadlines_need_one_timer(go, clock):
    """Equal limits set one timer, whatever comes and goes."""

    async def main():
        deadlines = Deadlines(clock, clock.later)
        for _ in range(1000):
            thing = Late([], "x")
            deadlines.add(thing, 120)
            deadlines.remove(thing)
        return clock.pending()

    assert go(main) == [120]


def test_the_timer_is_set_again_for_what_is_left(go, clock):
    """A timer that finds its own deadline gone moves on to the next."""

    async def main():
        told = []
        deadlines = Deadlines(clock, clock.later)
        early, late = Late(told, "early"), Late(told, "late")
        deadlines.add(early, 5)
        deadlines.add(late, 8)
        deadlines.remove(early)
        clock.advance(5)
        assert clock.pending() == [3]
        clock.advance(3)
        return told

    assert go(main) == ["late"]


def test_what_expires_may_remove_another(go, clock):
    """One deadline that ends another one is no trouble."""

    async def main():
        told = []
        deadlines = Deadlines(clock, clock.later)
        second = Late(told, "second")

        class First:
            def expire(self):
                told.append("first")
                deadlines.remove(second)

        deadlines.add(First(), 5)
        deadlines.add(second, 5)
        clock.advance(5)
        return told

    assert go(main) == ["first"]


def test_a_new_loop_gets_a_new_timer(go, clock):
    """Deadlines outlive the loop that used them first."""
    told = []
    deadlines = Deadlines(clock)

    async def first():
        deadlines.add(Late([], "lost"), 0.5)

    async def second():
        done = asyncio.Event()

        class Thing:
            def expire(self):
                told.append("told")
                done.set()

        deadlines.add(Thing(), 0.001)
        clock.now += 1
        await done.wait()

    go(first)
    clock.now += 1
    go(second)
    assert told == ["told"]


def test_listeners_hear_of_a_cancellation_once(token):
    """A handler in a thread can be woken; who is late hears at once."""
    told = []
    token.listen(lambda: told.append("a"))
    token.listen(lambda: 1 / 0)
    token.listen(lambda: told.append("never"))()
    token.cancel()
    token.cancel()
    token.listen(lambda: told.append("late"))
    assert told == ["a", "late"]


def test_the_first_cause_stays(token):
    """A cancellation after another one changes nothing."""
    token.cancel("First.")
    token.cancel("Second.")
    assert (token.cause, token.reason) == ("cancelled", "First.")
    assert isinstance(token, CancelToken)
