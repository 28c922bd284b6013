"""What a call costs does not grow with the catalog: counted, not timed."""

from __future__ import annotations

import sys

import pytest

from toolcrib import Context, Pack


def pack_of(count):
    pack = Pack("many")

    async def handler(ctx: Context, a: int = 1) -> int:
        """Give a number back."""
        return a

    for number in range(count):
        pack.tool(name=f"tool{number}", effects=())(handler)
    return pack


async def steps(work):
    """Count the Python functions that are called while some work is done."""
    count = 0

    def note(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        await work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("way", ["call", "answer"])
def test_a_call_in_a_large_catalog_takes_the_steps_of_one_in_a_small(run, reply, way):
    """At most a tenth more, for calls by name and for replies of a model."""

    async def scenario(session):
        await session.view("openai")
        found = []
        for number in range(3):
            if way == "call":
                found.append(await steps(lambda: session.call("many.tool0")))
            else:
                one = reply(("many_tool0", "{}"), id=f"r{number}")
                found.append(await steps(lambda one=one: session.answer(one)))
        return found[-1]

    small, large = (run(scenario, pack_of(count)) for count in (10, 2000))
    assert large <= 1.1 * small


def test_a_view_that_is_asked_for_again_is_the_same_one(run):
    """Nothing changed, so nothing is projected."""

    async def scenario(session):
        first = await session.view("openai")
        again = await steps(lambda: session.view("openai"))
        second = await session.view("openai")
        return first is second, again

    same, count = run(scenario, pack_of(500))
    assert same
    assert count < 100
