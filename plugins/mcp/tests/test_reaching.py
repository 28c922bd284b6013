"""Where requests to remote servers may go, looked at from the sockets they would reach."""

from __future__ import annotations

import asyncio
import contextlib
import json

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcp_kit import answering
from toolcrib import Policy, Toolbox

from toolcrib_mcp import pack
from toolcrib_mcp.settings import read, read_servers


@attrs.define
class Socket:
    """A server that counts who connects, and answers what the test says.

    Attributes:
        paths: What was asked for, with each request's headers.
    """

    answer: Callable[[str, Any], tuple[int, dict[str, str], bytes]]
    port: int = 0
    connections: int = 0
    paths: list[tuple[str, dict[str, str]]] = attrs.field(factory=list)

    async def serve(self, reader: Any, writer: Any) -> None:
        self.connections += 1
        await answering(reader, writer, self._answered)

    def _answered(self, path: str, headers: dict[str, str], body: bytes) -> Any:
        self.paths.append((path, headers))
        return self.answer(path, json.loads(body) if body.startswith(b"{") else None)


@contextlib.asynccontextmanager
async def listening(answer: Any = None, at: str = "127.0.0.1") -> AsyncIterator[Socket]:
    made = Socket(answer or (lambda path, message: (404, {}, b"")))
    server = await asyncio.start_server(made.serve, at, 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


async def _state(folder: Path, url: str, **settings: Any) -> dict[str, Any]:
    """Return what becomes of a server of that address."""
    entry = {"url": url, "recover": 0, "revision": "legacy", **settings.pop("server", {})}
    made = Policy(
        local=[pack],
        workspace=folder,
        state=folder / ".state",
        settings={"mcp": {"servers": {"far": entry}, **settings}},
    )
    async with Toolbox(made) as box, box.session("test") as session:

        async def status() -> Any:
            return (await session.call("mcp.servers")).result.content[0].value[0]

        while (found := await status())["state"] == "connecting":
            await asyncio.sleep(0.02)
        return dict(found)


def greeting(path: str, message: Any) -> tuple[int, dict[str, str], bytes]:
    """Answer as a server without tools does."""
    if message is None or "id" not in message:
        return (405 if message is None else 202), {}, b""
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "far", "version": "1"},
    }
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return 200, {}, json.dumps(answer).encode()


def test_a_name_that_leads_inside_is_never_connected_to(tmp_path: Path) -> None:
    """The address is judged, not the name; the way to allow it is told."""

    async def main() -> None:
        async with listening(greeting) as inside:
            url = f"http://tools.example.net:{inside.port}/mcp"
            hosts = {"tools.example.net": ["127.0.0.1"]}
            found = await _state(tmp_path, url, hosts=hosts)
            assert found["state"] == "failed"
            assert "[pack.mcp.net] allow" in found["problem"]
            assert inside.connections == 0
            mixed = {"tools.example.net": ["93.184.215.14", "127.0.0.1"]}
            assert (await _state(tmp_path, url, hosts=mixed))["state"] == "failed"
            assert inside.connections == 0
            net = {"allow": ["tools.example.net"]}
            found = await _state(tmp_path, url, hosts=hosts, net=net)
            assert found["state"] == "connected", found
            assert inside.connections > 0

    asyncio.run(main())


def test_this_machine_may_be_named_as_what_it_is(tmp_path: Path) -> None:
    """An address of this machine in the user's own words needs no second word."""

    async def main() -> None:
        async with listening(greeting) as here:
            for host in ("127.0.0.1", "localhost"):
                found = await _state(tmp_path, f"http://{host}:{here.port}/mcp")
                assert found["state"] == "connected", found

    asyncio.run(main())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_inside_is_not_followed(tmp_path: Path, status: int) -> None:
    """Another host gets neither the request nor the headers, whatever it is called."""

    async def main() -> None:
        async with listening(greeting) as inside:
            place = f"http://inner.example.net:{inside.port}/mcp"
            async with listening(lambda *_: (status, {"location": place}, b"")) as here:
                found = await _state(
                    tmp_path,
                    f"http://127.0.0.1:{here.port}/mcp",
                    hosts={"inner.example.net": ["127.0.0.1"]},
                    server={"headers": {"X-Key": "a-secret-of-the-user"}},
                )
                assert found["state"] == "failed"
                assert "inner.example.net" in found["problem"]
                assert here.connections > 0
            assert inside.connections == 0

    asyncio.run(main())


def test_a_redirect_at_the_same_place_is_followed(tmp_path: Path) -> None:
    """A slash that is missing keeps nobody out."""

    async def main() -> None:
        def answer(path: str, message: Any) -> Any:
            moved = 307, {"location": "/mcp/"}, b""
            return greeting(path, message) if path == "/mcp/" else moved

        async with listening(answer) as here:
            found = await _state(tmp_path, f"http://127.0.0.1:{here.port}/mcp")
            assert found["state"] == "connected", found

    asyncio.run(main())


@pytest.mark.parametrize("how", ["header", "metadata"])
def test_what_is_said_about_logins_cannot_lead_inside(tmp_path: Path, how: str) -> None:
    """Neither where the metadata lies nor who gives tokens is asked inside of the network."""

    async def main() -> None:
        # Another address than the one that the user has named.
        async with listening(at="127.0.0.2") as inside:
            inner = f"http://login.example.net:{inside.port}"

            def answer(path: str, message: Any) -> Any:
                if path.startswith("/.well-known/oauth-protected-resource"):
                    about = {
                        "resource": f"http://127.0.0.1:{here.port}/mcp",
                        "authorization_servers": [inner],
                    }
                    return 200, {}, json.dumps(about).encode()
                own = f"http://127.0.0.1:{here.port}/.well-known/oauth-protected-resource"
                where = f"{inner}/metadata" if how == "header" else own
                challenge = f'Bearer resource_metadata="{where}"'
                return 401, {"www-authenticate": challenge}, b""

            async with listening(answer) as here:
                found = await _state(
                    tmp_path,
                    f"http://127.0.0.1:{here.port}/mcp",
                    hosts={"login.example.net": ["127.0.0.2"]},
                    server={"oauth": {}},
                )
                assert found["state"] == "failed", found
                assert any(path == "/mcp" for path, _ in here.paths)
            assert inside.connections == 0

    asyncio.run(main())


def test_the_older_transport_is_judged_as_well(tmp_path: Path) -> None:
    """Server-sent events come from no inner address either."""

    async def main() -> None:
        async with listening() as inside:
            found = await _state(
                tmp_path,
                f"http://tools.example.net:{inside.port}/sse",
                hosts={"tools.example.net": ["127.0.0.1"]},
                server={"transport": "sse"},
            )
            assert found["state"] == "failed"
            assert inside.connections == 0

    asyncio.run(main())


def test_a_foreign_file_names_no_inner_address(tmp_path: Path) -> None:
    """Only the user's policy does; this machine is named by its own name."""
    table = {"a": {"url": "http://10.1.2.3/mcp"}, "b": {"url": "http://localhost:1/mcp"}}
    found = read_servers(table, where="t", foreign=True).configs
    assert (found["a"].net["allow"], found["b"].net["allow"]) == ([], ["localhost"])
    own = read_servers(table, where="t").configs
    assert own["a"].net["allow"] == ["10.1.2.3"]


def test_a_slip_in_the_network_settings_opens_nothing(tmp_path: Path) -> None:
    """It is told, and what the table would have allowed is not allowed."""
    servers = {"a": {"url": "https://tools.example.net/mcp"}}
    net = {"allow": ["tools.example.net"], "allowed": 1}
    found = read({"servers": servers, "net": net}, root=tmp_path)
    assert "allowed" in found.problems[0].text
    assert found.configs["a"].net["allow"] == []
