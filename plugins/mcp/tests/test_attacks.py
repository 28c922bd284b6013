"""Clients that mean harm, or are broken: refused clearly, and nobody else notices."""

from __future__ import annotations

import asyncio
import contextlib
import json

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx2
import pytest

from line_kit import TOKENS, Line, called
from mcp_kit import Listening
from mcp_types import JSONRPCResponse

from toolcrib_mcp.events import Log


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """One HTTP server for most tests of this file."""
    with Listening.on(tmp_path_factory.mktemp("attacked"), TOKENS) as server:
        yield server


@pytest.fixture
def url(server: Listening) -> str:
    """Its address."""
    return server.url


@pytest.fixture(scope="module")
def polled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A server whose clients have to come back for the answers of long calls."""
    folder = tmp_path_factory.mktemp("polled")
    with Listening.on(folder, TOKENS, "--poll-after", "0.1") as server:
        yield server


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


def _chunked(line: Line, who: str | None) -> bytes:
    return line.head(who, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.mark.parametrize("who", ["alice", None])
@pytest.mark.parametrize("around", [b"5;", b"0\r\nX: ", b"0\r\n"])
def test_what_stands_around_a_body_is_bounded(
    server: Listening, who: str | None, around: bytes
) -> None:
    """One line without end, or lines without end, with a token and without."""

    async def main() -> None:
        async with Line.open(server) as line:
            line.writer.write(_chunked(line, who) + around)
            if who is None:
                await line.until(b"wanted")
            said = await line.trickle(b"X: y\r\n" * 1000 if around == b"0\r\n" else b"y" * 6000)
            assert said.startswith(b"HTTP/1.1 431") if who is not None else not said

    async def within() -> None:
        async with asyncio.timeout(4):
            await main()

    asyncio.run(within())


def test_a_body_in_chunks_of_one_byte_is_a_body(server: Listening) -> None:
    """However much stands around it; what comes after it is no part of the head."""

    async def main() -> None:
        async with Line.open(server) as line:
            body = b" " * 200_000 + b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
            chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
            session = await line.session("alice")
            head = _chunked(line, "alice")[:-2] + f"Mcp-Session-Id: {session}\r\n\r\n".encode()
            line.writer.write(head + chunks + b"0\r\n\r\n")
            assert (await line.answer())[0].startswith(b"http/1.1 200")
            token = f"Authorization: Bearer {TOKENS['alice']}\r\n".encode()
            line.writer.write(_chunked(line, None) + b"1\r\n{\r\n0\r\n" + token + b"\r\n")
            assert (await line.answer())[0].startswith(b"http/1.1 401")

    asyncio.run(main())


def test_a_stranger_writes_nothing_into_the_log(server: Listening) -> None:
    """Neither with what is no request, nor with one for another protocol."""

    async def main() -> None:
        before = server.log.read_text()
        async with Line.open(server) as line:
            line.writer.write(b"no request\r\n\r\n")
            assert (await line.rest()).startswith(b"HTTP/1.1 400")
        async with Line.open(server) as line:
            more = {"Connection": "Upgrade", "Upgrade": "websocket"}
            line.writer.write(line.head(None, 0, method="GET", **more))
            assert (await line.answer())[0].startswith(b"http/1.1 401")
        assert server.log.read_text() == before

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


@pytest.mark.parametrize("own_first", [False, True])
def test_a_session_that_is_named_beside_ones_own_is_not_entered(
    server: Listening, *, own_first: bool
) -> None:
    """One reader would look at the first, and another at the last."""

    async def main() -> None:
        async with Line.open(server) as line:
            victim, own = await line.session("bob"), await line.session("alice")
            sessions = [own, victim] if own_first else [victim, own]
            names = "".join(f"Mcp-Session-Id: {each}\r\n" for each in sessions)
            call = {"id": 2, "method": "tools/call", "params": called("recall", {})}
            request = line.request("alice", call).replace(b"\r\n", b"\r\n" + names.encode(), 1)
            line.writer.write(request)
            assert (await line.answer())[0].startswith(b"http/1.1 400")

    asyncio.run(main())


@pytest.mark.parametrize(
    "twice", ["Authorization: Bearer x", "MCP-Protocol-Version: 2026-07-28"]
)
def test_what_says_whose_a_request_is_stands_in_it_once(server: Listening, twice: str) -> None:
    """Neither a second token nor a second revision is passed over."""

    async def main() -> None:
        async with Line.open(server) as line:
            session = {"Mcp_Session_Id": await line.session("alice")}
            more = {**session, "MCP_Protocol_Version": "2025-11-25"}
            request = line.request("alice", {"id": 2, "method": "ping"}, **more)
            line.writer.write(request.replace(b"\r\n", f"\r\n{twice}\r\n".encode(), 1))
            assert (await line.answer())[0].startswith(b"http/1.1 400")

    asyncio.run(main())


# -- the numbers of requests -----------------------------------------------------------


def test_an_id_that_is_under_way_is_not_used_again(server: Listening) -> None:
    """As a number or as text; the first request is answered, and then it is free."""

    async def main() -> None:
        async with Line.open(server) as one, Line.open(server) as two:
            session = {"Mcp_Session_Id": await one.session("alice")}
            work = called("work", {"seconds": 0.5})
            call = {"id": 5, "method": "tools/call", "params": work}
            one.writer.write(one.request("alice", call, **session))
            await one.until(b"text/event-stream")
            for again in (5, "5"):
                two.writer.write(two.request("alice", {**call, "id": again}, **session))
                head, body = await two.answer()
                assert head.startswith(b"http/1.1 400")
                assert b"under way" in body
            assert b"the work is done" in await one.until(b"done")
        async with Line.open(server) as three:
            echo = {"id": 5, "method": "ping"}
            for _ in range(20):
                three.writer.write(three.request("alice", echo, **session))
                assert (await three.answer())[0].startswith(b"http/1.1 200")

    asyncio.run(main())


@pytest.mark.parametrize("number", ["1.5", "1.0", "null", "true", "{}", "[1]"])
def test_an_id_that_is_none_is_refused(server: Listening, number: str) -> None:
    """It would be taken for something that wants no answer, and waited for in vain."""

    async def main() -> None:
        async with Line.open(server) as line:
            session = await line.session("alice")
            body = f'{{"jsonrpc": "2.0", "id": {number}, "method": "ping"}}'.encode()
            head = line.head("alice", len(body), Mcp_Session_Id=session)
            line.writer.write(head + body)
            head, said = await line.answer()
            assert head.startswith(b"http/1.1 400")
            assert json.loads(said)["error"]["message"].startswith("the id of a request")

    asyncio.run(main())


@pytest.mark.parametrize("body", [b"[]", b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]'])
def test_a_batch_is_refused_in_words(server: Listening, body: bytes) -> None:
    """Within a session, and where one would begin."""

    async def main() -> None:
        async with Line.open(server) as line:
            session = {"Mcp_Session_Id": await line.session("alice")}
            for more in (session, {}):
                line.writer.write(line.head("alice", len(body), **more) + body)
                head, said = await line.answer()
                assert head.startswith(b"http/1.1 400")
                assert "by itself" in json.loads(said)["error"]["message"]

    asyncio.run(main())


# -- streams ---------------------------------------------------------------------------


async def _stream(line: Line, who: str, session: str, **more: str) -> bytes:
    """Ask for a stream of a session, and return the head of the answer."""
    line.writer.write(line.head(who, 0, method="GET", Mcp_Session_Id=session, **more))
    return await line.until(b"\r\n\r\n")


def test_a_session_has_one_stream(server: Listening) -> None:
    """A second one is refused, by whomever it is asked for, and the first one goes on."""

    async def main() -> None:
        async with Line.open(server) as one, Line.open(server) as two, Line.open(server) as bob:
            session = await one.session("alice")
            assert (await _stream(one, "alice", session)).startswith(b"HTTP/1.1 200")
            for _ in range(3):
                assert (await _stream(two, "alice", session)).startswith(b"HTTP/1.1 409")
            assert (await _stream(bob, "bob", session)).startswith(b"HTTP/1.1 404")
            await two.called("alice", session, "touch")
            assert not one.reader.at_eof()

    asyncio.run(main())


@pytest.mark.parametrize("place", ["1", "\xb2", "9" * 5000, "-1", "x"])
def test_who_comes_back_to_nothing_is_sent_nothing(
    server: Listening, polled: Listening, place: str
) -> None:
    """Neither where nothing is kept, nor for a place that is none; and nothing breaks."""

    async def main(server: Listening) -> None:
        before = server.log.read_text()
        async with Line.open(server) as line, Line.open(server) as other:
            session = await other.session("alice")
            head = await _stream(line, "alice", session, Last_Event_Id=place)
            assert head.startswith(b"HTTP/1.1 200")
            assert b"hello" in await other.called("alice", session, "echo", text="hello")
        assert server.log.read_text() == before

    asyncio.run(main(server))
    asyncio.run(main(polled))


def test_who_comes_back_is_sent_what_is_its_own(polled: Listening) -> None:
    """Every client counts its requests from one; tasks are asked about meanwhile."""

    async def main() -> None:
        async with Line.open(polled) as alice, Line.open(polled) as bob:
            session = {"Mcp_Session_Id": await alice.session("alice")}
            session["MCP_Protocol_Version"] = "2025-11-25"
            others = await bob.session("bob")
            work = called("work", {"seconds": 0.5})
            call = {"id": 2, "method": "tools/call", "params": work}
            alice.writer.write(alice.request("alice", call, **session))
            _, left = await alice.answer()
            place = left.partition(b"id: ")[2].split()[0].decode()
            assert b"done" not in left
            assert b"of bob" in await bob.called("bob", others, "echo", text="of bob")
            task = {**call, "id": 3, "params": {**work, "task": {}}}
            alice.writer.write(alice.request("alice", task, **session))
            _, begun = await alice.answer()
            about = {"taskId": begun.partition(b'"taskId":"')[2].partition(b'"')[0].decode()}
            status = b""
            while b'"completed"' not in status:
                asked = {"id": 4, "method": "tasks/get", "params": about}
                alice.writer.write(alice.request("alice", asked, **session))
                _, status = await alice.answer()
            await _stream(alice, "alice", Last_Event_Id=place, **_named(session))
            said = await alice.until(b"done")
            assert b"of bob" not in said
            assert b"taskId" not in said
            for number in range(1, 9):
                async with Line.open(polled) as line:
                    await _stream(line, "bob", others, Last_Event_Id=str(number))
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.05):
                            assert b"the work" not in await line.until(b"the work")

    asyncio.run(main())


def _answer(number: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=number, result={})


def test_an_answer_waits_for_its_client_however_much_is_said_meanwhile() -> None:
    """It goes when many others came after it, or its number is used again."""
    log = Log()
    place = log.add("1", None)
    for number in range(2, 2000):
        log.add(str(number), None)
        log.add(str(number), _answer(number))
    log.add("1", _answer(1))
    found = log.after(place)
    assert found is not None
    assert found[0] == "1"
    assert [message for _, message in found[1]] == [_answer(1)]
    for number in range(2000, 2100):
        assert log.after(place) is not None
        log.add(str(number), _answer(number))
    assert log.after(place) is None
    last = log.add("2099", _answer(2099))
    log.begin("2099")
    assert log.after(last) is None


def _named(session: dict[str, str]) -> dict[str, Any]:
    return {
        "session": session["Mcp_Session_Id"],
        "MCP_Protocol_Version": session["MCP_Protocol_Version"],
    }
