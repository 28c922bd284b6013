"""What the command line says to people who are new, or who slipped."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys

import pytest

from toolcrib.cli.advice import DISTRIBUTIONS


posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_tool_of_a_pack_that_is_not_enabled_names_the_command(home, site, desk):
    """The one to type, also for a policy that was named."""
    site.install("toolcrib-shed", (desk / "__init__.py").read_text().replace("desk", "shed"))
    called = home.run("call", "shed.ping")
    assert called.exit_code == 11
    assert called.stderr.splitlines()[-1] == "run: toolcrib packs enable toolcrib-shed"
    explained = home.run("explain", "shed.ping")
    assert explained.stderr.splitlines()[-1] == "run: toolcrib packs enable toolcrib-shed"
    other = home.workspace / "other.toml"
    other.write_text("packs = []\n")
    named = home.run("call", "shed.ping", "--policy", other)
    assert named.stderr.endswith(f"run: toolcrib packs enable toolcrib-shed --policy {other}\n")
    slip = home.run("call", "shde.ping")
    assert "the pack 'shed' is installed and not enabled" in slip.stderr


def test_tool_of_a_pack_that_is_not_installed_names_both_commands(home, desk, monkeypatch):
    """For packs that the project knows; of others nobody can say who has them."""
    assert DISTRIBUTIONS["web"] == "toolcrib-web"
    monkeypatch.setitem(DISTRIBUTIONS, "shed", "toolcrib-shed")
    known = home.run("call", "shed.ping")
    assert known.stderr.splitlines()[1:] == [
        "the pack 'shed' is not installed; run: pip install toolcrib-shed",
        "then: toolcrib packs enable toolcrib-shed",
    ]
    assert len(home.run("call", "unheard.of").stderr.splitlines()) == 1
    assert len(home.run("call", "desk.pong").stderr.splitlines()) == 1


def test_slip_in_the_name_of_a_tool_is_told_ids(home, desk):
    """Whoever types names on the wire is told those."""
    home.allow('packs = ["toolcrib-desk"]\n')
    assert "Did you mean desk.ping?" in home.run("call", "ping").stderr
    assert "Did you mean desk.ping or desk." in home.run("call", "desk.pnig").stderr
    assert "Did you mean desk.ping or desk." in home.run("call", "desk.pnig").stderr


def test_arguments_that_are_no_json_are_told_their_form(home, desk):
    """With the command that says what the tool takes."""
    called = home.run("call", "desk.ping", "text=hello")
    assert called.exit_code == 10
    assert called.stderr.endswith("what desk.ping takes: toolcrib explain desk.ping\n")


def test_enabling_names_the_distribution_of_what_was_typed(home, desk, monkeypatch):
    """A stranger's package that has the name of a pack is never what is told to install."""
    assert "its distribution is toolcrib-desk" in home.run("packs", "enable", "desk").stderr
    tool = home.run("packs", "enable", "desk.ping").stderr
    assert "a tool of the pack desk; its distribution is toolcrib-desk" in tool
    monkeypatch.setitem(DISTRIBUTIONS, "shed", "toolcrib-shed")
    shed = home.run("packs", "enable", "shed").stderr
    assert shed.endswith("first: pip install toolcrib-shed\n")


def test_pack_that_is_enabled_and_broken_is_said(home):
    """Why there is no such tool, and what mends it."""
    home.allow('packs = ["toolcrib-nix"]\n')
    called = home.run("call", "nix.build")
    assert "[pack.missing]" in called.stderr
    assert called.stderr.splitlines()[-2] == "pip install toolcrib-nix"


def test_whoever_types_an_id_is_told_of_the_id(home, desk, asked):
    """Not of the name that a provider knows the tool by."""
    home.allow('packs = ["toolcrib-desk"]\n')
    called = home.run("call", "desk.ping", '{"txt": 1}')
    assert "`desk.ping`" in called.stderr
    assert "desk_ping" not in called.stderr
    for words in (["explain"], ["rules", "explain"]):
        explained = home.run(*words, "desk.ping", '{"txt": 1}').stdout
        assert "  because Invalid arguments for `desk.ping`. Nothing ran.\n    1. " in explained
        assert "desk_ping" not in explained


def test_misspelt_command_is_told_the_closest(home):
    """At the top as in the groups below it."""
    slip = home.run("pcks")
    assert slip.exit_code == 2
    assert "No such command 'pcks'. Did you mean 'packs'?" in slip.stderr
    assert "Did you mean" not in home.run("zzz").stderr
    assert "To call a tool: toolcrib call desk.ping\n" in home.run("desk.ping").stderr
    assert "Did you mean 'list'?" in home.run("ledger", "lst").stderr


def test_run_of_what_cannot_be_read_points_at_no_receipts(home, desk, asked):
    """There are none; of what was looked at there are."""
    assert "receipts" not in home.run("run", "-", given="{}").stderr
    reply = json.dumps(asked(("desk_ping", {})))
    assert "receipts: toolcrib ledger show run-" in home.run("run", "-", given=reply).stderr


@posix
def test_call_that_is_interrupted_says_one_line_and_keeps_its_receipt(home, desk):
    """No traceback; where to read what happened."""
    with home.spawn("call", "desk.hang", "--mode", "trust", "--conversation", "c") as process:
        while '"intent"' not in home.run("ledger", "tail", "c").stdout:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines() == [
        b"toolcrib: interrupted; receipts: toolcrib ledger show c",
    ]
    assert [receipt["status"] for receipt in home.json("ledger", "show", "c")] == ["cancelled"]


def test_receipts_of_the_last_conversation_are_shown_without_a_name(home, desk):
    """And of none, what makes one."""
    assert home.run("ledger", "show").exit_code == 4
    home.run("call", "desk.ping", "--conversation", "z")
    home.run("call", "desk.ping", "--conversation", "a")
    shown = home.run("ledger", "show")
    assert shown.stderr == "a; the others: toolcrib ledger list\n"
    assert "desk.ping\tok" in shown.stdout
    assert home.json("ledger", "show") == home.json("ledger", "show", "a")


@pytest.mark.parametrize(
    ("version", "first"),
    [(99, "pip install --upgrade toolcrib"), (-1, "mv {ledger} {ledger}.old, and the next ")],
)
def test_ledger_of_another_toolcrib_is_told_what_to_do(home, desk, version, first):
    """A newer format and one that nobody can bring up to date."""
    home.run("call", "desk.ping")
    file = home.state / "ledger.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    signs = home.json("doctor", code=1)["signs"]
    (sign,) = [sign for sign in signs if sign["area"] == "ledger"]
    assert f"format {version}" in sign["text"]
    assert sign["mend"][0].startswith(first.format(ledger=file))
    assert sign["mend"][1] == f'or, in {home.policy}: ledger = "ledger-2.sqlite"'
    assert sign["text"] not in sign["mend"]


def test_doctor_names_misspelt_packs_with_their_lines(home, desk):
    """In the tables of owners and of settings."""
    lines = ['packs = ["toolcrib-desk"]', "[owners]", 'dekc = "x"', 'desk = "toolcrib-dsk"']
    lines += ["[pack.dsk]", "a = 1"]
    home.allow("\n".join(lines))
    signs = home.json("doctor", code=1)["signs"]
    found = [(s["state"], s["text"]) for s in signs if s["code"] == "policy.dangling"]
    texts = [
        "3: owners.dekc: 'dekc' is no pack that is installed; did you mean 'desk'?",
        (
            "4: owners.desk: 'toolcrib-dsk' is no distribution that packs = [...] enables; did "
            "you mean 'toolcrib-desk'?"
        ),
        (
            "5: pack.dsk: 'dsk' is no pack that is installed: nobody reads its settings; "
            "did you mean 'desk'?"
        ),
    ]
    assert [text for _, text in found] == [f"{home.policy}:{text}" for text in texts]
    assert [state for state, _ in found] == ["warn", "warn", "fail"]


def test_refusal_of_a_pack_is_said_once(home, site, desk):
    """Not also by a logger that nobody set up."""
    assert home.run("lock", "write").exit_code == 0
    (desk / "more.py").write_text("")
    code, _, err = home.finish("call", "desk.ping")
    assert code == 14
    assert err.count(b"[lock.") + err.count(b"(lock.") == 1
    assert b"withheld" in err
    assert err.count(b"withheld") == 1
