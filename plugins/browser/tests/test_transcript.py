"""A task from end to end, as a user runs it: ``toolcrib run`` on a recorded transcript."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from pathlib import Path

import pytest

from toolcrib_net.testing import Site

from toolcrib_browser.openings import tag


sys.path.insert(0, str(Path(__file__).parent))

from shop import PASSWORD, open_shop


pytestmark = pytest.mark.peer

CONVERSATION = "shop"
TRANSCRIPT = Path(__file__).with_name("shop.jsonl")
POLICY = """\
packs = ["toolcrib-browser"]
rules = [
    "allow browser.navigate(host=127.0.0.2)",
    "allow browser.interact(host=127.0.0.2, browser-action=fill@*)",
    "allow browser.interact(host=127.0.0.2, browser-action=click@*)",
    "allow browser.inspect(host=127.0.0.2)",
    "deny  browser.*(host=*.evil.test)",
]

[pack.browser.net]
allow = ["127.0.0.2/32"]

[secrets.shop]
env = "SHOP_PASSWORD"
tools = ["browser.interact"]
destinations = ["127.0.0.2"]
"""


@pytest.fixture
def command(chromium, tmp_path):
    """Runs the command line with a policy, a state folder and the password of its own."""
    (tmp_path / "toolcrib.toml").write_text(POLICY)
    (tmp_path / "work").mkdir()
    environment = os.environ | {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "SHOP_PASSWORD": PASSWORD,
    }
    options = [
        *("--policy", str(tmp_path / "toolcrib.toml")),
        *("--workspace", str(tmp_path / "work")),
    ]

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "toolcrib", *words, *options],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def test_login_table_and_download_by_a_transcript_leave_one_receipt_each(command, tmp_path):
    """In order, and the password stands nowhere."""
    with Site("127.0.0.2") as site:
        open_shop(site)
        calls = TRANSCRIPT.read_text().replace("{port}", str(site.port))
        (tmp_path / "calls.jsonl").write_text(calls)
        path = str(tmp_path / "calls.jsonl")
        done = command("run", path, "--conversation", CONVERSATION, "--no-ask")
        again = command("run", path, "--conversation", CONVERSATION, "--no-ask")
    assert done.returncode == 0, done.stdout + done.stderr
    results = [b for line in done.stdout.splitlines() for b in json.loads(line)["content"]]
    assert [b["tool_use_id"] for b in results] == [f"toolu_{n}" for n in range(1, 7)]
    said = done.stdout
    assert "Orders of ada" in said
    assert "| 1003 | Tools | 19.90 |" in said
    assert "invoice-1002.csv" in said
    # Nothing runs twice: the same transcript gives the recorded results.
    assert again.returncode == 0
    assert site.hits.count("POST /login") == 1
    assert site.hits.count("GET /invoice/1002") == 1

    shown = command("ledger", "show", CONVERSATION, "--json")
    receipts = json.loads(shown.stdout)
    receipts = receipts["receipts"] if isinstance(receipts, dict) else receipts
    assert [r["tool_id"] for r in receipts] == [
        "browser.navigate",
        "browser.interact",
        "browser.interact",
        "browser.inspect",
        "browser.interact",
        "browser.inspect",
    ]
    assert [r["status"] for r in receipts] == ["ok"] * 6
    table = command("ledger", "show", CONVERSATION)
    assert table.stdout.count("browser.") >= 6
    assert command("ledger", "verify").returncode == 0
    for text in (done.stdout, done.stderr, shown.stdout, table.stdout, again.stdout):
        assert PASSWORD not in text
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file


def test_ids_of_the_transcript_are_those_of_a_first_opening(tmp_path):
    """Otherwise it could not be run at all."""
    expected = tag(tmp_path, CONVERSATION)
    assert f'"p1{expected}"' in TRANSCRIPT.read_text()
