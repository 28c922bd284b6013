"""What the tests share: a scriptable peer, and a toolbox with servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import attrs

from toolcrib import Allow, Policy, Session, Toolbox

from toolcrib_mcp import pack
from toolcrib_mcp.owned import MARK


PEER = Path(__file__).with_name("peer.py")


@attrs.define
class FakePeer:
    """One peer: its configuration, and what it logged."""

    plan: Path
    log: Path
    config: dict[str, Any]

    def events(self, event: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == event]

    def messages(self, method: str) -> list[dict[str, Any]]:
        found = [line["message"] for line in self.events("message")]
        return [message for message in found if message.get("method") == method]


@contextlib.asynccontextmanager
async def opened(
    workspace: Path,
    servers: dict[str, Any],
    *,
    ask: Any = None,
    agents: Any = None,
    local: Sequence[Any] = (),
    wait: bool = True,
    **policy: Any,
) -> AsyncIterator[tuple[Toolbox, Session]]:
    """Open a toolbox with servers, and a session; as a rule, wait for late servers."""
    configs = {n: s.config if isinstance(s, FakePeer) else s for n, s in servers.items()}
    made = Policy(
        local=[pack, *local],
        workspace=workspace,
        state=workspace / ".state",
        settings={"mcp": {"servers": configs}},
        **policy,
    )
    async with Toolbox(made, ask=ask, agents=agents) as box, box.session("test") as session:
        if wait:
            await box.sources.settle(20.0)
        yield box, session


def yes(_: Any) -> Allow:
    """Approve a question."""
    return Allow(by="tester")


async def until(what: Callable[[], Any], seconds: float = 5.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to be in time"
        await asyncio.sleep(0.01)


def marked() -> list[int]:
    """Return the ids of living processes that some server's run has started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if MARK.encode() + b"=" in (folder / "environ").read_bytes() and state != b"Z":
                    found.append(int(folder.name))
    return [pid for pid in found if not _is_a_siblings(pid)]


def _is_a_siblings(pid: int) -> bool:
    """Tell whether a process was started by a test run beside this one."""
    while pid > 1 and pid != os.getpid():
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return False
        parent = int(stat[1])
        if parent == os.getppid():
            return True
        pid = parent
    return False


def tool(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a declaration."""
    return {"name": name, "inputSchema": schema or {"type": "object"}, **more}


SERVER = Path(__file__).with_name("served.py")


@attrs.frozen
class Listening:
    """Our server on a port of this machine, in a process of its own.

    Attributes:
        log: What it wrote on stderr.
    """

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        found = urlsplit(self.url)
        return str(found.hostname), int(found.port or 0)

    @classmethod
    @contextlib.contextmanager
    def on(cls, folder: Path, tokens: Mapping[str, str], *options: str) -> Iterator[Listening]:
        """Serve, and wait until the address is said."""
        file, log = folder / "tokens", folder / "log"
        file.write_text("".join(f"{name} {token}\n" for name, token in tokens.items()))
        file.chmod(0o600)
        command = [sys.executable, str(SERVER), str(folder), "--http", "0"]
        command += ["--token-file", str(file), *options]
        with log.open("wb") as stderr:
            process = subprocess.Popen(command, stderr=stderr)
        try:
            end = time.monotonic() + 30
            while not (said := [w for w in log.read_text().split() if w.startswith("http://")]):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.01)
            yield cls(said[0], process, log)
        finally:
            process.terminate()
            process.wait(10)


class Raw:
    """A client of plain JSON lines, which may do what no SDK does.

    Attributes:
        greeting: What the server said of itself.
        seen: Everything that came.
    """

    capabilities: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[Any] = []
        self.greeting: Any = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator[Any]:
        """Start our server, and shake hands."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(SERVER), str(folder)),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=1 << 24,
        )
        raw = cls(process)
        params = {"protocolVersion": "2025-11-25", "capabilities": dict(cls.capabilities)}
        params["clientInfo"] = {"name": "raw", "version": "1"}
        raw.send(id=0, method="initialize", params=params)
        raw.greeting = (await raw.answer(0))["result"]
        raw.send(method="notifications/initialized")
        yield raw
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 10)
        raw._reading.cancel()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            self.seen.append(message)
            self.heard(message)

    def heard(self, message: Any) -> None:
        """Do something about a message, if that is to be done."""

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def call(self, number: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": number}}
        self.send(id=number, method="tools/call", params=params)

    def cancel(self, number: int) -> None:
        self.send(method="notifications/cancelled", params={"requestId": number})

    def answers(self, number: int) -> list[Any]:
        return [m for m in self.seen if m.get("id") == number and "method" not in m]

    async def answer(self, number: int) -> Any:
        await until(lambda: self.answers(number), 15)
        return self.answers(number)[0]


async def answering(reader: Any, writer: Any, answer: Callable[..., Any]) -> None:
    """Serve a connection of plain HTTP: target, headers, body → status, headers, body."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.partition(":") for line in lines[1:] if line)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            status, more, text = answer(lines[0].split()[1], headers, body)
            more = {"content-type": "application/json", **more}
            head = "".join(f"{name}: {value}\r\n" for name, value in more.items())
            size = f"content-length: {len(text)}\r\n\r\n"
            writer.write(f"HTTP/1.1 {status} X\r\n{head}{size}".encode() + text)
    writer.close()
