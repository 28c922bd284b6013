"""What is measured of the mcp pack, against the official SDK alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from material import least
from measuring import main, row


HERE = Path(__file__).parent

OURS = """
import asyncio, sys
from pathlib import Path
from toolcrib import Context, Pack, Policy
from toolcrib_mcp.serving import run

pack = Pack("desk")

@pack.tool(effects=())
async def echo(ctx: Context, text: str) -> str:
    "Say it again."
    return text

folder = Path(sys.argv[1])
policy = Policy(local=[pack], workspace=folder, state=folder / ".state")
address = sys.argv[2] if len(sys.argv) > 2 else None
asyncio.run(run(policy, address=address, everybody=address is not None, own_names=True))
"""

SDK = """
import logging, sys
from mcp.server import MCPServer

logging.disable()
server = MCPServer("desk")

@server.tool()
async def echo(text: str) -> str:
    "Say it again."
    return text

if len(sys.argv) > 2:
    import uvicorn
    app = server.streamable_http_app()
    config = uvicorn.Config(app, http="h11", log_level="warning", access_log=False)
    import socket
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    print(f"serving on http://127.0.0.1:{port}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(config).run(sockets=[sock])
else:
    server.run("stdio")
"""

CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _median_of(call: Callable[[], object], count: int) -> float:
    """Seconds of the middle one of ``count`` calls, one after the other."""
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[count // 2]


# -- a raw client over pipes -----------------------------------------------------------


class Pipes:
    """A server at the other end of pipes, spoken to in plain lines."""

    def __init__(self, script: str, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0
        self.ask("initialize", CLIENT)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._send(message)
        assert self._process.stdout is not None
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                return answer["result"]

    def echo(self) -> None:
        found = self.ask("tools/call", {"name": "echo", "arguments": {"text": "hello"}})
        assert found["content"][0]["text"] == "hello"

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


@row
def mcp_stdio_echo(folder: Path) -> list[float]:
    """One echo over pipes, asked by a raw client; the floor is the SDK's own server."""
    ours, bare = Pipes(OURS, folder), Pipes(SDK, folder)
    with contextlib.closing(ours), contextlib.closing(bare):
        return least(
            lambda: _median_of(ours.echo, 300), lambda: _median_of(bare.echo, 300), rounds=7
        )


# -- a raw client over HTTP ------------------------------------------------------------


class Http:
    """A server behind a port, asked over one connection, each request in one write."""

    def __init__(self, script: str, folder: Path, *, stateless: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder), "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = ""
        while not line.startswith("serving on"):
            line = self._process.stderr.readline()
        self._port = int(line.rpartition(":")[2].partition("/")[0])
        self._file: Any = None
        self._number = 0
        self._stateless = stateless
        self._headers = {
            "Host": f"127.0.0.1:{self._port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28" if stateless else "2025-11-25",
        }
        if not stateless:
            self.ask("initialize", CLIENT)
            self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})

    def _connect(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                sock = socket.create_connection(("127.0.0.1", self._port))
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = sock.makefile("rwb")
        sock.close()

    def _post(self, message: Any, headers: dict[str, str]) -> bytes:
        if self._file is None:
            self._connect()
        body = json.dumps(message).encode()
        lines = {**self._headers, **headers, "Content-Length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._file.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        self._file.flush()
        return self._answer()

    def _answer(self) -> bytes:
        length, chunked = 0, False
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.partition(b": ")
            if name.lower() == b"content-length":
                length = int(value)
            elif name.lower() == b"transfer-encoding":
                chunked = value == b"chunked"
            elif name.lower() == b"mcp-session-id":
                self._headers["Mcp-Session-Id"] = value.decode()
        if not chunked:
            return self._file.read(length)
        parts = []
        while (size := int(self._file.readline(), 16)) > 0:
            parts.append(self._file.read(size))
            self._file.readline()
        self._file.readline()
        return b"".join(parts)

    def ask(self, method: str, params: Any) -> Any:
        self._number += 1
        headers = {}
        if self._stateless:
            params = {**params, "_meta": MODERN}
            headers = {"Mcp-Method": method, "Mcp-Name": params["name"]}
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        body = self._post(message, headers)
        for line in body.splitlines():
            text = line.removeprefix(b"data: ")
            if text.startswith(b"{"):
                return json.loads(text)["result"]
        raise AssertionError(body)

    def echo(self) -> None:
        found = self.ask("tools/call", {"name": "echo", "arguments": {"text": "hello"}})
        assert found["content"][0]["text"] == "hello"

    def middle(self, count: int) -> float:
        """Seconds of the middle one of ``count`` echoes, over a connection just opened."""
        # While the other one was asked, the server may have closed it.
        self._hang_up()
        self.echo()
        return _median_of(self.echo, count)

    def _hang_up(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        self._hang_up()
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stderr is not None
        self._process.stderr.close()


def _over_http(folder: Path, *, stateless: bool) -> list[float]:
    ours = Http(OURS, folder, stateless=stateless)
    bare = Http(SDK, folder, stateless=stateless)
    with contextlib.closing(ours), contextlib.closing(bare):
        return least(lambda: ours.middle(200), lambda: bare.middle(200), rounds=7)


@row
def mcp_http_echo(folder: Path) -> list[float]:
    """One echo over HTTP in a session, raw client; the floor is the SDK's own server."""
    return _over_http(folder, stateless=False)


@row
def mcp_http_stateless(folder: Path) -> list[float]:
    """One echo over HTTP without a session, raw client; the floor is the SDK's server."""
    return _over_http(folder, stateless=True)


# -- our client ------------------------------------------------------------------------

# A server that costs next to nothing, so that what is measured is the client.
PLAIN = """
import json, sys, time
count, late = int(sys.argv[1]), float(sys.argv[2])
schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
tools = [{"name": "echo", "inputSchema": schema}] + [
    {"name": f"tool{n}", "description": f"Does the thing of number {n}.", "inputSchema": schema}
    for n in range(1, count)
]
time.sleep(late)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params, result = message["method"], message.get("params") or {}, {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "plain", "version": "1"}}
    elif method == "tools/list":
        start = int(params.get("cursor") or 0)
        result = {"tools": tools[start : start + 500]}
        if start + 500 < count:
            result["nextCursor"] = str(start + 500)
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    if "error" not in answer:
        answer["result"] = result
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def _sdk(folder: Path) -> list[str]:
    return ["-c", SDK, str(folder)]


def _plain(tools: int, late: float = 0.0) -> list[str]:
    # Without site-packages it starts in a tenth of the time.
    return ["-I", "-S", "-c", PLAIN, str(tools), str(late)]


@contextlib.asynccontextmanager
async def _ours(folder: Path, servers: dict[str, list[str]], *local: Any) -> AsyncIterator[Any]:
    from toolcrib import Policy, Toolbox
    from toolcrib_mcp import pack

    tables = {
        name: {"command": sys.executable, "args": args, "revision": "legacy"}
        for name, args in servers.items()
    }
    policy = Policy(
        local=[pack, *local],
        workspace=folder,
        state=folder / ".state",
        rules=["allow mcp.*", "allow hand.*"],
        settings={"mcp": {"servers": tables}},
    )
    async with Toolbox(policy) as box:
        yield box


@contextlib.asynccontextmanager
async def _bare(args: list[str]) -> AsyncIterator[Any]:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    started = StdioServerParameters(command=sys.executable, args=args)
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def _has(box: Any, tools: list[str]) -> None:
    while not all(tool in box.catalog.tools for tool in tools):
        await asyncio.sleep(0.002)


def _by_hand(box: Any) -> Any:
    """A tool that does with the SDK's own client what ours does: the same stages around it."""
    from toolcrib import Context, Pack, Signature, resources

    pack = Pack("hand")
    effects = {"fs_read", "fs_write", "process", "net_read", "net_write", "agent"}

    @pack.tool(effects=effects, concurrency="shared")
    async def echo(ctx: Context, text: str) -> str:
        """Say it again."""
        found = await box["bare"].call_tool("echo", {"text": text})
        return found.content[0].text

    @echo.signature
    def _(text: str) -> Signature:
        return Signature(writes=[resources.Server("bare")], effects=effects)

    return pack


async def _middles(calls: list[Callable[[], Awaitable[None]]], count: int) -> list[float]:
    best = [float("inf")] * len(calls)
    for _ in range(7):
        for place, call in enumerate(calls):
            taken = []
            for _ in range(count):
                start = time.perf_counter()
                await call()
                taken.append(time.perf_counter() - start)
            best[place] = min(best[place], sorted(taken)[count // 2])
    return best


async def _clients(folder: Path, *, stages: bool) -> list[float]:
    holder: dict[str, Any] = {}
    async with (
        _ours(folder, {"sdk": _sdk(folder)}, _by_hand(holder)) as box,
        box.session("bench") as session,
        _bare(_sdk(folder)) as bare,
    ):
        holder["bare"] = bare
        await _has(box, ["mcp.sdk.echo"])

        async def through(tool: str) -> None:
            found = await session.call(tool, {"text": "hello"})
            assert found.result.content[0].text == "hello", found

        async def alone() -> None:
            found = await bare.call_tool("echo", {"text": "hello"})
            assert found.content[0].text == "hello"

        floor = partial(through, "hand.echo") if stages else alone
        return await _middles([partial(through, "mcp.sdk.echo"), floor], 300)


@row
def mcp_client(folder: Path) -> list[float]:
    """One call of the SDK's server over pipes; the floor: a tool that uses the SDK's client."""
    return asyncio.run(_clients(folder, stages=True))


@row
def mcp_client_and_stages(folder: Path) -> list[float]:
    """The same against the SDK's client alone, with nothing that judges or records."""
    return asyncio.run(_clients(folder, stages=False))


@row
def mcp_five_thousand_tools(folder: Path) -> list[float]:
    """Start a server of 5,000 tools until each can be called; the floor only lists them."""

    async def ours() -> float:
        start = time.perf_counter()
        async with _ours(folder, {"plain": _plain(5000)}) as box:
            await _has(box, ["mcp.plain.tool4999"])
            taken = time.perf_counter() - start
            assert sum(each.startswith("mcp.plain.") for each in box.catalog.tools) == 5000
        return taken

    async def bare() -> float:
        from mcp_types import PaginatedRequestParams

        start = time.perf_counter()
        async with _bare(_plain(5000)) as session:
            count, cursor = 0, None
            while True:
                page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                count += len(page.tools)
                cursor = page.next_cursor
                if cursor is None:
                    break
            taken = time.perf_counter() - start
        assert count == 5000
        return taken

    return least(lambda: asyncio.run(ours()), lambda: asyncio.run(bare()), rounds=5)


@row
def mcp_hundred_servers(folder: Path) -> list[float]:
    """Start 100 servers, one late, until 99 can be called; the floor: with no late one."""

    async def started(late: float) -> float:
        servers = {f"s{n}": _plain(3, late if n == 0 else 0.0) for n in range(100)}
        start = time.perf_counter()
        async with _ours(folder, servers) as box:
            await _has(box, [f"mcp.s{n}.echo" for n in range(1, 100)])
            return time.perf_counter() - start

    return least(
        lambda: asyncio.run(started(600.0)), lambda: asyncio.run(started(0.0)), rounds=3
    )


if __name__ == "__main__":
    main()
