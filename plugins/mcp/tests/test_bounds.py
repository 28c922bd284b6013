"""What a connection may take of the server: time, room, and nothing of anybody else's."""

from __future__ import annotations

import asyncio

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import attrs
import pytest

from line_kit import TOKENS, Line, called
from mcp_kit import Listening

from toolcrib_mcp.crowd import to_make_room


BOUNDS = ("head_within=0.3", "body_idle=0.3", "body_within=1", "rest_within=0.3")


@pytest.fixture(scope="module", params=["c", "python"])
def hasty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Listening]:
    """A server of little patience, with each of the parsers."""
    options = [word for bound in (*BOUNDS, "taken_within=0.5") for word in ("--bound", bound)]
    folder = tmp_path_factory.mktemp("hasty")
    with Listening.on(folder, TOKENS, "--parser", request.param, *options) as server:
        yield server


@pytest.fixture
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A server with room for 64 connections, of which each token has half."""
    with Listening.on(tmp_path_factory.mktemp("crowded"), TOKENS, "--files", "256") as server:
        yield server


# -- time ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begun", [b"", b"\r\n", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: x\r\n"]
)
def test_a_head_that_takes_too_long_is_not_waited_for(hasty: Listening, begun: bytes) -> None:
    """Nothing of it came, or a part; nobody has shown a token yet."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            line.writer.write(begun)
            # One of the parsers takes an empty line for a bad request.
            assert (await line.rest()).startswith((b"HTTP/1.1 408", b"HTTP/1.1 400"))

    asyncio.run(main())


@pytest.mark.parametrize("begun", [b"\r\n", b"POST /mcp HT"])
def test_the_next_head_is_not_waited_for_longer(hasty: Listening, begun: bytes) -> None:
    """An answered request buys no time for another one that does not come."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            line.writer.write(line.request(None, {"id": 1, "method": "ping"}))
            await line.until(b"wanted")
            line.writer.write(begun)
            # One of the parsers takes an empty line for a bad request.
            assert (await line.rest()).startswith((b"HTTP/1.1 408", b"HTTP/1.1 400"))

    asyncio.run(main())


def test_a_head_that_goes_on_and_on_is_not_waited_for(hasty: Listening) -> None:
    """Each byte of it comes soon after the one before."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            line.writer.write(b"POST /mcp HTTP/1.1\r\nX: ")
            assert (await line.trickle(b"y")).startswith(b"HTTP/1.1 408")

    asyncio.run(main())


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_body_that_takes_too_long_is_not_waited_for(
    hasty: Listening, *, goes_on: bool
) -> None:
    """It stops, or goes on for longer than all of a body may; others go on meanwhile."""

    async def main() -> None:
        async with Line.open(hasty) as line, Line.open(hasty) as other:
            line.writer.write(line.head("alice", 1000) + b"{")
            session = await other.session("alice")
            said = await (line.trickle() if goes_on else line.rest())
            assert said.startswith(b"HTTP/1.1 408")
            assert b"hello" in await other.called("alice", session, "echo", text="hello")

    asyncio.run(main())


def test_a_body_that_goes_on_is_waited_for(hasty: Listening) -> None:
    """It takes longer than one may pause, and less than all of it may take."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            request = line.request("alice", {"id": 1, "method": "ping"})
            line.writer.write(request[:-10])
            for byte in request[-10:]:
                await asyncio.sleep(0.05)
                line.writer.write(bytes([byte]))
            # Answered: it began no session.
            assert (await line.answer())[0].startswith(b"http/1.1 400")

    asyncio.run(main())


def test_a_body_without_a_token_is_answered_at_once_and_not_read_for_long(
    hasty: Listening,
) -> None:
    """The refusal is there before the body; what comes of it later ends with the line."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            line.writer.write(line.head(None, 100_000) + b"{")
            assert (await line.until(b"wanted")).startswith(b"HTTP/1.1 401")
            assert await line.trickle() == b""

    asyncio.run(main())


def test_a_refused_request_that_is_whole_keeps_its_connection(hasty: Listening) -> None:
    """The next one may have the token."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            line.writer.write(line.request(None, {"id": 1, "method": "ping"}))
            assert (await line.until(b"wanted")).startswith(b"HTTP/1.1 401")
            assert await line.session("alice")

    asyncio.run(main())


def test_an_answer_under_way_is_not_ended_by_what_its_client_begins_to_say(
    hasty: Listening,
) -> None:
    """A second head that does not come whole waits behind the first request."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            session = await line.session("alice")
            call = {"id": 2, "method": "tools/call", "params": called("work", {"seconds": 1.0})}
            line.writer.write(line.request("alice", call, Mcp_Session_Id=session))
            await line.until(b"text/event-stream")
            line.writer.write(b"POST /mcp HTTP/1.1\r\n")
            said = await line.rest()
            assert b"the work is done" in said.partition(b"HTTP/1.1")[0]

    asyncio.run(main())


def test_a_client_that_takes_no_answers_is_let_go(hasty: Listening) -> None:
    """It asks and asks, and reads nothing."""

    async def main() -> None:
        async with Line.open(hasty) as line:
            session = await line.session("alice")
            line.writer.transport.pause_reading()
            message = {"id": 2, "method": "tools/list"}
            request = line.request("alice", message, Mcp_Session_Id=session)
            async with asyncio.timeout(20):
                while not line.writer.transport.is_closing():
                    line.writer.write(request)
                    await asyncio.sleep(0.001)

    asyncio.run(main())


def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_error(hasty: Listening) -> None:
    """Nothing of it stands in the log, in either generation."""

    async def main() -> None:
        before = hasty.log.read_text()
        for more in ({}, {"MCP_Protocol_Version": "2026-07-28"}):
            async with Line.open(hasty) as line:
                line.writer.write(line.head("alice", 1000, **more) + b"{")
                await line.writer.drain()
                await asyncio.sleep(0.05)
        async with Line.open(hasty) as line:
            await line.session("alice")
        assert hasty.log.read_text() == before

    asyncio.run(main())


# -- room ------------------------------------------------------------------------------


async def _streaming(server: Listening, who: str, stack: AsyncExitStack) -> Line:
    """Begin a session, and hold a request of it that goes on for long."""
    line = await stack.enter_async_context(Line.open(server))
    session = await line.session(who)
    line.writer.write(line.head(who, 0, method="GET", Mcp_Session_Id=session))
    assert (await line.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    return line


def test_who_has_shown_no_token_makes_room_for_others(crowded: Listening) -> None:
    """Many come and say nothing, or trickle; what goes on goes on, and new ones come in."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            stream = await _streaming(crowded, "alice", stack)
            opening = [Line.open(crowded) for _ in range(400)]
            strangers = await asyncio.gather(*map(stack.enter_async_context, opening))
            for number, line in enumerate(strangers):
                line.writer.write((b"", line.head(None, 1000), b"POST")[number % 3])
            one = await stack.enter_async_context(Line.open(crowded))
            session = await one.session("bob")
            assert b"hello" in await one.called("bob", session, "echo", text="hello")
            assert not stream.reader.at_eof()
            ended = [line for line in strangers if await _is_over(line)]
            assert len(ended) > 300

    asyncio.run(main())
    assert "out of system resource" not in crowded.log.read_text()


async def _is_over(line: Line) -> bool:
    """Tell whether the server has closed a connection."""
    try:
        async with asyncio.timeout(0.01):
            await line.rest()
    except TimeoutError:
        return False
    return True


@attrs.frozen
class Held:
    """A connection, as far as its room is concerned."""

    came: float
    holder: str | None = None
    at_work: bool = False


def test_who_makes_room_is_whoever_is_missed_least() -> None:
    """Strangers before tokens, the token with the most before others, none at its work."""
    alices = [Held(2.0, "alice"), Held(1.0, "alice"), Held(0.0, "alice", at_work=True)]
    bob, strangers = Held(0.5, "bob"), [Held(9.0, at_work=True), Held(8.0)]
    assert to_make_room([*alices, bob, *strangers]) is strangers[1]
    assert to_make_room([*alices, bob]) is alices[1]
    assert to_make_room([alices[2], bob]) is bob
    assert to_make_room([alices[2]]) is None


def test_a_token_with_many_connections_keeps_no_other_out(crowded: Listening) -> None:
    """It has its share of requests at once; of idle connections its own make room."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            for _ in range(32):
                await _streaming(crowded, "alice", stack)
            for _ in range(64):
                line = await stack.enter_async_context(Line.open(crowded))
                assert await line.status("alice") == b"503"
            for _ in range(3):
                one = await stack.enter_async_context(Line.open(crowded))
                session = await one.session("bob")
                assert b"hello" in await one.called("bob", session, "echo", text="hello")

    asyncio.run(main())


def test_connections_that_all_work_make_no_room(tmp_path: Path) -> None:
    """The newest is refused, and the others go on."""

    async def main(server: Listening) -> None:
        async with AsyncExitStack() as stack:
            lines = [await _streaming(server, "alice", stack) for _ in range(64)]
            one = await stack.enter_async_context(Line.open(server))
            assert (await one.rest()).startswith(b"HTTP/1.1 503")
            assert not any([await _is_over(line) for line in lines])
            await lines.pop().close()
            two = await stack.enter_async_context(Line.open(server))
            while await two.status("alice") == b"503":
                """It has not seen yet that one is gone."""

    alone = {"alice": TOKENS["alice"]}
    with Listening.on(tmp_path, alone, "--files", "256") as server:
        asyncio.run(main(server))


def test_a_token_that_begins_many_sessions_ends_its_own_oldest(crowded: Listening) -> None:
    """Where nothing goes on in them; another token's stay."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            line = await stack.enter_async_context(Line.open(crowded))
            other = await line.session("bob")
            await _streaming(crowded, "alice", stack)
            begun = [await line.session("alice") for _ in range(100)]
            assert await line.status("alice", begun[0]) == b"404"
            assert await line.status("alice", begun[1]) == b"200"
            assert b"hello" in await line.called("bob", other, "echo", text="hello")

    asyncio.run(main())
