"""Clients that mean harm, or are broken: refused clearly, and nobody else notices."""

from __future__ import annotations

import asyncio
import json

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx2
import pytest

from mcp_kit import Listening


TOKENS = {"alice": "alice-token-0123456789", "bob": "bob-token-0123456789"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One HTTP server for all tests of this file."""
    with Listening.on(tmp_path_factory.mktemp("attacked"), TOKENS) as server:
        yield server.url


async def _said(url: str, data: bytes) -> bytes:
    """Send bytes on a connection of their own; return all that is answered until it ends."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


@attrs.define
class Session:
    """One session of the revision 2025-11-25, by hand."""

    http: httpx2.AsyncClient
    url: str
    headers: dict[str, str]

    @classmethod
    async def begin(cls, http: httpx2.AsyncClient, url: str, who: str) -> Session:
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {TOKENS[who]}",
        }
        made = cls(http, url, headers)
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        answer = await made.post({"id": 1, "method": "initialize", "params": params})
        headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        return made

    async def post(self, message: dict[str, Any]) -> httpx2.Response:
        body = {"jsonrpc": "2.0", **message}
        return await self.http.post(self.url, headers=self.headers, json=body)

    async def ask(self, method: str, number: int = 2, **params: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        answer = await self.post({"id": number, "method": method, "params": params})
        lines = [line[5:] for line in answer.text.splitlines() if line.startswith("data:")]
        found = [json.loads(line) for line in lines or [answer.text] if line.strip()]
        return next(each for each in found if "method" not in each)

    async def task(self, name: str, **arguments: Any) -> str:
        """Call a tool as a task."""
        begun = await self.ask("tools/call", name=name, arguments=arguments, task={})
        return begun["result"]["task"]["taskId"]

    async def until_over(self, task: str) -> None:
        """Wait for the end of a task."""
        while (status := await self.status(task)) != "completed":
            assert status == "working"
            await asyncio.sleep(0.01)

    async def status(self, task: str) -> str | None:
        """Return the state of a task; None where there is none."""
        return (await self.ask("tasks/get", taskId=task)).get("result", {}).get("status")


def test_finished_tasks_keep_no_client_out(url: str) -> None:
    """Their clients make room, after those that keep nothing; running work stays."""

    async def main() -> None:
        async with httpx2.AsyncClient(timeout=30) as http:
            every = [await Session.begin(http, url, "alice") for _ in range(100)]
            running = await every[0].task("desk_work", seconds=600)
            over = {n: await every[n].task("desk_echo", text="x") for n in range(1, 99)}
            for n, task in over.items():
                await every[n].until_over(task)
            await every[99].ask("tools/list")
            for _ in range(2):
                new = await Session.begin(http, url, "alice")
                await new.until_over(await new.task("desk_echo", text="x"))
            assert await every[2].status(over[2]) == "completed"
            assert await every[0].status(running) == "working"

    asyncio.run(main())


def test_a_head_without_end_is_refused_before_it_is_kept(url: str) -> None:
    """Nobody has shown a token yet; one line without end, or lines without end."""

    async def main() -> None:
        start = b"POST /mcp HTTP/1.1\r\nHost: x\r\n"
        for more in (b"X: " + b"y" * 70_000, b"X: y\r\n" * 12_000):
            # Not a byte too many: what is unread when it closes would reset the connection.
            said = await _said(url, (start + more)[: 64 * 1024 + 1])
            assert said.startswith(b"HTTP/1.1 431")

    asyncio.run(main())


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: -5\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"X : y\r\n",
    ],
    ids=["two lengths", "negative", "length and chunks", "odd encoding", "blank before colon"],
)
def test_a_request_that_two_readers_could_read_differently_is_refused(
    url: str, head: bytes
) -> None:
    """It is answered once, and what follows it is no request."""

    async def main() -> None:
        start = b"POST /mcp HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n0\r\n\r\n"
        said = await _said(url, start + b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 400")
        assert said.count(b"HTTP/1.1") == 1

    asyncio.run(main())


def test_a_number_that_another_client_uses_too_cancels_nothing_of_it(url: str) -> None:
    """Requests are known by their session's numbers alone."""

    async def main() -> None:
        async with httpx2.AsyncClient(timeout=30) as http:
            victim = await Session.begin(http, url, "bob")
            other = await Session.begin(http, url, "alice")
            call = {"name": "desk_work", "arguments": {"seconds": 0.3}}
            asked = asyncio.create_task(victim.ask("tools/call", 7, **call))
            stop = {"method": "notifications/cancelled", "params": {"requestId": 7}}
            while not asked.done():
                assert (await other.post(stop)).status_code == 202
            assert (await asked)["result"]["content"][0]["text"] == "the work is done"

    asyncio.run(main())
