"""Remote servers over loopback HTTP: real ones, and one that misbehaves in every way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_kit import opened, tool, until, yes


HERE = Path(__file__).parent
SDK_SERVER = """
import sys
from mcp.server.mcpserver import MCPServer, Context
server = MCPServer("sdk")
@server.tool()
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
@server.tool()
async def ask(ctx: Context) -> str:
    "Ask the user."
    from pydantic import BaseModel
    class Answer(BaseModel):
        name: str = "nobody"
    found = await ctx.elicit("Who are you?", Answer)
    return f"{found.action}: {getattr(found, 'data', None)}"
@server.resource("note://{name}")
def note(name: str) -> str:
    "A note."
    return f"note {name}"
@server.resource("note://fixed")
def fixed() -> str:
    return "a fixed note"
@server.prompt()
def greet(who: str) -> str:
    "Greet."
    return f"Say hello to {who}."
if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", port=int(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def sdk_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server made with the official SDK."""
    path = tmp_path_factory.mktemp("sdk") / "server.py"
    path.write_text(SDK_SERVER)
    return path


@pytest.fixture(scope="module")
def sdk_url(sdk_script: Path) -> Iterator[str]:
    """The same over HTTP."""
    import socket
    import time

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(sdk_script), str(port)], stderr=subprocess.DEVNULL
    )
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(10)


class Person:
    """Answers every form."""

    async def question(self, text: str, **_: Any) -> str | None:
        return None

    async def form(self, text: str, schema: Any) -> Any:
        return {"name": "Ada"} if "Who are you?" in text else None

    async def url(self, text: str, url: str) -> bool:
        return False


@pytest.mark.parametrize("revision", ["auto", "legacy"])
@pytest.mark.parametrize("how", ["stdio", "http"])
def test_a_server_of_the_official_sdk(
    tmp_path: Path, sdk_script: Path, sdk_url: str, how: str, revision: str
) -> None:
    """Tools, questions, resources, templates and prompts, over both transports."""
    config: dict[str, Any] = {"revision": revision}
    if how == "stdio":
        config |= {"command": sys.executable, "args": [str(sdk_script), "stdio"]}
    else:
        config |= {"url": sdk_url}

    async def main() -> None:
        async with opened(tmp_path, {"sdk": config}, ask=Person()) as (box, session):
            await until(lambda: "mcp.sdk.add" in box.catalog, 15)
            outcome = await session.call("mcp.sdk.add", {"a": 2, "b": 3}, approver=yes)
            assert outcome.status == "ok", outcome
            assert outcome.result.structured == {"result": 5}
            if revision == "legacy":  # The newer one has rounds, which this tool does not use.
                asked = await session.call("mcp.sdk.ask", {}, approver=yes)
                assert "Ada" in asked.result.content[0].text, asked
            found = await session.call("mcp.list_resources", {"server": "sdk"}, approver=yes)
            assert "note://fixed" in str(found.result.content)
            found = await session.call("mcp.list_templates", {}, approver=yes)
            assert "note://{name}" in str(found.result.content)
            sent = {"server": "sdk", "uri": "note://today"}
            read = await session.call("mcp.read_resource", sent, approver=yes)
            assert "note today" in read.result.content[0].text
            sent = {"server": "sdk", "name": "greet", "arguments": {"who": "Bo"}}
            prompt = await session.call("mcp.get_prompt", sent, approver=yes)
            assert "Say hello to Bo." in str(prompt.result.content)
            sent = {"server": "sdk", "name": "greet", "arguments": {}}
            prompt = await session.call("mcp.get_prompt", sent, approver=yes)
            assert prompt.status == "invalid"

    asyncio.run(main())


class Web:
    """A server of plain HTTP that answers as it is told.

    Attributes:
        act: ``(method) -> what to do`` for each request; None answers well.
        posts: The methods that were posted.
    """

    def __init__(self, tools: list[Any]) -> None:
        self.tools = tools
        self.act: Callable[[str], Any] = lambda method: None
        self.posts: list[str] = []
        self.sessions = 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        server.close()

    async def _serve(self, reader: Any, writer: Any) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                verb = head.split(" ", 1)[0]
                length = 0
                for line in head.splitlines():
                    if line.lower().startswith("content-length:"):
                        length = int(line.partition(":")[2])
                body = await reader.readexactly(length)
                if verb != "POST":
                    self._write(writer, 405 if verb == "GET" else 200, b"")
                    continue
                if not await self._answer(writer, json.loads(body)):
                    break
        writer.close()

    async def _answer(self, writer: Any, message: Any) -> bool:
        method = message.get("method", "")
        self.posts.append(method)
        act = self.act(method)
        if act == "drop":
            return False
        if isinstance(act, int):
            self._write(writer, act, b"")
            return True
        if isinstance(act, bytes):
            self._write(writer, 200, act)
            return True
        if "id" not in message:
            self._write(writer, 202, b"")
            return True
        result = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": self.tools},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }.get(method)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            answer["error"] = {"code": -32601, "message": "no"}
        else:
            answer["result"] = result
        headers = ""
        if method == "initialize":
            self.sessions += 1
            headers = f"mcp-session-id: s{self.sessions}\r\n"
        self._write(writer, 200, json.dumps(answer).encode(), headers)
        return True

    @staticmethod
    def _write(writer: Any, status: int, body: bytes, headers: str = "") -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


@contextlib.asynccontextmanager
async def _web(tmp_path: Path, **config: Any) -> AsyncIterator[Any]:
    web = Web([tool("t"), tool("u")])
    async with web.open() as url:
        entry = {"url": url, "first_delay": 0.05, "revision": "legacy", **config}
        async with opened(tmp_path, {"w": entry}) as (box, session):
            await until(lambda: "mcp.w.t" in box.catalog)
            yield web, box, session


def test_a_lost_answer_costs_its_call_alone(tmp_path: Path) -> None:
    """A connection that breaks in a call leaves that call uncertain, and is not sent again."""

    async def main() -> None:
        async with _web(tmp_path) as (web, _, session):
            web.act = lambda method: "drop" if method == "tools/call" else None
            outcome = await session.call("mcp.w.t", {}, approver=yes)
            assert outcome.status == "uncertain", outcome
            web.act = lambda method: None
            assert (await session.call("mcp.w.u", {}, approver=yes)).status == "ok"
            assert web.posts.count("tools/call") == 2

    asyncio.run(main())


def test_a_session_that_ended_is_begun_again(tmp_path: Path) -> None:
    """The server forgot the session: nothing was done, and a new one is opened."""

    async def main() -> None:
        async with _web(tmp_path) as (web, box, session):
            web.act = lambda method: 404 if method == "tools/call" else None
            outcome = await session.call("mcp.w.t", {}, approver=yes)
            assert (outcome.status, outcome.code) == ("failed", "tool.transient"), outcome
            web.act = lambda method: None
            await until(lambda: web.sessions == 2)
            await until(lambda: "mcp.w.t" in box.catalog)
            assert (await session.call("mcp.w.t", {}, approver=yes)).status == "ok"

    asyncio.run(main())


def test_a_server_that_is_not_there_was_sent_nothing(tmp_path: Path) -> None:
    """What could not be sent is safe to send again, and says so."""

    async def main() -> None:
        web = Web([tool("t")])
        async with contextlib.AsyncExitStack() as stack:
            url = await stack.enter_async_context(web.open())
            entry = {"url": url, "first_delay": 30, "revision": "legacy"}
            opening = opened(tmp_path, {"w": entry})
            box, session = await stack.enter_async_context(opening)
            await until(lambda: "mcp.w.t" in box.catalog)
            web.act = lambda method: "drop"
            port = int(url.split(":")[2].split("/")[0])
            from test_calls import _server

            config = _server(box, "w").connection.config
            assert config.url == f"http://127.0.0.1:{port}/mcp"
            outcome = await session.call("mcp.w.t", {}, approver=yes)
            assert outcome.status == "uncertain"
        assert web.posts.count("tools/call") == 1

    asyncio.run(main())


def test_answers_that_are_too_large_or_no_answers(tmp_path: Path) -> None:
    """Neither a huge body nor nonsense takes the connection or the memory."""

    async def main() -> None:
        async with _web(tmp_path) as (web, _, session):
            web.act = lambda method: b"x" * (40 << 20) if method == "tools/call" else None
            outcome = await session.call("mcp.w.t", {}, approver=yes)
            assert outcome.status in {"ok", "uncertain"}, outcome
            web.act = lambda method: b"<html>no</html>" if method == "tools/call" else None
            outcome = await session.call("mcp.w.t", {}, approver=yes)
            assert outcome.status == "uncertain", outcome
            web.act = lambda method: None
            assert (await session.call("mcp.w.u", {}, approver=yes)).status == "ok"

    asyncio.run(main())


def test_a_login_that_is_wanted_is_said(tmp_path: Path) -> None:
    """A server that answers 401 is failed, with the command that helps, and not asked again."""

    async def main() -> None:
        web = Web([])
        web.act = lambda method: 401
        async with web.open() as url, opened(tmp_path, {"w": {"url": url}}) as (_, session):
            (facts,) = (await session.call("mcp.servers")).result.content[0].value
            assert facts["state"] == "failed"
            assert "toolcrib mcp login w" in facts["problem"]
            await asyncio.sleep(0.2)
            assert len(web.posts) <= 2

    asyncio.run(main())


def test_our_own_server_is_a_server_like_others(tmp_path: Path) -> None:
    """The catalog of one toolbox is a live source of another, over pipes."""

    async def main() -> None:
        args = [str(HERE / "served.py"), str(tmp_path)]
        config = {"command": sys.executable, "args": args}
        async with opened(tmp_path, {"own": config}) as (box, session):
            await until(lambda: "mcp.own.desk_echo" in box.catalog, 15)
            sent = {"text": "through"}
            outcome = await session.call("mcp.own.desk_echo", sent, approver=yes)
            assert outcome.result.content[0].text == "through"

    asyncio.run(main())
