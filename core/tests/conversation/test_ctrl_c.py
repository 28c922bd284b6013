"""Ctrl-C at every few steps of a call's way: the app ends, and nothing is lost or doubled.

Python hears a signal between any two steps of the code that runs, so it is raised in the
middle of our own functions here, one after the other.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from functools import partial
from pathlib import Path

import pytest
import toolcrib

from toolcrib import Context, Pack, Policy, Signature, Toolbox, Transient


OURS = (str(Path(toolcrib.__file__).parent), __file__)
# Each way is gone this many steps further than the one before, from its first step on.
STRIDE = 5
AT_ONCE = {"base": 0.001, "cap": 0.001}


def make_pack(ran):
    pack = Pack("work")

    @pack.tool(effects=())
    async def quick(ctx: Context, part: int = 1) -> str:
        """End at once."""
        ran.append(part)
        return "done"

    @pack.tool(effects={"host_state"})
    async def waiting(ctx: Context, part: int = 1) -> str:
        """Wait a little; two of it wait for each other."""
        await asyncio.sleep(0)
        ran.append(part)
        await asyncio.sleep(0)
        return "done"

    @pack.tool(effects=())
    def threaded(ctx: Context, part: int = 1) -> str:
        """Run in a thread."""
        ran.append(part)
        return "done"

    @pack.tool(effects=())
    async def wordy(ctx: Context, part: int = 1) -> str:
        """Give more than a reply may hold."""
        ran.append(part)
        return "word " * 20_000

    @pack.tool(effects=(), idempotent="yes")
    async def flaky(ctx: Context, part: int = 1) -> str:
        """Need a second attempt."""
        if ctx.attempt == 1:
            raise Transient("not now")
        ran.append(part)
        return "done"

    @waiting.signature
    def _(**_):
        return Signature(effects={"host_state"})

    return pack


class Interrupted:
    """Raises the signal when so many of our functions have been called."""

    def __init__(self, at):
        self.at = at
        self.calls = 0

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


@pytest.fixture
def interrupted(tmp_path):
    """Make two calls of a tool, raise the signal at a step, and tell what came of it."""

    async def made(session, tool, together):
        calls = [partial(session.call, tool, {"part": part}) for part in (1, 2)]
        if not together:
            for call in calls:
                await call()
            return
        tasks = [asyncio.ensure_future(call()) for call in calls]
        try:
            await asyncio.gather(*tasks)
        finally:
            await asyncio.wait(tasks)

    def interrupted(tool, at, *, together):
        ran, found, step = [], {}, Interrupted(at)

        async def main():
            policy = Policy(
                local=[make_pack(ran)], workspace=tmp_path, mode="trust", retry=AT_ONCE
            )
            async with Toolbox(policy) as box, box.session("c") as session:
                sys.setprofile(step)
                try:
                    await made(session, tool, together)
                finally:
                    sys.setprofile(None)
                    found["receipts"] = box.ledger.receipts("c")
                    found["begun"] = box.ledger.begun("c")
                    found["running"] = box.runtime.scheduler.running

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            found["end"] = "interrupted"
        else:
            found["end"] = "finished"
        return found | {"ran": ran, "steps": step.calls}

    return interrupted


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("tool", ["quick", "waiting", "threaded", "wordy", "flaky"])
def test_ctrl_c_at_any_step_ends_the_app_and_each_call_that_began_has_one_outcome(
    interrupted, tool, together
):
    """Whatever ran is on record, nothing runs twice, and no permit is left behind."""
    whole = interrupted(f"work.{tool}", at=0, together=together)
    assert (whole["end"], sorted(whole["ran"])) == ("finished", [1, 2])
    for at in range(1, whole["steps"], STRIDE):
        found = interrupted(f"work.{tool}", at, together=together)
        if found["steps"] < at:
            continue  # it took fewer steps this time
        assert found["end"] == "interrupted", (at, found)
        assert len(found["receipts"]) == found["begun"], (at, found)
        assert len(found["ran"]) <= found["begun"], (at, found)
        assert len(set(found["ran"])) == len(found["ran"]), (at, found)
        assert found["running"] == 0, (at, found)
