"""What observers hear of a toolbox that is left."""

from __future__ import annotations

import asyncio
import threading

from toolcrib import Context, Pack, Policy, Toolbox


def make_pack():
    pack = Pack("shop")

    @pack.tool(effects=())
    async def look(ctx: Context) -> str:
        """Look."""
        return "seen"

    return pack


def test_the_last_events_are_heard_before_the_toolbox_is_closed():
    """A trace without its end is of little use."""
    watcher = Pack("watch")
    heard = []

    @watcher.observe
    def hear(event):
        heard.append(event["name"])

    async def main():
        rules = Policy(local=[make_pack(), watcher], observers=["watch"])
        async with Toolbox(rules) as box, box.session("c") as session:
            for _ in range(20):
                await session.call("shop.look")

    asyncio.run(main())

    assert heard.count("call.finished") == 20


def test_an_observer_that_never_ends_does_not_hold_up_the_end():
    """It is given as long as any hook, and no longer."""
    watcher = Pack("watch")
    go_on = threading.Event()

    @watcher.observe
    def hear(event):
        go_on.wait(60)

    async def main():
        rules = Policy(local=[make_pack(), watcher], observers=["watch"])
        async with Toolbox(rules) as box, box.session("c") as session:
            box.activator.active["watch"]._deadline = 0.05
            for _ in range(20):
                await session.call("shop.look")

    asyncio.run(asyncio.wait_for(main(), 20))
    go_on.set()
