"""What is measured of the language servers pack; the floor is the bare server.

Questions go round twenty files of a project of two hundred, so that no server answers from
what it has just said. How often is a matter of time: some servers search for long.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import toolcrib_lsp

from toolcrib.testing import FakeContext
from toolcrib_lsp import protocol
from toolcrib_lsp.finding import Program, find
from toolcrib_lsp.servers import KNOWN

from measuring import main, row


FILES = 200
USERS = range(0, FILES, 10)
FEWEST = 5  # rounds
SECONDS = 5.0  # of rounds, where they are fast
SETTLING = 20.0  # most seconds until a server has read the project
INSTALL = {
    "basedpyright": "basedpyright",
    "jedi": "jedi-language-server",
    "pylsp": "python-lsp-server",
    "ty": "ty",
}
Ask = Callable[[int], Awaitable[int]]


def project(root: Path) -> Path:
    """Write two hundred modules, of which each tenth uses one function."""
    root.mkdir()
    (root / "lib.py").write_text('def greet(name: str) -> str:\n    return "hi " + name\n')
    for number in range(FILES):
        use = "from lib import greet\n" if number in USERS else ""
        call = "greet('x')" if use else "len('x')"
        (root / f"m{number}.py").write_text(f"{use}\n\ndef f{number}() -> None:\n    {call}\n")
    return root


def program(name: str, root: Path) -> Program:
    """Find a server, or end with what to install."""
    (spec,) = [each for each in KNOWN if each.name == name]
    found = find(spec, str(root))
    if found is None:
        sys.exit(f"{name} is not installed: pip install {INSTALL[name]}")
    return found


class Bare:
    """The least that speaks to a server."""

    def __init__(self, found: Program, root: Path) -> None:
        self.found, self.root, self.number = found, root, 0

    async def __aenter__(self) -> Self:
        """Start it and open the files that are asked about."""
        self.process = await asyncio.create_subprocess_exec(
            *self.found.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self.root,
            limit=1 << 24,
            start_new_session=True,
        )
        params = protocol.initialize_params(str(self.root), self.found.spec.options)
        await self.ask("initialize", params)
        self.send({"method": "initialized", "params": {}})
        for name in ("lib.py", *(f"m{n}.py" for n in USERS)):
            path = self.root / name
            item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
            item["text"] = path.read_text()
            self.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End it, and what it has started: some are a program around the server."""
        os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def ask(self, method: str, params: Any) -> Any:
        """Ask, answering what the server asks meanwhile with nothing."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            head = await self.process.stdout.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.splitlines()
                if line.lower().startswith(b"content-length")
            )
            message = json.loads(await self.process.stdout.readexactly(length))
            if "method" in message and "id" in message:
                items = (message.get("params") or {}).get("items") or []
                self.send({"id": message["id"], "result": [None] * len(items)})
            elif message.get("id") == self.number and "method" not in message:
                return message.get("result")

    async def places(self, method: str, number: int) -> int:
        """Ask about the call in one of the files; return how many places were named."""
        result = await self.ask(
            method,
            {
                "textDocument": {"uri": (self.root / f"m{number}.py").as_uri()},
                "position": {"line": 4, "character": 5},
                "context": {"includeDeclaration": True},
            },
        )
        return len(result) if isinstance(result, list) else bool(result)


async def agreed(ours: Ask, bare: Ask) -> None:
    """Ask until both find the same in every file: then they are warm."""
    until = time.monotonic() + SETTLING
    while True:
        counts = {count for n in USERS for count in (await ours(n), await bare(n))}
        if len(counts) == 1 and counts != {0}:
            return
        if time.monotonic() > until:
            sys.exit(f"the answers differ: {sorted(counts)} places")


async def turns(ours: Ask, bare: Ask, *, seconds: float) -> list[float]:
    """Seconds of one question: the least for each file, the two taking turns."""
    best = {(n, place): float("inf") for n in USERS for place in (0, 1)}
    until, rounds = time.monotonic() + seconds, 0
    while rounds < FEWEST or time.monotonic() < until:
        rounds += 1
        for number, (place, ask) in itertools.product(USERS, enumerate((ours, bare))):
            started = time.perf_counter()
            await ask(number)
            taken = time.perf_counter() - started
            best[number, place] = min(best[number, place], taken)
    return [sum(best[n, place] for n in USERS) / len(USERS) for place in (0, 1)]


async def measured(name: str, folder: Path, what: str) -> list[float]:
    """Seconds of one question through the tool's handler, and to the bare server."""
    root = project(folder / "ws")
    found = program(name, root)
    tool = getattr(toolcrib_lsp, what)
    context = FakeContext(root, settings={"languages": {"python": [name]}})

    async def ours(number: int) -> int:
        result = await tool.call(context, path=f"m{number}.py", line=5, name="greet")
        return result.structured["total"]

    async with Bare(found, root) as server:
        bare = lambda number: server.places(f"textDocument/{what}", number)
        try:
            await agreed(ours, bare)
            return await turns(ours, bare, seconds=SECONDS)
        finally:
            await context.close()


@row
def lsp_definition(folder: Path) -> list[float]:
    """A definition from basedpyright, with its line, through the pack and to it bare."""
    return asyncio.run(measured("basedpyright", folder, "definition"))


@row
def lsp_references(folder: Path) -> list[float]:
    """All references from basedpyright, with their lines, through the pack and bare."""
    return asyncio.run(measured("basedpyright", folder, "references"))


@row
def lsp_definition_jedi(folder: Path) -> list[float]:
    """A definition from jedi, in Python as we are."""
    return asyncio.run(measured("jedi", folder, "definition"))


@row
def lsp_references_jedi(folder: Path) -> list[float]:
    """All references from jedi, which searches the project for each question."""
    return asyncio.run(measured("jedi", folder, "references"))


@row
def lsp_definition_ty(folder: Path) -> list[float]:
    """A definition from ty, which answers in a tenth of a millisecond."""
    return asyncio.run(measured("ty", folder, "definition"))


@row
def lsp_hundred(folder: Path) -> list[float]:
    """A hundred definitions from basedpyright at once; the floor asks them in turn, bare."""

    async def both() -> list[float]:
        root = project(folder / "ws")
        context = FakeContext(root, settings={"languages": {"python": ["basedpyright"]}})

        async def ours(number: int) -> int:
            call = toolcrib_lsp.definition.call
            result = await call(context, path=f"m{number}.py", line=5, name="greet")
            return result.structured["total"]

        async with Bare(program("basedpyright", root), root) as server:
            bare = lambda number: server.places("textDocument/definition", number)
            numbers = list(itertools.islice(itertools.cycle(USERS), 100))
            best = [float("inf")] * 2
            try:
                await agreed(ours, bare)
                for _ in range(20):
                    started = time.perf_counter()
                    await asyncio.gather(*map(ours, numbers))
                    best[0] = min(best[0], time.perf_counter() - started)
                    started = time.perf_counter()
                    for number in numbers:
                        await bare(number)
                    best[1] = min(best[1], time.perf_counter() - started)
            finally:
                await context.close()
        return best

    return asyncio.run(both())


if __name__ == "__main__":
    main()
