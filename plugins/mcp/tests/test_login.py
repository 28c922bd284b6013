"""Logins at remote servers: a real flow through a browser, against a server of loopback."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from mcp_kit import answering
from toolcrib import Policy, Toolbox

from toolcrib_mcp import pack


BROWSER = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=10).status)
"""


class Issuer:
    """A server of tools and of logins, in one.

    Attributes:
        verifies: Whether each code was redeemed with the verifier of its challenge.
        tokens: What opens the tools now.
        spoils: Changes what the browser is sent back with.
    """

    def __init__(self) -> None:
        self.port = 0
        self.challenges: dict[str, str] = {}
        self.tokens: set[str] = set()
        self.refreshes: set[str] = set()
        self.granted: list[str] = []
        self.methods: list[str] = []
        self.spoils: Any = lambda query: query

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Issuer]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: Any, writer: Any) -> None:
        def answer(target: str, headers: Any, body: bytes) -> Any:
            status, more, value = self._answer(target, headers, body)
            return status, more, json.dumps(value).encode() if value is not None else b""

        await answering(reader, writer, answer)

    def _answer(self, target: str, headers: Any, body: bytes) -> Any:
        parts = urlsplit(target)
        if parts.path == "/mcp":
            return self._tools(headers, body)
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            about = {"resource": f"{self.base}/mcp", "authorization_servers": [self.base]}
            return 200, {}, about
        if parts.path == "/.well-known/oauth-authorization-server":
            return 200, {}, self._metadata()
        if parts.path == "/register":
            client = {**json.loads(body), "client_id": "client-1"}
            return 201, {}, client
        if parts.path == "/authorize":
            return self._authorize({k: v[0] for k, v in parse_qs(parts.query).items()})
        if parts.path == "/token":
            return self._token({k: v[0] for k, v in parse_qs(body.decode()).items()})
        return 404, {}, None

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def _authorize(self, query: dict[str, str]) -> Any:
        self.methods.append(query.get("code_challenge_method", ""))
        code = secrets.token_hex(8)
        self.challenges[code] = query["code_challenge"]
        back = self.spoils({"code": code, "state": query["state"]})
        return 302, {"location": f"{query['redirect_uri']}?{urlencode(back)}"}, None

    def _token(self, form: dict[str, str]) -> Any:
        self.granted.append(form["grant_type"])
        if form["grant_type"] == "refresh_token":
            known = form["refresh_token"] in self.refreshes
        else:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            known = self.challenges.pop(form["code"], None) == challenge
        if not known:
            return 400, {}, {"error": "invalid_grant"}
        token, refresh = secrets.token_hex(8), secrets.token_hex(8)
        self.tokens.add(token)
        self.refreshes.add(refresh)
        return (
            200,
            {},
            {
                "access_token": token,
                "refresh_token": refresh,
                "token_type": "Bearer",
                "expires_in": 3600,
            },
        )

    def _tools(self, headers: Any, body: bytes) -> Any:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            where = f"{self.base}/.well-known/oauth-protected-resource"
            return 401, {"www-authenticate": f'Bearer resource_metadata="{where}"'}, None
        message = json.loads(body) if body.startswith(b"{") else {}
        if "id" not in message:
            return (202 if message else 405), {}, None
        result: dict[str, Any] = {"tools": []}
        if message["method"] == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "issuer", "version": "1"},
            }
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _entry(issuer: Issuer) -> dict[str, Any]:
    return {
        "url": f"{issuer.base}/mcp",
        "oauth": {"callback_port": _free_port()},
        "revision": "legacy",
        "recover": 0,
    }


def _policy(folder: Path, entry: dict[str, Any]) -> Path:
    lines = [f"state = {json.dumps(str(folder / 'state'))}", "[pack.mcp.servers.far]"]
    for key, value in entry.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            text = "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items()) + " }"
        lines.append(f"{key} = {text}")
    file = folder / "toolcrib.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


async def _log_in(folder: Path, entry: dict[str, Any]) -> tuple[int, str]:
    """Run the command as a user does, with a browser that only follows where it is sent."""
    browser = folder / "browser.py"
    browser.write_text(BROWSER)
    command = [sys.executable, "-m", "toolcrib_mcp", "mcp", "login", "far", "--policy"]
    process = await asyncio.create_subprocess_exec(
        *command,
        str(_policy(folder, entry)),
        cwd=folder,
        env={**os.environ, "BROWSER": f"{sys.executable} {browser} %s"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode()


async def _state(folder: Path, entry: dict[str, Any]) -> dict[str, Any]:
    made = Policy(
        local=[pack],
        workspace=folder,
        state=folder / "state",
        settings={"mcp": {"servers": {"far": entry}}},
    )
    async with Toolbox(made) as box, box.session("test") as session:
        while True:
            found = (await session.call("mcp.servers")).result.content[0].value[0]
            if found["state"] != "connecting":
                return dict(found)
            await asyncio.sleep(0.02)


def _let_it_end(folder: Path) -> None:
    """Let time pass until the tokens that are kept have ended."""
    (file,) = (folder / "state").rglob("oauth/*.json")
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "ends": kept["ends"] - 3600}))


def test_a_login_through_a_browser_is_kept_and_used(tmp_path: Path) -> None:
    """PKCE is used and checked, the file is the user's alone, and sessions need no browser."""

    async def main() -> None:
        async with Issuer().open() as issuer:
            entry = _entry(issuer)
            before = await _state(tmp_path, entry)
            assert before["state"] == "failed"
            assert "toolcrib mcp login far" in before["problem"]
            code, said = await _log_in(tmp_path, entry)
            assert code == 0, said
            assert "logged in to far" in said
            assert issuer.methods == ["S256"]
            assert issuer.granted == ["authorization_code"]
            (kept,) = (tmp_path / "state").rglob("oauth/*.json")
            assert kept.stat().st_mode & 0o777 == 0o600
            assert kept.parent.stat().st_mode & 0o777 == 0o700
            assert not any(token in said for token in issuer.tokens)
            assert (await _state(tmp_path, entry))["state"] == "connected"
            assert issuer.granted == ["authorization_code"]

    asyncio.run(main())


def test_a_token_that_is_over_is_renewed_without_a_browser(tmp_path: Path) -> None:
    """The new ones are kept; a login that was withdrawn wants the user again."""

    async def main() -> None:
        async with Issuer().open() as issuer:
            entry = _entry(issuer)
            assert (await _log_in(tmp_path, entry))[0] == 0
            issuer.tokens.clear()
            _let_it_end(tmp_path)
            assert (await _state(tmp_path, entry))["state"] == "connected"
            assert issuer.granted == ["authorization_code", "refresh_token"]
            issuer.tokens.clear()
            issuer.refreshes.clear()
            _let_it_end(tmp_path)
            after = await _state(tmp_path, entry)
            assert after["state"] == "failed"
            assert "toolcrib mcp login far" in after["problem"]

    asyncio.run(main())


@pytest.mark.parametrize(
    "spoils",
    [
        lambda query: {**query, "state": "another"},
        lambda query: {**query, "code": "made-up"},
        lambda query: {"error": "access_denied", "state": query["state"]},
    ],
    ids=["state", "code", "denied"],
)
def test_an_answer_that_is_not_the_logins_own_gives_nothing(
    tmp_path: Path, spoils: Any
) -> None:
    """Another state, a made-up code, a refusal: told, and nothing is kept."""

    async def main() -> None:
        async with Issuer().open() as issuer:
            issuer.spoils = spoils
            code, said = await _log_in(tmp_path, _entry(issuer))
            assert code == 1, said
            assert "Traceback" not in said
            assert not issuer.tokens
            kept = list((tmp_path / "state").rglob("oauth/*.json"))
            assert all("tokens" not in json.loads(each.read_text()) for each in kept)

    asyncio.run(main())
