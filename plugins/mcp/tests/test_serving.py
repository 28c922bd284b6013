"""The catalog as a server: unmodified official clients, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx2
import mcp_types as types
import pytest

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_kit import Raw, until
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from toolcrib import Context, Pack, Policy, Toolbox
from toolcrib.host import SystemClock

from toolcrib_mcp.channel import ClientAsk


SERVER = Path(__file__).with_name("served.py")
TOKENS = {"alice": "alice-token-0123456789", "bob": "bob-token-0123456789"}


@attrs.frozen
class Port:
    """A server on a port of this machine."""

    url: str
    process: Any

    def client(self, who: str, **options: Any) -> Any:
        return _http_client(self.url, TOKENS[who], options)


@contextlib.asynccontextmanager
async def _http_client(url: str, token: str, options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client


def _accepting(url: str, seconds: float = 20.0) -> None:
    """Wait until the address that was announced takes connections."""
    import socket
    import time

    from urllib.parse import urlsplit

    place = urlsplit(url)
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((place.hostname, place.port), timeout=1).close()
        except OSError:
            assert time.monotonic() < end, f"{url} takes no connections"
            time.sleep(0.02)
        else:
            return


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    """One HTTP server for all tests of this file."""
    import subprocess

    folder = tmp_path_factory.mktemp("served")
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    command = [sys.executable, str(SERVER), str(folder), "--http", "0"]
    command += ["--token-file", str(tokens)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("serving on"):
        assert process.poll() is None, line
    _accepting(line.split()[-1])
    yield Port(line.split()[-1], process)
    process.terminate()
    process.wait(10)
    process.stderr.close()


def stdio(folder: Path, **env: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=[str(SERVER), str(folder)], env={**os.environ, **env}
    )


def answers(said: Any, seen: list[str] | None = None) -> Any:
    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        if seen is not None:
            seen.append(params.message)
        if said is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=said)

    return elicit


ONCE = {"decision": "allow once"}


async def _uses(client: Client) -> None:
    """What an unmodified client does: list, call, fail, read."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools["desk_echo"].annotations is not None
    assert tools["desk_echo"].annotations.read_only_hint is True
    assert tools["desk_write"].annotations is not None
    assert tools["desk_write"].annotations.read_only_hint is False
    assert tools["desk_write"].annotations.destructive_hint is True
    assert tools["desk_count"].output_schema is not None
    result = await client.call_tool("desk_echo", {"text": "hi"})
    assert result.content == [types.TextContent(type="text", text="hi")]
    result = await client.call_tool("desk_count", {"text": "one two"})
    assert result.structured_content == {"words": 2, "letters": 7}
    result = await client.call_tool("desk_echo", {"txt": "hi"})
    assert result.is_error
    with pytest.raises(MCPError, match="Unknown tool"):
        await client.call_tool("desk_nothing", {})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_official_client_uses_the_catalog_over_pipes(tmp_path: Path, mode: str) -> None:
    """Every revision: the tools are listed with hints from their effects, and called."""

    async def main() -> None:
        async with Client(stdio(tmp_path), mode=mode) as client:
            await _uses(client)

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_official_client_uses_the_catalog_over_http(port: Port, mode: str) -> None:
    """The same over HTTP, with a bearer token."""

    async def main() -> None:
        async with port.client("alice", mode=mode) as client:
            await _uses(client)

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_what_needs_approval_is_asked_of_the_clients_user(port: Port, mode: str) -> None:
    """Yes runs it once, no refuses it, and without a way to ask nothing runs."""

    async def main() -> None:
        seen: list[str] = []
        yes = answers(ONCE, seen)
        async with port.client("alice", mode=mode, elicitation_callback=yes) as client:
            result = await client.call_tool("desk_write", {"text": f"a-{mode}"})
            assert not result.is_error, result
            assert f'"text": "a-{mode}"' in seen[0]
        async with port.client(
            "alice", mode=mode, elicitation_callback=answers(None)
        ) as client:
            result = await client.call_tool("desk_write", {"text": "no"})
            assert result.is_error
            assert "needs_approval" in result.content[0].text
        async with port.client("alice", mode=mode) as client:
            result = await client.call_tool("desk_write", {"text": "no"})
            assert result.is_error
            result = await client.call_tool("desk_written", {})
            assert f"a-{mode}" in result.content[0].text
            assert "no" not in result.content[0].text.split()

    asyncio.run(main())


def test_the_same_call_twice_runs_twice(port: Port) -> None:
    """A client's second request is a second call, whatever number it has."""

    async def main() -> None:
        first, second = [], []
        for found in first, second:
            async with port.client("alice", mode="legacy") as client:
                for _ in range(2):
                    result = await client.call_tool("desk_tick", {})
                    found.append(int(result.content[0].text))
        numbers = first + second
        assert numbers == sorted(set(numbers))

    asyncio.run(main())


def test_each_client_has_a_session_of_its_own(port: Port) -> None:
    """An approval for good, and what is remembered, belong to the client that gave it."""

    async def main() -> None:
        always = answers({"decision": "allow this and others like it"})
        async with (
            port.client("alice", mode="legacy", elicitation_callback=always) as alice,
            port.client("bob", mode="legacy") as bob,
        ):
            await alice.call_tool("desk_remember", {"text": "secret"})
            assert (await alice.call_tool("desk_recall", {})).content[0].text == "secret"
            assert (await bob.call_tool("desk_recall", {})).content[0].text == "nothing"
            assert not (await alice.call_tool("desk_write", {"text": "x"})).is_error
            assert (await bob.call_tool("desk_write", {"text": "x"})).is_error

    asyncio.run(main())


def test_clients_without_sessions_are_told_apart_by_token_and_name(port: Port) -> None:
    """The newer revision has no session: another token or another program is another client."""

    async def main() -> None:
        async def recalled(who: str, name: str) -> str:
            about = types.Implementation(name=name, version="1")
            async with port.client(who, mode="auto", client_info=about) as client:
                assert client.session.protocol_version in MODERN_PROTOCOL_VERSIONS
                return (await client.call_tool("desk_recall", {})).content[0].text

        about = types.Implementation(name="editor", version="1")
        async with port.client("alice", mode="auto", client_info=about) as client:
            await client.call_tool("desk_remember", {"text": "for the editor alone"})
        assert await recalled("alice", "editor") == "for the editor alone"
        assert await recalled("alice", "terminal") == "nothing"
        assert await recalled("bob", "editor") == "nothing"

    asyncio.run(main())


def test_one_token_cannot_keep_others_out(tmp_path: Path) -> None:
    """Its oldest idle client makes room for its next; others are not asked to."""
    from toolcrib_mcp.clients import Clients

    async def main() -> None:
        policy = Policy(workspace=tmp_path, state=tmp_path / ".state")
        async with Toolbox(policy) as box:
            clients = Clients(box)
            other = await clients.of("other\n1", "bob")
            first = await clients.of("one\n0", "alice")
            for number in range(1, 101):
                await clients.of(f"one\n{number}", "alice")
            assert await clients.of("other\n1", "bob") is other
            assert await clients.of("one\n0", "alice") is not first
            await clients.close()

    asyncio.run(main())


def test_no_token_takes_the_room_of_another(tmp_path: Path) -> None:
    """However many clients all others have, and whatever these keep."""
    from toolcrib_mcp.clients import Clients

    async def main() -> None:
        policy = Policy(workspace=tmp_path, state=tmp_path / ".state")
        async with Toolbox(policy) as box:
            clients = Clients(box, holders=64)
            for number in range(63 * 16):
                await clients.of(f"{number % 63}\n{number}", "alice")
            assert (await clients.of("other\n1", "bob")).principal == "bob"
            await clients.close()

    asyncio.run(main())


def test_changes_are_told_to_those_who_subscribed(port: Port) -> None:
    """Another client, and one that ended its subscription, hear nothing."""

    async def main() -> None:
        heard: dict[str, list[str]] = {"alice": [], "bob": [], "carol": []}

        def hears(who: str) -> Any:
            async def handle(message: Any) -> None:
                if isinstance(message, types.ResourceUpdatedNotification):
                    heard[who].append(str(message.params.uri))

            return handle

        async def follows(client: Client) -> None:
            params = types.SubscribeRequestParams(uri="note://one")
            request = types.SubscribeRequest(params=params)
            await client.session.send_request(request, types.EmptyResult)

        async def leaves(client: Client) -> None:
            params = types.UnsubscribeRequestParams(uri="note://one")
            request = types.UnsubscribeRequest(params=params)
            await client.session.send_request(request, types.EmptyResult)

        async with (
            port.client("alice", mode="legacy", message_handler=hears("alice")) as alice,
            port.client("bob", mode="legacy", message_handler=hears("bob")) as bob,
            port.client("bob", mode="legacy", message_handler=hears("carol")) as carol,
        ):
            await follows(alice)
            await follows(bob)
            await carol.list_tools()
            await leaves(bob)
            await alice.call_tool("desk_touch", {})
            await until(lambda: heard["alice"])
            await leaves(alice)
            await follows(bob)
            await alice.call_tool("desk_touch", {})
            await until(lambda: heard["bob"])
        assert heard == {"alice": ["note://one"], "bob": ["note://one"], "carol": []}

    asyncio.run(main())


def test_a_change_of_one_clients_tools_is_told_to_it_alone(tmp_path: Path) -> None:
    """In the revision without sessions as well; what changes for all is told to all."""
    from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged

    from toolcrib_mcp.clients import Clients
    from toolcrib_mcp.handlers import Served
    from toolcrib_mcp.offers import Offers

    def who(ctx: Any) -> tuple[str, str]:
        return ctx.session.client_params.client_info.name, "ada"

    async def main() -> None:
        policy, offers = Policy(workspace=tmp_path, state=tmp_path / ".state"), Offers()
        async with Toolbox(policy) as box, contextlib.AsyncExitStack() as stack:
            clients = Clients(box)
            served = Served(clients, who, offers=[offers])
            heard = []
            for name in ("one", "two"):
                about = types.Implementation(name=name, version="1")
                client = Client(served.server, client_info=about)
                wanted = {"tools_list_changed": True, "prompts_list_changed": True}
                opened = await stack.enter_async_context(client)
                heard.append(await stack.enter_async_context(opened.listen(**wanted)))
            await served.tools_changed(await clients.of("one", "ada"))
            offers.prompts_changed()
            assert await anext(heard[1]) == PromptsListChanged()
            assert await anext(heard[0]) == ToolsListChanged()
            await clients.close()

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tools_that_are_hidden_until_searched_for_are_found(tmp_path: Path, mode: str) -> None:
    """By the client that searches; it is told that its tools are others, and calls one."""
    from toolcrib_mcp.clients import Clients
    from toolcrib_mcp.handlers import Served

    pack, heard = Pack("desk"), []

    @pack.tool(effects=())
    async def weather(ctx: Context, town: str) -> str:
        """Tell tomorrow's weather of a town."""
        return f"rain in {town}"

    async def hears(message: Any) -> None:
        heard.append(type(message))

    def who(ctx: Any) -> tuple[str, str]:
        return ctx.session.client_params.client_info.name, "ada"

    async def main() -> None:
        policy = Policy(local=[pack], workspace=tmp_path, state=tmp_path / ".s", defer=True)
        async with Toolbox(policy) as box, contextlib.AsyncExitStack() as stack:
            clients = Clients(box)
            served = Served(clients, who)

            async def connect(name: str) -> Client:
                about = types.Implementation(name=name, version="1")
                options = {"mode": mode, "client_info": about, "message_handler": hears}
                return await stack.enter_async_context(Client(served.server, **options))

            async def names(client: Client) -> list[str]:
                # The SDK keeps a list until it hears of a change.
                listed = await client.session.list_tools()
                return [tool.name for tool in listed.tools]

            one, two = await connect("one"), await connect("two")
            assert await names(one) == await names(two) == ["crib_search"]
            await one.call_tool("crib_search", {"query": "weather"})
            assert await names(one) == ["crib_search", "desk_weather"]
            assert await names(two) == ["crib_search"]
            result = await one.call_tool("desk_weather", {"town": "Bonn"})
            assert result.content[0].text == "rain in Bonn"
            if mode == "legacy":
                assert heard == [types.ToolListChangedNotification]
            await clients.close()

    asyncio.run(main())


def test_a_long_result_is_an_artifact_of_its_client(port: Port) -> None:
    """What was cut is a resource that the client can read, and no other client."""

    async def kept(client: Client) -> list[types.Resource]:
        listed = (await client.list_resources()).resources
        return [each for each in listed if str(each.uri).startswith("artifact:")]

    async def main() -> None:
        async with (
            port.client("alice", mode="legacy") as alice,
            port.client("bob", mode="legacy") as bob,
        ):
            await alice.call_tool("desk_long", {})
            (resource,) = await kept(alice)
            text = (await alice.read_resource(str(resource.uri))).contents[0].text
            assert len(text) == 500_000
            assert await kept(bob) == []
            with pytest.raises(MCPError, match="not found"):
                await bob.read_resource(str(resource.uri))

    asyncio.run(main())


def test_who_may_come_in(port: Port) -> None:
    """Without the token, from a strange origin, for a strange host, too large: no."""

    async def main() -> None:
        good = {"Authorization": f"Bearer {TOKENS['alice']}"}
        both = {"Accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        async with httpx2.AsyncClient() as http:

            async def status(headers: Any, **options: Any) -> int:
                sent = {"json": body, **options}
                return (
                    await http.post(port.url, headers={**both, **headers}, **sent)
                ).status_code

            assert await status({}) == 401
            assert await status({"Authorization": "Bearer wrong-0123456789"}) == 401
            assert await status({"Authorization": TOKENS["alice"]}) == 401
            assert await status({**good, "Origin": "https://evil.example"}) == 403
            assert await status({**good, "Host": "evil.example"}) == 421
            large = {"content": b" " * (5 << 20)}
            kind = {"Content-Type": "application/json"}
            assert await status({**good, **kind}, json=None, **large) == 413

    asyncio.run(main())


def test_a_session_is_nobody_elses(port: Port) -> None:
    """A session's number with another token is no session."""

    async def main() -> None:
        headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {TOKENS['alice']}",
        }
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        async with httpx2.AsyncClient() as http:
            answer = await http.post(port.url, headers=headers, json=body)
            session = answer.headers["mcp-session-id"]
            headers["Mcp-Session-Id"] = session
            other = {**headers, "Authorization": f"Bearer {TOKENS['bob']}"}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            assert (await http.post(port.url, headers=other, json=ping)).status_code == 404
            assert (await http.post(port.url, headers=headers, json=ping)).status_code == 200

    asyncio.run(main())


def test_progress_and_logs_reach_the_client(port: Port) -> None:
    """A tool's reports and log lines go to the client whose call it is."""

    async def main() -> None:
        steps: list[Any] = []
        lines: list[Any] = []

        async def progress(value: float, total: float | None, message: str | None) -> None:
            steps.append((value, total, message))

        async def logged(params: Any) -> None:
            lines.append(params.data)

        async with port.client("alice", mode="legacy", logging_callback=logged) as client:
            await client.call_tool("desk_steps", {}, progress_callback=progress)
            await until(lambda: len(steps) == 3 and lines)
        assert steps == [(1.0, 3.0, "step 1"), (2.0, 3.0, "step 2"), (3.0, 3.0, "step 3")]
        assert lines == ["a line"]

    asyncio.run(main())


def test_a_cancelled_call_is_stopped_and_never_answered(tmp_path: Path) -> None:
    """No answer and no progress for what was withdrawn, and the tool's clean-up ran."""

    async def main() -> None:
        async with Raw.open(tmp_path) as raw:
            for number in 1, 2, 3:
                raw.call(number, "desk_slow")
            await until(lambda: any("progressToken" in str(m) for m in raw.seen))
            for number in 1, 2, 3:
                raw.cancel(number)
            await until((tmp_path / "cleaned").exists)
            await until(lambda: (tmp_path / "cleaned").read_text().count("x") == 3)
            before = len(raw.seen)
            await asyncio.sleep(0.3)
            assert len(raw.seen) == before
            raw.send(id=9, method="ping")
            await raw.answer(9)
            assert not any(raw.answers(number) for number in (1, 2, 3))

    asyncio.run(main())


def test_cancelling_around_the_end_never_breaks_the_server(tmp_path: Path) -> None:
    """Before, during, just at and after the end, unknown, twice: at most one answer each."""

    async def main() -> None:
        async with Raw.open(tmp_path) as raw:
            raw.cancel(12345)
            for number in range(100, 400):
                raw.call(number, "desk_quick")
                if number % 3:
                    await asyncio.sleep((number % 7) / 2000)
                raw.cancel(number)
                raw.cancel(number)
            raw.send(id=1000, method="ping")
            await raw.answer(1000)
            raw.call(1001, "desk_echo", text="still here")
            assert (await raw.answer(1001))["result"]["content"][0]["text"] == "still here"
            assert all(len(raw.answers(number)) <= 1 for number in range(100, 400))
            assert raw.process.returncode is None

    asyncio.run(main())


def test_a_tools_child_gets_neither_end_of_the_protocol(tmp_path: Path) -> None:
    """A child reads the end of input, writes beside the protocol, and holds no pipe of it."""

    async def main() -> None:
        async with Raw.open(tmp_path) as raw:
            raw.call(1, "desk_child")
            raw.call(2, "desk_echo", text="next")
            assert (await raw.answer(2))["result"]["content"][0]["text"] == "next"
            result = (await raw.answer(1))["result"]
            found = json.loads(result["content"][0]["text"])
            assert found["read"] == ""
            assert found["shared"] == []

    asyncio.run(main())


def test_a_failing_tool_says_its_own_failure(port: Port) -> None:
    """With an output schema, a failure is the tool's own words and no complaint of a schema."""

    async def main() -> None:
        async with port.client("alice", mode="legacy") as client:
            await client.list_tools()
            failed = await client.call_tool("desk_failing", {})
            assert failed.is_error
            assert failed.structured_content is None
            assert "my own words" in failed.content[0].text
            wrong = await client.call_tool("desk_misfit", {})
            assert wrong.is_error
            assert "schema" in wrong.content[0].text

    asyncio.run(main())


def test_what_is_hidden_is_not_called_either(port: Port) -> None:
    """A tool that policy hides is unknown, in listing and in calling."""

    async def main() -> None:
        async with port.client("alice", mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "desk_hidden" not in names
            with pytest.raises(MCPError, match="Unknown tool: desk_hidden"):
                await client.call_tool("desk_hidden", {})
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("desk.hidden", {})

    asyncio.run(main())


def test_a_round_belongs_to_its_call_and_its_client(port: Port) -> None:
    """A state that is changed, used twice, or another client's answers nothing."""

    async def main() -> None:
        name, arguments = "desk_write", {"text": "rounds"}
        callback = answers(ONCE)
        async with (
            port.client("alice", elicitation_callback=callback) as alice,
            port.client("bob", elicitation_callback=callback) as bob,
        ):
            first = await alice.session.call_tool(name, arguments, allow_input_required=True)
            assert isinstance(first, types.InputRequiredResult)
            (key,) = first.input_requests or {}
            given = {key: types.ElicitResult(action="accept", content=ONCE)}

            async def again(client: Client, state: str | None, **other: Any) -> Any:
                sent = {**arguments, **other}
                return await client.session.call_tool(
                    name, sent, input_responses=given, request_state=state
                )

            with pytest.raises(MCPError, match="state"):
                await again(bob, first.request_state)
            with pytest.raises(MCPError, match="state"):
                await again(alice, (first.request_state or "") + "x")
            assert not (await again(alice, first.request_state)).is_error
            with pytest.raises(MCPError, match="state"):
                await again(alice, first.request_state)

    asyncio.run(main())


class Later(SystemClock):
    """The machine's clock, and what a test adds to it."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


@pytest.mark.parametrize(("seconds", "said"), [(290, "hello Ada"), (310, "expired")])
def test_a_round_that_nobody_comes_back_for_is_given_up(
    tmp_path: Path, seconds: float, said: str
) -> None:
    """Its tool is stopped, and what is answered later is told so."""
    from toolcrib_mcp.clients import Clients
    from toolcrib_mcp.handlers import Served

    pack, clock, over = Pack("desk"), Later(), []

    @pack.tool(effects=())
    async def wonder(ctx: Context) -> str:
        """Ask who it is."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        try:
            values = await ctx.ask.form("Who are you?", schema)
        finally:
            over.append(clock.ahead)
        return f"hello {(values or {}).get('name')}"

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        clock.ahead = seconds
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def main() -> str:
        policy = Policy(local=[pack], workspace=tmp_path, state=tmp_path / ".state")
        async with Toolbox(policy, clock=clock, ask=ClientAsk()) as box:
            clients = Clients(box)
            served = Served(clients, lambda _: ("one", "ada"))
            async with Client(served.server, elicitation_callback=elicit) as client:
                try:
                    return str((await client.call_tool("desk_wonder", {})).content)
                except MCPError as error:
                    return str(error)
                finally:
                    await until(lambda: over)
                    await clients.close()

    assert said in asyncio.run(main())


def test_connections_are_taken_when_the_address_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it may come at once."""
    import socket

    import click

    from toolcrib_mcp.serving import run

    async def main() -> None:
        reached = asyncio.Event()

        def said(text: str, **_: Any) -> None:
            place = urlsplit(text.rsplit(maxsplit=1)[-1])
            socket.create_connection((place.hostname, place.port), timeout=5).close()
            reached.set()

        monkeypatch.setattr(click, "echo", said)
        policy = Policy(workspace=tmp_path, state=tmp_path / ".state")
        serving = asyncio.create_task(run(policy, address="127.0.0.1:0", everybody=True))
        await asyncio.wait(
            [serving, asyncio.ensure_future(reached.wait())],
            return_when=asyncio.FIRST_COMPLETED,
        )
        assert reached.is_set(), serving.exception()
        serving.cancel()
        await asyncio.wait([serving])

    asyncio.run(main())
