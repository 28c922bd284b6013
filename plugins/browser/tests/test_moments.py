"""What one operation hears of its page, without any page."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import Busy
from toolcrib.testing import async_run

from toolcrib_browser.gate import Gate
from toolcrib_browser.moments import Happening, Moment, way_to


def test_page_is_at_rest_until_something_is_asked_for():
    """And again once it came: a document, a window, a download, or nothing at all."""

    async def main():
        for begin, end in (
            (Moment.going, Moment.arrived),
            (Moment.going, Moment.stopped),
            (Moment.opening, Moment.opened),
            (Moment.saving, lambda m: m.saved("file")),
        ):
            moment = Moment()
            assert await moment.rest(5)
            begin(moment)
            assert moment.restless
            waiting = asyncio.ensure_future(moment.rest(5))
            await asyncio.sleep(0)
            assert not waiting.done()
            end(moment)
            assert await waiting

    async_run(main())


def test_what_never_comes_is_given_up_once():
    """The next wait does not wait for it again."""

    async def main():
        moment = Moment()
        moment.opening()
        moment.going()
        assert not await moment.rest(0.01)
        moment.give_up()
        assert await moment.rest(0.01)

    async_run(main())


def test_what_was_blocked_is_kept_however_much_happens():
    """A page cannot talk it away."""
    moment = Moment()
    for number in range(500):
        moment.tell(Happening(kind="dialog", text=f"dialog {number}"))
    moment.tell(Happening(kind="blocked", text="stopped", origin="https://b.test:443"))
    assert len(moment.happened) < 50
    assert moment.blocked().origin == "https://b.test:443"


def test_way_is_named_only_where_there_is_one():
    """To another site, but not to what is no address."""
    there = Happening(
        kind="blocked", text="x", origin="https://b.test:443", url="https://b.test/x"
    )
    assert "browser.navigate with https://b.test/x" in way_to(there)
    assert "no way" in way_to(Happening(kind="blocked", text="x", url="blob:https://b.test/1"))


def test_line_is_kept_in_order_and_bounded():
    """One at a time; one too many is told so at once."""

    async def main():
        gate, done = Gate(2), []
        go = asyncio.Event()

        async def one(name):
            async with gate.turn():
                await go.wait()
                done.append(name)

        tasks = [asyncio.ensure_future(one("a"))]
        await asyncio.sleep(0)
        tasks += [asyncio.ensure_future(one(name)) for name in "bc"]
        await asyncio.sleep(0)
        assert gate.waiting == 2
        with pytest.raises(Busy) as caught:
            async with gate.turn():
                pass
        assert caught.value.code == "browser.busy"
        # Whoever waits may leave the line.
        tasks[1].cancel()
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert done == ["a", "c"]

    async_run(main())


def test_nobody_enters_before_work_that_was_left_has_ended():
    """Its owner is gone, its effect is not."""

    async def main():
        gate, order = Gate(5), []
        release = asyncio.Event()

        async def work():
            await release.wait()
            order.append("left")

        async with gate.turn():
            gate.hold_for(asyncio.ensure_future(work()))

        async def after():
            async with gate.turn():
                order.append("next")

        task = asyncio.ensure_future(after())
        for _ in range(5):
            await asyncio.sleep(0)
        assert order == []
        release.set()
        await task
        assert order == ["left", "next"]

    async_run(main())


def test_of_very_many_files_the_first_are_kept_and_it_is_said_once():
    """However many a page starts."""
    moment = Moment()
    taken = [moment.saved(number) for number in range(30)]
    assert taken == [True] * 8 + [False] * 22
    assert moment.downloads == list(range(8))
    assert [each.text for each in moment.happened] == [
        "more than 8 files were downloaded; no more are kept"
    ]
