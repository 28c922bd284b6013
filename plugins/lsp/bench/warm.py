"""Warm questions through the pack, against the same questions put to the bare server.

``python warm.py [SERVER …]`` prints medians in one run: the bare server, the tool's
handler, and a whole call with all stages and its receipt.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time

from pathlib import Path
from typing import Any

from toolcrib import Policy, Toolbox
from toolcrib.testing import FakeContext

import toolcrib_lsp

from toolcrib_lsp import protocol
from toolcrib_lsp.finding import find
from toolcrib_lsp.servers import KNOWN


FILES = 200
ROUNDS = 300


def project(root: Path) -> None:
    """Write two hundred modules that use one function."""
    (root / "lib.py").write_text('def greet(name: str) -> str:\n    return "hi " + name\n')
    for number in range(FILES):
        use = "from lib import greet\n" if number % 20 == 0 else ""
        call = "greet('x')" if use else "len('x')"
        (root / f"m{number}.py").write_text(f"{use}\n\ndef f{number}() -> None:\n    {call}\n")


class Bare:
    """The least that speaks to a server."""

    def __init__(self, command: tuple[str, ...], root: Path) -> None:
        self.command, self.root, self.number = command, root, 0

    async def start(self) -> None:
        """Start it and open the files that are asked about."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self.root,
            limit=1 << 24,
        )
        await self.ask("initialize", protocol.initialize_params(str(self.root), {}))
        self.send({"method": "initialized", "params": {}})
        for name in ("lib.py", "m0.py"):
            path = self.root / name
            item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
            item["text"] = path.read_text()
            self.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})

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


async def timed(ask: Any) -> float:
    """Return the median of many rounds, in milliseconds."""
    for _ in range(20):
        await ask()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        await ask()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


async def measure(name: str) -> None:
    """Print one row for each question."""
    root = Path(tempfile.mkdtemp()).resolve() / "ws"
    root.mkdir()
    project(root)
    (spec,) = [each for each in KNOWN if each.name == name]
    program = find(spec, str(root))
    if program is None:
        sys.exit(f"{name} is not installed")
    bare = Bare(program.argv, root)
    await bare.start()
    settings = {"lsp": {"languages": {"python": [name]}}}
    ctx = FakeContext(root, settings=settings["lsp"])
    at = {"textDocument": {"uri": (root / "m0.py").as_uri()}}
    at["position"] = {"line": 4, "character": 5}
    policy = Policy(
        local=[toolcrib_lsp.pack], workspace=root, state=root.parent / "s", settings=settings
    )
    async with Toolbox(policy) as box, box.session() as session:
        for method, tool in (
            ("textDocument/definition", toolcrib_lsp.definition),
            ("textDocument/references", toolcrib_lsp.references),
        ):
            params = {**at, "context": {"includeDeclaration": True}}
            arguments = {"path": "m0.py", "line": 5, "name": "greet"}
            await asyncio.sleep(1)
            rows = [
                await timed(lambda m=method, p=params: bare.ask(m, p)),
                await timed(lambda t=tool: t.call(ctx, **arguments)),
                await timed(lambda t=tool: session.call(t.id, arguments)),
            ]
            ours = " ".join(f"{row:7.2f} ms ({row / rows[0]:.2f})" for row in rows[1:])
            print(f"{name:14}{tool.name:12} bare {rows[0]:6.2f} ms   handler, call: {ours}")
        start = time.perf_counter()
        arguments = {"path": "m0.py", "line": 5, "name": "greet"}
        calls = (session.call("lsp.definition", arguments) for _ in range(100))
        outcomes = await asyncio.gather(*calls)
        good = sum(outcome.ok for outcome in outcomes)
        print(f"{name:14}100 at once: {good} ok in {time.perf_counter() - start:.3f} s")
    await ctx.close()
    bare.process.kill()
    await bare.process.wait()


if __name__ == "__main__":
    for each in sys.argv[1:] or ["ty", "basedpyright"]:
        asyncio.run(measure(each))
