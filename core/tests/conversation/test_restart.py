"""After a crash: what may run again is taken over, what may not is said to be uncertain."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from toolcrib import Context, Pack


PROGRAM = """
import asyncio, os, signal, sys
from toolcrib import Context, Pack, Policy, Signature, Toolbox

pack = Pack("work")

@pack.tool(effects={"host_state"}, idempotent=sys.argv[2])
async def once(ctx: Context) -> str:
    "Do something once."
    with open(sys.argv[1] + ".ran", "a") as out:
        out.write(ctx.idempotency_key + "\\n")
    if sys.argv[3] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"

@once.signature
def _():
    return Signature(effects={"host_state"})

REPLY = {"id": "r1", "choices": [{"message": {"role": "assistant", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "work_once", "arguments": "{}"}}]}}]}

async def main():
    policy = Policy(local=[pack], ledger=sys.argv[1], mode="trust", rules=["allow work.once"])
    async with Toolbox(policy) as box, box.session("c") as session:
        await session.view("openai")
        print((await session.answer(REPLY))[0]["content"])

asyncio.run(main())
"""


def start(tmp_path, idempotent, how):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    ledger = tmp_path / "private" / "ledger.sqlite"
    done = subprocess.run(
        [sys.executable, str(file), str(ledger), idempotent, how],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    ran = (tmp_path / "private" / "ledger.sqlite.ran").read_text().split()
    return done, ran


@pytest.mark.parametrize("idempotent", ["yes", "keyed"])
def test_a_replayable_call_of_a_dead_process_is_taken_over(tmp_path, idempotent):
    """The same reply again runs it once more, with the same key, and then never again."""
    (tmp_path / "private").mkdir(mode=0o700)
    died, ran = start(tmp_path, idempotent, "die")
    assert died.returncode == -signal.SIGKILL
    assert len(ran) == 1
    again, ran = start(tmp_path, idempotent, "live")
    assert again.stdout.strip() == "done", again.stderr
    assert len(ran) == 2
    assert len(set(ran)) == 1
    third, ran = start(tmp_path, idempotent, "live")
    assert third.stdout.startswith("done")
    assert "replayed" in third.stdout
    assert len(ran) == 2


def test_any_other_call_of_a_dead_process_is_uncertain_and_never_run_again(tmp_path):
    """The effect may have happened."""
    (tmp_path / "private").mkdir(mode=0o700)
    start(tmp_path, "no", "die")
    again, ran = start(tmp_path, "no", "live")
    assert again.stdout.startswith("uncertain")
    assert len(ran) == 1


@pytest.mark.parametrize("ledger", [False, True])
def test_a_provider_id_that_a_reply_repeats_runs_one_call(run, tmp_path, ledger):
    """The same arguments get the same outcome, others are refused."""
    pack = Pack("shop")
    ran = []

    @pack.tool(effects=())
    async def order(ctx: Context, item: str) -> str:
        """Order something."""
        ran.append(item)
        return item

    def call(item):
        function = {"name": "shop_order", "arguments": f'{{"item": "{item}"}}'}
        return {"id": "a", "type": "function", "function": function}

    async def scenario(session):
        await session.view("openai")
        message = {"tool_calls": [call("x"), call("x"), call("y")]}
        results = await session.answer({"id": "r", "choices": [{"message": message}]})
        return [result["content"].splitlines()[0] for result in results]

    (tmp_path / "private").mkdir(mode=0o700)
    where = {"ledger": tmp_path / "private" / "ledger.sqlite"} if ledger else {}
    first, second, third = run(scenario, pack, **where)
    assert (first, second, ran) == ("x", "x", ["x"])
    assert "call.reused" in third


@pytest.mark.parametrize(("idempotent", "status"), [("no", "uncertain"), ("yes", "done")])
def test_a_host_that_was_open_when_another_died_decides_alike(
    run, tmp_path, idempotent, status
):
    """Not only at the start of a toolbox is it told what may run again."""
    (tmp_path / "private").mkdir(mode=0o700)
    pack = Pack("work")
    ran = []

    @pack.tool(effects=(), idempotent=idempotent)
    async def once(ctx: Context) -> str:
        """Do something once."""
        ran.append(ctx.idempotency_key)
        return "done"

    async def scenario(session):
        start(tmp_path, idempotent, "die")
        await session.view("openai")
        function = {"name": "work_once", "arguments": "{}"}
        call = {"id": "a", "type": "function", "function": function}
        message = {"role": "assistant", "tool_calls": [call]}
        (result,) = await session.answer({"id": "r1", "choices": [{"message": message}]})
        return result["content"]

    content = run(scenario, pack, ledger=tmp_path / "private" / "ledger.sqlite")
    assert content.startswith(status)
    assert len(ran) == (status == "done")
