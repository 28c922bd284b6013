"""A host that is killed: one reply with every sort of call, through the real toolbox.

``python host.py FOLDER`` plays it once in this process. ``python host.py FOLDER --every
KIND STEP`` plays it once for each point (or each STEPth), each time in a child process
of its own that meets its fault there, and again in a second child that meets none; it
writes one JSON line for each point. The children are forked before anything is open, so
that a thousand starts do not cost a thousand imports.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import traceback

from pathlib import Path

from faults import Faults
from toolcrib import Allow, Context, Pack, Policy, Signature, Toolbox
from toolcrib.discovery.stage import discover
from toolcrib.record import Ledger


TOOLS = ("look", "put", "post", "charge", "grind", "order", "forbid")
# No call of these may have its effect twice; ``charge`` is told apart by its key.
ONCE = ("post", "charge", "grind", "order")
LEFT, CANCELLED, INTERRUPTED = 5, 71, 130


class World:
    """Everything outside of the framework that calls change: a file that only grows."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "world.log"

    def add(self, *words: str) -> None:
        """Note an effect; it is there whatever happens to the process."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, (json.dumps(words) + "\n").encode())
        os.close(descriptor)

    def charge(self, key: str) -> None:
        """Note a charge, as a remote does that knows the keys it has seen."""
        if key not in [words[1] for words in self.all() if words[0] == "charge"]:
            self.add("charge", key)

    def all(self) -> list[list[str]]:
        """Return every effect."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]


def signed(tool):
    """Let a tool say what it touches."""

    @tool.signature
    def _() -> Signature:
        return Signature(effects={"host_state"})


def make_pack(world: World, faults: Faults) -> Pack:
    """Make the pack; each handler passes a point before and after its effect."""
    pack = Pack("shop")
    for add in (simple_tools, unsure_tools, decided_tools):
        add(pack, world, faults)
    return pack


def simple_tools(pack: Pack, world: World, faults: Faults) -> None:
    """Add a read and an idempotent write."""

    @pack.tool(effects=())
    async def look(ctx: Context) -> str:
        """Read."""
        faults.point("look")
        return "seen"

    @pack.tool(effects={"host_state"}, idempotent="yes")
    def put(ctx: Context) -> str:
        """Write the same again and again."""
        faults.point("before put")
        world.add("put", str(ctx.attempt))
        faults.point("after put")
        return "put"

    signed(put)


def unsure_tools(pack: Pack, world: World, faults: Faults) -> None:
    """Add a plain effect, a keyed one whose answer is lost, and a long one."""

    @pack.tool(effects={"host_state"}, timeout=60)
    def post(ctx: Context) -> str:
        """Do something that must not be done twice, in a thread."""
        faults.point("before post")
        world.add("post")
        faults.point("after post")
        return "posted"

    @pack.tool(effects={"host_state"}, idempotent="keyed")
    async def charge(ctx: Context) -> str:
        """Do something once for each key."""
        faults.point("before charge")
        world.charge(ctx.idempotency_key)
        faults.point("after charge")
        if ctx.attempt == 1:
            text = "the answer was lost"
            raise ConnectionError(text)
        return "charged"

    @pack.tool(effects={"host_state"})
    async def grind(ctx: Context) -> str:
        """Take several steps, each of which gives way to others."""
        for step in range(3):
            faults.point(f"grind {step}")
            await asyncio.sleep(0)
        world.add("grind")
        faults.point("after grind")
        await asyncio.sleep(0)
        return "ground"

    for tool in (post, charge, grind):
        signed(tool)


def decided_tools(pack: Pack, world: World, faults: Faults) -> None:
    """Add one that a person is asked about, and one that a rule denies."""

    @pack.tool(effects={"host_state"})
    async def order(ctx: Context) -> str:
        """Do something that a person is asked about."""
        faults.point("before order")
        world.add("order")
        faults.point("after order")
        return "ordered"

    @pack.tool(effects={"host_state"})
    async def forbid(ctx: Context) -> str:
        """Do what no rule allows."""
        world.add("forbid")
        return "never"

    for tool in (order, forbid):
        signed(tool)


def reply() -> dict:
    """Return the model's reply: each tool once, none with arguments."""
    calls = [
        {
            "id": f"id_{name}",
            "type": "function",
            "function": {"name": f"shop_{name}", "arguments": "{}"},
        }
        for name in TOOLS
    ]
    return {"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}


def policy(folder: Path, pack: Pack, **more) -> Policy:
    """Return the policy of the host."""
    return Policy(
        local=[pack],
        workspace=folder,
        state=folder / "state",
        ledger=folder / "ledger" / "ledger.db",
        mode="trust",
        rules=["deny shop.forbid", "ask shop.order"],
        retry={"attempts": 2, "base": 0.001, "cap": 0.001},
        **more,
    )


async def play(folder: Path, faults: Faults, **more) -> dict:
    """Answer the reply, and tell what came out."""
    world = World(folder)
    pack = make_pack(world, faults)
    findings = discover(path=[], local=[pack])
    async with Toolbox(policy(folder, pack, **more), findings=findings) as box:
        async with box.session("c", principal="alice") as session:
            task = asyncio.current_task()
            loop = asyncio.get_running_loop()

            def leave():
                raise SystemExit(LEFT)

            def stop(kind):
                # A point may be passed in a thread; what stops the task is on the loop.
                loop.call_soon_threadsafe(leave if kind == "exit" else task.cancel)

            faults.stop = stop
            view = await session.view("openai")
            batch = await session.submit(view.calls(reply()))
            for question in batch.questions:
                await batch.decide(question.id, Allow(by="alice"))
            try:
                outcomes = await batch.complete()
            finally:
                faults.stop = None
            ledger = box.ledger
            return {
                "statuses": {o.tool_id[5:]: o.status for o in outcomes},
                "results": [r["tool_call_id"] for r in view.results(batch)],
                "receipts": [r.tool_id[5:] for r in ledger.receipts("c")],
                "unfinished": len(ledger.unfinished()),
                "chain": [str(problem) for problem in ledger.verify()],
            }


def recorded(folder: Path) -> dict:
    """Return what is on disk, as another process finds it, before anything is mended."""
    path = folder / "ledger" / "ledger.db"
    if not path.exists() or not path.stat().st_size:
        return {"finished": {}, "begun": [], "chain": []}
    with Ledger.open(path) as ledger:
        return {
            "finished": {r.tool_id[5:]: r.status for r in ledger.receipts("c")},
            "begun": [u.tool_id[5:] for u in ledger.unfinished("c")],
            "chain": [str(problem) for problem in ledger.verify()],
        }


# -- children ----------------------------------------------------------------------------


def child(work) -> tuple[int, dict | None]:
    """Run something in a child process; return how it ended and what it gave."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.close(reading)
            value = work()
            os.write(writing, json.dumps(value).encode())
            code = 0
        except KeyboardInterrupt:
            code = INTERRUPTED
        except asyncio.CancelledError:
            code = CANCELLED
        except SystemExit as error:
            code = error.code
        except BaseException:  # noqa: BLE001 - told to whoever reads the test's output
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return ended, json.loads(data) if data else None


def first(folder: Path, plan: str) -> dict:
    """Play with a fault."""
    faults = Faults(plan)
    faults.hook_sqlite()
    told = asyncio.run(play(folder, faults))
    return {"points": faults.names, **told}


def again(folder: Path) -> dict:
    """Say what a restarted host finds; then play, and play once more."""
    found = recorded(folder)
    world = World(folder)
    played = [asyncio.run(play(folder, Faults())) for _ in range(2)]
    return {"found": found, "second": played[0], "third": played[1], "world": world.all()}


def once(folder: Path, plan: str) -> dict:
    """Play with a fault in one child, then again without, in another."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    ended, told = child(lambda: first(folder, plan))
    before = World(folder).all()
    mended, after = child(lambda: again(folder))
    return {
        "ended": ended,
        "points": told["points"] if told else None,
        "before": before,
        "mended": mended,
        **(after or {}),
    }


def every(folder: Path, kind: str, step: int) -> None:
    """Write a line for each point, or for each so many."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    whole = once(folder, "")
    write({"point": "", **whole})
    for number, point in enumerate(whole["points"], 1):
        if number % step == 0:
            line = once(folder, f"{kind}:{number}")
            write({"point": f"{number}: {point}", **line})


def write(line: dict) -> None:
    """Write a line to standard output."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2:3] == ["--every"]:
        every(place, sys.argv[3], int(sys.argv[4]))
    else:
        faults = Faults.of_environment()
        faults.hook_sqlite()
        write({**asyncio.run(play(place, faults)), "points": faults.names})
