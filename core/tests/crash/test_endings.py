"""Endings that are neither success nor a crash: full disks, late results, lost answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from toolcrib import Context, Pack, Policy, Signature, Toolbox
from toolcrib.record import Ledger


def signed(tool):
    """Let a tool say what it touches."""

    @tool.signature
    def _() -> Signature:
        return Signature(effects={"host_state"})


def policy(tmp_path, pack, **more):
    return Policy(
        local=[pack],
        workspace=tmp_path,
        state=tmp_path / "state",
        mode="trust",
        retry={"attempts": 3, "base": 0.001, "cap": 0.001},
        **more,
    )


def run(tmp_path, pack, scenario, *, ledger=None):
    """Play a scenario in a session over a ledger on disk."""

    async def main():
        with ledger or Ledger.open(tmp_path / "ledger" / "ledger.db") as opened:
            async with Toolbox(policy(tmp_path, pack), ledger=opened) as box:
                async with box.session("c") as session:
                    return await scenario(session, opened)

    return asyncio.run(main())


# -- a full disk -------------------------------------------------------------------------


def filling(done):
    """Make a pack whose tool fills a ledger."""
    pack = Pack("shop")

    @pack.tool(effects={"host_state"})
    async def fill(ctx: Context) -> str:
        """Say much."""
        done.append(ctx.invocation_id)
        return "much " * 8_000

    signed(fill)
    return pack


def test_what_happened_on_a_full_disk_is_told_and_nothing_runs_unrecorded(tmp_path):
    """The outcome reaches the caller; the next call waits until the ledger has it too."""
    done = []
    ledger = Ledger.open(tmp_path / "ledger" / "ledger.db", max_bytes=300_000)

    async def scenario(session, ledger):
        outcomes = [await session.call("shop.fill")]
        while ledger.blocked is None:
            outcomes.append(await session.call("shop.fill"))
        last = outcomes[-1]
        ran = len(done)
        blocked = [await session.call("shop.fill") for _ in range(2)]
        after = len(done)
        ledger._connection.execute("PRAGMA max_page_count=100000")
        freed = await session.call("shop.fill")
        receipts = [r.call_id for r in ledger.receipts("c") if r.status == "ok"]
        return last, ran, blocked, after, freed, receipts, ledger.verify()

    last, ran, blocked, after, freed, receipts, problems = run(
        tmp_path, filling(done), scenario, ledger=ledger
    )

    assert last.status == "ok"
    assert "not recorded: the ledger could not be written" in last.result.notes
    assert [(o.status, o.code) for o in blocked] == [("unavailable", "ledger.unwritable")] * 2
    assert "free space" in blocked[0].text
    assert after == ran > 1
    assert freed.ok
    assert receipts == done
    assert problems == ()


_CHILD = """
import asyncio, json, resource, sys
sys.path[:0] = [sys.argv[1]]
from pathlib import Path
from test_endings import filling, policy
from toolcrib import Toolbox

async def main(folder):
    done, told = [], []
    rules = policy(folder, filling(done), ledger=folder / "ledger" / "ledger.db")
    async with Toolbox(rules) as box, box.session("c") as session:
        limit = 400_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        while len(told) < 100 and (not told or told[-1] == "ok"):
            told.append((await session.call("shop.fill")).status)
    print(json.dumps([done, told]))

asyncio.run(main(Path(sys.argv[2])))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of the system")
def test_a_file_that_may_not_grow_stops_calls_before_they_run(tmp_path):
    """The system's own no, in a child process; every effect is known to the ledger."""
    here = os.path.dirname(__file__)  # noqa: PTH120
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_CHILD), here, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    )
    done, told = json.loads(ended.stdout)

    assert told[-1] == "unavailable"
    assert len(told) > 2
    assert len(done) == len(told) - 1
    with Ledger.open(tmp_path / "ledger" / "ledger.db") as ledger:
        ledger.recover()
        known = {r.call_id: r.status for r in ledger.receipts("c")}
        assert ledger.verify() == ()
    assert set(done) <= set(known)
    assert set(known.values()) <= {"ok", "uncertain", "unavailable"}


# -- an effect that outlives its deadline ---------------------------------------------------


def test_a_sync_effect_that_outlives_its_deadline_is_uncertain_and_runs_once(tmp_path):
    """What it gave in the end stands on the receipt, and changes no outcome."""
    pack = Pack("shop")
    go_on, ran = threading.Event(), []

    @pack.tool(effects={"host_state"}, timeout=0.5, idempotent="yes")
    def slow(ctx: Context) -> str:
        """Take longer than allowed."""
        ran.append(ctx.attempt)
        go_on.wait(60)
        return "done after all"

    signed(slow)
    function = {"name": "shop_slow", "arguments": "{}"}
    called = {"id": "a", "type": "function", "function": function}
    replies = {"choices": [{"message": {"role": "assistant", "tool_calls": [called]}}]}

    async def scenario(session, ledger):
        kept, keep = asyncio.Event(), ledger.late

        def late(found):
            keep(found)
            kept.set()

        ledger.late = late
        view = await session.view("openai")
        batch = await session.submit(view.calls(replies))
        (outcome,) = await batch.complete()
        go_on.set()
        await asyncio.wait_for(kept.wait(), 60)
        (again,) = await (await session.submit(view.calls(replies))).complete()
        history = ledger.history(outcome.call_id)
        return outcome, again, history, ledger.receipts("c"), ledger.verify()

    outcome, again, history, receipts, problems = run(tmp_path, pack, scenario)

    assert (outcome.status, outcome.code) == ("uncertain", "call.uncertain")
    assert outcome.details["still_running"]
    assert (again.status, again.replayed) == ("uncertain", True)
    assert ran == [1]
    assert [entry.kind for entry in history] == ["intent", "outcome", "late"]
    assert "done after all" in json.dumps(history[-1].body)
    assert [r.status for r in receipts] == ["uncertain"]
    assert problems == ()


# -- a lost answer -------------------------------------------------------------------------


class Remote:
    """A service that does what it is told and loses the first answer."""

    def __init__(self):
        self.effects, self.keys = [], []

    def do(self, key):
        self.keys.append(key)
        if key is None or self.keys.count(key) == 1:
            self.effects.append(key)
        if len(self.keys) == 1:
            text = "connection reset by peer"
            raise ConnectionResetError(text)
        return "done"


def paying(remote, **declared):
    pack = Pack("shop")

    @pack.tool(effects={"host_state"}, **declared)
    async def pay(ctx: Context) -> str:
        """Pay."""
        return remote.do(ctx.idempotency_key if declared else None)

    signed(pay)
    return pack


def test_a_lost_answer_of_a_call_that_may_not_be_repeated_leaves_one_effect(tmp_path):
    """The outcome says that it may have happened, and how to go on."""
    remote = Remote()

    async def scenario(session, ledger):
        return await session.call("shop.pay")

    outcome = run(tmp_path, paying(remote), scenario)

    assert (outcome.status, outcome.attempts, outcome.retryable) == ("uncertain", 1, False)
    assert "may have happened" in outcome.text
    assert len(remote.effects) == 1


def test_with_a_key_a_lost_answer_is_asked_for_again(tmp_path):
    """Both attempts carry the same key, so the service does it once."""
    remote = Remote()

    async def scenario(session, ledger):
        return await session.call("shop.pay")

    outcome = run(tmp_path, paying(remote, idempotent="keyed"), scenario)

    assert (outcome.status, outcome.attempts) == ("ok", 2)
    assert len(remote.effects) == 1
    assert len(remote.keys) == 2
    assert len(set(remote.keys)) == 1
    assert remote.keys[0]
