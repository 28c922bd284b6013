"""The pack's manifest and settings, and its commands."""

from __future__ import annotations

import json
import sys
import tomllib

from pathlib import Path
from typing import Any

import pytest

from click.testing import CliRunner
from mcp_kit import PEER
from toolcrib.testing import check_pack

from toolcrib_mcp import pack
from toolcrib_mcp.commands import mcp
from toolcrib_mcp.settings import read, read_file, read_servers


MANIFEST = Path(__file__).parents[1] / "src/toolcrib_mcp/toolcrib.json"


def test_the_contract_holds() -> None:
    """The manifest is current, and every helper is offered in every dialect."""
    assert check_pack(pack, manifest=MANIFEST) == []


def test_variables_come_from_the_host_only_where_they_are_named() -> None:
    """References are replaced, defaults hold, and what is missing is said."""
    table = {
        "a": {"command": "x", "env": {"K": "${TOKEN}", "D": "${NONE:-plain}"}},
        "b": {"command": "x", "args": ["${NONE}"]},
        "c": {"url": "https://h/${TOKEN}"},
    }
    found = read_servers(table, where="test", lookup={"TOKEN": "t", "OTHER": "o"})
    assert dict(found.configs["a"].env) == {"K": "t", "D": "plain"}
    assert found.configs["c"].url == "https://h/t"
    assert "NONE" in found.problems[0].text
    assert "t" not in repr(found.configs["a"]).partition("env=")[2]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"command": "x", "url": "https://x"},
        {"command": ""},
        {"command": "x", "args": "y"},
        {"command": "x", "env": {"A": ["b"]}},
        {"command": "x", "timeout": 0},
        {"command": "x", "timeout": True},
        {"command": "x", "concurrency": 1.5},
        {"command": "x", "effects": ["fly"]},
        {"command": "x", "transport": "http"},
        {"url": "ftp://x"},
        {"url": "https://user:pw@x"},
        {"url": "http://far.example", "headers": {"Authorization": "Bearer x"}},
        {"url": "https://x", "headers": {"Authorization": "b"}, "oauth": {}},
        "x",
    ],
)
def test_a_wrong_entry_is_refused_with_its_reason(entry: Any) -> None:
    """Nothing is guessed: each slip is one problem that names the server."""
    found = read_servers({"s": entry}, where="test")
    assert not found.configs
    assert [problem.server for problem in found.problems] == ["s"]


def test_another_clients_file_cannot_give_trust(tmp_path: Path) -> None:
    """What others allowed, trusted or narrowed is not this user's word."""
    entry = {
        "command": "x",
        "trusted": True,
        "effects": [],
        "sampling": True,
        "autoApprove": ["all"],
        "alwaysAllow": ["t"],
        "timeout": 60_000,
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"s": entry}}))
    config = read_file(file).configs["s"]
    assert (config.trusted, config.effects, config.sampling) == (False, None, False)
    assert config.timeout == 60


def test_files_and_table_are_one_list_and_the_table_wins(tmp_path: Path) -> None:
    """A file that cannot be read costs only its own servers."""
    (tmp_path / "good.json").write_text(
        '{"servers": {"a": {"command": "x"}, "b": {"command": "x"}}}'
    )
    (tmp_path / "bad.json").write_text("{")
    settings = {"files": ["good.json", "bad.json"], "servers": {"b": {"command": "y"}}}
    found = read(settings, root=tmp_path)
    assert {name: c.command for name, c in found.configs.items()} == {"a": "x", "b": "y"}
    assert len(found.problems) == 1


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy file of the user's."""
    file = tmp_path / "toolcrib.toml"
    state = json.dumps(str(tmp_path / "state"))
    file.write_text(f'packs = ["toolcrib-mcp"]  # mine\nstate = {state}\nmode = "ask"\n')
    return file


def invoke(*words: str, policy: Path) -> Any:
    return CliRunner().invoke(mcp, [words[0], "--policy", str(policy), *words[1:]])


def test_a_server_is_added_listed_and_removed(policy: Path) -> None:
    """The file changes by one table and back; values of variables are never shown."""
    before = policy.read_text()
    words = (
        "add",
        "--env",
        "TOKEN=s3cret-value",
        "--env",
        "HOME",
        "one",
        "--",
        "prog",
        "-x",
        'q"',
    )
    done = invoke(*words, policy=policy)
    assert done.exit_code == 0, done.output
    table = tomllib.loads(policy.read_text())["pack"]["mcp"]["servers"]["one"]
    assert table == {
        "command": "prog",
        "args": ["-x", 'q"'],
        "env": {"TOKEN": "s3cret-value"},
        "inherit": ["HOME"],
    }
    assert policy.read_text().startswith(before)
    again = invoke(*words, policy=policy)
    assert again.exit_code != 0
    assert "already" in again.output
    listed = invoke("list", policy=policy)
    assert "TOKEN" in listed.output
    assert "s3cret-value" not in listed.output + done.output
    assert json.loads(invoke("list", "--json", policy=policy).output)["problems"] == []
    assert invoke("remove", "one", policy=policy).exit_code == 0
    assert policy.read_text().rstrip() == before.rstrip()


def test_import_shows_what_a_server_may_do_before_it_is_taken(
    policy: Path, tmp_path: Path
) -> None:
    """Nothing is taken without a yes; references to variables stay references."""
    file = tmp_path / "theirs.json"
    env = {"TOKEN": "${SOME_TOKEN:-x}"}
    servers = {
        "local": {"command": "prog", "args": ["a"], "env": env, "autoApprove": ["*"]},
        "far": {"type": "http", "url": "https://example.com/mcp"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    before = policy.read_text()
    shown = invoke("import", str(file), policy=policy)
    assert "run as you" in shown.output
    assert policy.read_text() == before
    done = invoke("import", str(file), "--yes", policy=policy)
    assert done.exit_code == 0, done.output
    tables = tomllib.loads(policy.read_text())["pack"]["mcp"]["servers"]
    assert tables["local"] == {"command": "prog", "args": ["a"], "env": env}
    assert tables["far"] == {"url": "https://example.com/mcp"}


def test_inspect_starts_a_server_and_shows_what_its_tools_may_do(
    policy: Path, tmp_path: Path
) -> None:
    """Effects are ours; hints are the server's words, and marked so."""
    plan = tmp_path / "plan.json"
    hints = {"readOnlyHint": True}
    listed = [
        {"name": "t", "inputSchema": {"type": "object"}, "annotations": hints},
        {"name": "bad"},
    ]
    plan.write_text(json.dumps({"tools": listed, "greeting": {"instructions": "use me"}}))
    words = ("add", "demo", "--", sys.executable, str(PEER), str(plan), str(tmp_path / "log"))
    assert invoke(*words, policy=policy).exit_code == 0
    done = invoke("inspect", "demo", "--json", policy=policy)
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert value["tools"][0]["hints"] == "readOnlyHint=True"
    assert "process" in value["tools"][0]["effects"]
    assert value["withheld"] == ["bad: its input schema is no JSON Schema object"]
    assert value["instructions"] == "use me"


def test_a_program_that_is_not_there_yet_is_said(policy: Path) -> None:
    """It may be installed later, so the server is added all the same."""
    done = invoke("add", "late", "--", "no-such-program", policy=policy)
    assert done.exit_code == 0
    assert "no program 'no-such-program' here yet" in done.stderr


def test_a_header_without_a_value_is_refused(policy: Path) -> None:
    """It would be left out without a word otherwise."""
    words = ("add", "far", "--url", "https://far.example/mcp", "--header", "Authorization")
    done = invoke(*words, policy=policy)
    assert done.exit_code == 2
    assert "NAME=VALUE" in done.output
    assert "far" not in policy.read_text()


def test_a_login_is_kept_for_the_user_alone(tmp_path: Path) -> None:
    """Tokens lie in a file of mode 0600 in a folder of mode 0700; a loose one is not read."""
    import asyncio

    from mcp.shared.auth import OAuthToken

    from toolcrib_mcp.oauth import Stored, forget
    from toolcrib_mcp.settings import ServerConfig

    config = ServerConfig(name="s", url="https://example.com/mcp", transport="http", oauth={})
    stored = Stored(config, tmp_path)
    token = OAuthToken(access_token="abc", token_type="Bearer")
    asyncio.run(stored.set_tokens(token))
    assert stored.path.stat().st_mode & 0o777 == 0o600
    assert stored.path.parent.stat().st_mode & 0o777 == 0o700
    assert asyncio.run(stored.get_tokens()) == token
    stored.path.chmod(0o644)
    assert asyncio.run(stored.get_tokens()) is None
    assert forget(config, tmp_path)
    assert not forget(config, tmp_path)
