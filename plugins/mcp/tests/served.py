"""Serves a small pack for the tests: ``python served.py FOLDER [--http PORT …]``."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import resource
import subprocess
import sys

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import click

from toolcrib import Context, Failed, Pack, Policy, Signature

from toolcrib_mcp import longcalls
from toolcrib_mcp.offers import Offers
from toolcrib_mcp.serving import run


pack = Pack("desk", title="Desk")
offers = Offers()
FOLDER = Path(sys.argv[1])
NUMBERS = itertools.count(1)
WRITTEN: list[str] = []


@offers.resource("note://one", name="note")
async def note() -> str:
    """A note."""
    return "a note"


@attrs.frozen
class Count:
    """Words and letters of a text."""

    words: int
    letters: int


@pack.resource(scope="session")
async def memory(ctx: Context) -> AsyncIterator[list[str]]:
    """What one session remembers."""
    yield []


@pack.tool(effects=())
async def echo(ctx: Context, text: str) -> str:
    """Say it again."""
    return text


@pack.tool(effects=())
async def hidden(ctx: Context) -> str:
    """Never be seen."""
    return "seen"


@pack.tool(effects=())
async def count(ctx: Context, text: str) -> Count:
    """Count words and letters."""
    return Count(len(text.split()), len(text))


@pack.tool(effects={"fs_write"})
async def write(ctx: Context, text: str) -> str:
    """Write a text."""
    WRITTEN.append(text)
    return "written"


@write.generalize
def _(text: str) -> str:
    return "allow desk.write"


@pack.tool(effects=())
async def written(ctx: Context) -> str:
    """Tell what was written."""
    return " ".join(WRITTEN) or "nothing"


@pack.tool(effects=())
async def tick(ctx: Context) -> str:
    """Count the calls of this tool."""
    return str(next(NUMBERS))


@pack.tool(effects=())
async def remember(ctx: Context, text: str) -> str:
    """Remember a text for this session."""
    (await ctx.use(memory)).append(text)
    return "remembered"


@pack.tool(effects=())
async def recall(ctx: Context) -> str:
    """Tell what this session remembers."""
    return " ".join(await ctx.use(memory)) or "nothing"


@pack.tool(effects=())
async def long(ctx: Context) -> str:
    """Say very much."""
    return "x" * 500_000


@pack.tool(effects=())
async def steps(ctx: Context) -> str:
    """Report three steps, and log a line."""
    ctx.sub_logger().info("a line")
    for step in 1, 2, 3:
        ctx.report(f"step {step}", progress=step, total=3)
        await asyncio.sleep(0.02)
    return "done"


@pack.tool(effects=(), concurrency="shared")
async def slow(ctx: Context) -> str:
    """Take long, and clean up when stopped."""
    try:
        for step in range(1000):
            ctx.report("on", progress=step + 1)
            await asyncio.sleep(0.05)
    finally:
        with (FOLDER / "cleaned").open("a") as file:
            file.write("x")
    return "done"


@pack.tool(effects=(), concurrency="shared")
async def work(ctx: Context, seconds: float) -> str:
    """Work for a while."""
    ctx.report("at work")
    await asyncio.sleep(seconds)
    return "the work is done"


@pack.tool(effects=(), concurrency="shared")
async def wonder(ctx: Context) -> str:
    """Think for a moment, and then ask."""
    await asyncio.sleep(0.3)
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    values = await ctx.ask.form("Who are you?", schema)
    return f"hello {(values or {}).get('name', 'nobody')}"


@pack.tool(effects=())
async def touch(ctx: Context) -> str:
    """Change the note."""
    offers.updated("note://one")
    return "touched"


@pack.tool(effects=(), concurrency="shared")
async def quick(ctx: Context) -> str:
    """Take a moment."""
    await asyncio.sleep(0.001)
    return "done"


@pack.tool(effects=())
async def child(ctx: Context) -> str:
    """Start a child that reads its input and says which pipes it has."""
    code = (
        "import os, sys, json; read = sys.stdin.read(); print('stray on stdout');"
        "own = {os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{fd}') and int(fd) > 2};"
        "parent = {os.readlink(f'/proc/{os.getppid()}/fd/{fd}')"
        " for fd in os.listdir(f'/proc/{os.getppid()}/fd')};"
        "pipes = [each for each in own & parent if each.startswith('pipe')];"
        "sys.stderr.write('FOUND' + json.dumps({'read': read, 'shared': pipes}))"
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stderr.partition("FOUND")[2]


@pack.tool(effects=())
async def failing(ctx: Context) -> Count:
    """Fail, though a count was promised."""
    text = "my own words"
    raise Failed(text)


@pack.tool(effects=(), output_schema={"type": "object", "required": ["n"]})
async def misfit(ctx: Context) -> object:
    """Give what was not promised."""
    return {"m": 1}


@write.signature
def _(text: str) -> Signature:
    return Signature(effects={"fs_write"})


@click.command()
@click.argument("folder")
@click.option("--http", "address")
@click.option("--token-file", type=click.Path(path_type=Path))
@click.option("--task-after", type=float, default=5.0)
@click.option("--poll-after", type=float)
@click.option("--parser", type=click.Choice(["c", "python"]), default="c")
@click.option("--task-poll", type=int, help="Milliseconds after which to ask about a task.")
@click.option("--files", type=int, help="How many files the process may open.")
@click.option("--bound", "bounds", multiple=True, help="NAME=SECONDS")
def main(
    *,
    folder: str,
    parser: str,
    task_poll: int | None,
    files: int | None,
    bounds: tuple[str, ...],
    **options: Any,
) -> None:
    """Serve."""
    if task_poll is not None:
        longcalls._POLL = task_poll
    if parser == "python":
        sys.modules["httptools"] = None  # type: ignore[assignment] - as if it were not there
    if files is not None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    if bounds:
        from toolcrib_mcp.receiving import ReceivingProtocol

        for name, _, seconds in (each.partition("=") for each in bounds):
            assert hasattr(ReceivingProtocol, name)
            setattr(ReceivingProtocol, name, float(seconds))
    policy = Policy(
        local=[pack],
        workspace=Path(folder),
        state=Path(folder) / ".state",
        hide={"tools": ["desk.hidden"]},
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(policy, offers=[offers], **options))


if __name__ == "__main__":
    main()
