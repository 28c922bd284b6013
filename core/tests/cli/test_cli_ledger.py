"""``ledger``: receipts are read, verified, exported; and what every command shares."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import time

import pytest

from toolcrib.cli.main import COMMANDS, cli
from toolcrib.record import check_export


@pytest.fixture
def told(home, desk, asked):
    """A conversation of two calls, one of them refused."""
    reply = asked(("desk_ping", {}), ("desk_note", {"path": "n", "text": "x"}))
    home.run("run", "-", "--conversation", "c", "--no-ask", given=json.dumps(reply))


def test_there_may_be_no_ledger_yet(home):
    """That is said, with its own code."""
    result = home.run("ledger", "list")
    assert result.exit_code == 4
    assert "no ledger yet" in result.stderr


def test_receipts_are_listed_by_conversation(home, told):
    """As a table, and as JSON."""
    name, count, last = home.run("ledger", "list").stdout.rstrip("\n").split("\t")
    assert (name, count) == ("c", "1")
    (listed,) = home.json("ledger", "list")
    assert dt.datetime.fromisoformat(last).timestamp() == int(listed["last"])
    (row,) = home.run("ledger", "show", "c").stdout.splitlines()
    assert row.split("\t")[2:4] == ["desk.ping", "ok"]
    assert home.run("ledger", "show", "missing").exit_code == 1


def test_a_calls_whole_story_is_told_by_its_id(home, told):
    """Every entry of its chain."""
    (receipt,) = home.json("ledger", "show", "c")
    story = json.loads(home.run("ledger", "show", receipt["call_id"]).stdout)
    assert [entry["kind"] for entry in story] == ["intent", "outcome"]
    assert story[1]["text"]["outcome"]["status"] == "ok"
    assert home.run("ledger", "show", "call_missing").exit_code == 1


def test_what_was_mended_is_shown(home, desk, asked):
    """On the receipt in full, in the table by its rule, and beforehand by explain."""
    reply = asked(("functions.desk_ping", {"times": "2"}))
    home.run("run", "-", "--conversation", "c", given=json.dumps(reply))
    (receipt,) = home.json("ledger", "show", "c")
    assert [text.split(" ")[0] for text in receipt["repairs"]] == ["R10", "R4"]
    (row,) = home.run("ledger", "show", "c").stdout.splitlines()
    assert row.split("\t")[-1] == "R10 R4"
    explained = home.json("explain", "desk.ping", '{"times": "2"}')
    assert [text.split(" ")[0] for text in explained["repairs"]] == ["R4"]
    assert "R4 /times:" in home.run("explain", "desk.ping", '{"times": "2"}').stdout


def test_open_questions_are_listed(home, told):
    """With what they are about."""
    (question,) = home.json("ledger", "questions")
    assert (question["tool_id"], question["pending"]) == ("desk.note", True)
    assert home.json("ledger", "questions", "other") == []


def test_that_no_approval_stands_is_said(home, told):
    """On stderr, so that a program that reads the table gets no row."""
    done = home.run("ledger", "grants")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "No approval stands.\n"
    assert home.json("ledger", "grants") == []


def test_the_chain_is_verified_and_exported(home, told):
    """The export can be verified without the ledger."""
    assert home.json("ledger", "verify")["faults"] == []
    assert list(check_export(home.run("ledger", "export").stdout.splitlines())) == []
    events = [json.loads(line) for line in home.run("ledger", "tail").stdout.splitlines()]
    assert {"intent", "outcome", "question"} <= {event["kind"] for event in events}


def test_what_is_old_is_pruned_and_the_chain_still_holds(home, told, monkeypatch):
    """A dry run says the same and keeps all; young receipts stay."""
    assert home.json("ledger", "prune", "--older-than", "1h")["entries"] == 0
    later = time.time() + 40 * 86_400
    monkeypatch.setattr("time.time", lambda: later)
    before = home.run("ledger", "export").stdout
    tried = home.json("ledger", "prune", "--older-than", "30d", "--dry-run")
    assert home.run("ledger", "export").stdout == before
    gone = home.json("ledger", "prune", "--older-than", "30d")
    assert gone == tried | {"dry_run": False, "compacted": True}
    assert gone["contents"] == 1
    assert home.json("ledger", "verify")["faults"] == []
    assert list(check_export(home.run("ledger", "export").stdout.splitlines())) == []
    (question,) = home.json("ledger", "questions")
    assert question["pending"]


def test_pruning_names_conversation_and_age(home, told):
    """An unknown conversation is exit code 1; an age that is none is wrong use."""
    assert home.run("ledger", "prune", "c", "--older-than", "1d").exit_code == 0
    assert home.run("ledger", "prune", "missing", "--older-than", "1d").exit_code == 1
    for age in ("30", "d", "-1d", "1.5d", "5y"):
        result = home.run("ledger", "prune", "--older-than", age)
        assert (result.exit_code, result.stdout) == (2, "")


def test_a_conversation_is_forgotten_whole(home, told):
    """A dry run keeps it; its question goes too."""
    assert home.run("ledger", "forget", "c", "--dry-run").stdout.startswith("Would remove of c")
    assert [one["conversation"] for one in home.json("ledger", "list")] == ["c"]
    assert home.json("ledger", "forget", "c")["contents"] == 1
    assert home.json("ledger", "list") == home.json("ledger", "questions") == []
    assert home.json("ledger", "verify")["faults"] == []
    assert home.run("ledger", "forget", "c").exit_code == 1


@pytest.fixture
def long(home, desk, asked):
    """A conversation whose results are kept as artifacts, and another one."""
    home.allow('packs = ["toolcrib-desk"]\nresult_budget = 300\n')
    for name, count in (("c", 2), ("d", 1)):
        calls = [("desk_ping", {"text": f"{name}{n}" * 400}) for n in range(count)]
        home.run("run", "-", "--conversation", name, given=json.dumps(asked(*calls, id_=name)))


def held(home):
    folders = home.state / "artifacts"
    return len([path for path in folders.rglob("*") if len(path.name) == 64 and path.is_file()])


def test_forgetting_a_conversation_removes_its_artifacts(home, long):
    """And nobody else's; a dry run counts them."""
    assert held(home) == 3
    assert home.json("ledger", "forget", "c", "--dry-run")["artifacts"] == 2
    assert held(home) == 3
    assert home.json("ledger", "forget", "c")["artifacts"] == 2
    assert held(home) == 1


def test_pruning_removes_artifacts_that_nobody_read_since(home, long, monkeypatch):
    """Of one conversation, or of all; a dry run counts them."""
    assert home.json("ledger", "prune", "--older-than", "1d")["artifacts"] == 0
    later = time.time() + 40 * 86_400
    monkeypatch.setattr("time.time", lambda: later)
    assert home.json("ledger", "prune", "--older-than", "30d", "--dry-run")["artifacts"] == 3
    assert held(home) == 3
    assert home.json("ledger", "prune", "d", "--older-than", "30d")["artifacts"] == 1
    assert home.json("ledger", "prune", "--older-than", "30d")["artifacts"] == 2
    assert held(home) == 0
    assert home.json("ledger", "verify")["faults"] == []


def test_revoking_what_does_not_stand_is_wrong(home, told):
    """Exit code 1."""
    assert home.run("ledger", "revoke", "g_missing").exit_code == 1


def commands(group=cli, names=()):
    """Give every command, with its path."""
    for name in COMMANDS if group is cli else group.commands:
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*names, name))
        else:
            yield (*names, name), command


def test_every_command_has_help_and_json(home):
    """Or its output is JSON anyway."""
    always = {("run",), ("ledger", "export"), ("ledger", "tail")}
    found = dict(commands())
    assert len(found) > 20
    for names, command in found.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert names in always or "--json" in options, names
        assert command.help, names
        assert home.run(*names, "--help").exit_code == 0


def test_wrong_use_is_said_on_stderr(home):
    """An unknown command or option is exit code 2, and standard output stays empty."""
    for command in (["nothing"], ["packs", "--nothing"], ["call"], ["ledger", "nothing"]):
        result = home.run(*command)
        assert (result.exit_code, result.stdout) == (2, "")


def test_a_fault_of_its_own_is_told_whole(home, desk, monkeypatch):
    """Any character of it; the exit code is its own."""

    def fail(**_):
        raise ZeroDivisionError("\u65e5 \ud800")

    monkeypatch.setattr("toolcrib.cli.tools.load_policy", fail)
    result = home.run("tools")
    assert (result.exit_code, result.stdout) == (70, "")
    assert "ZeroDivisionError" in result.stderr


def test_help_loads_nothing_heavy(home):
    """Nor does listing packs: no event loop, no schema engine, no rich."""
    script = (
        "import sys\n"
        "from toolcrib.cli.main import cli\n"
        "try:\n"
        "    cli.main(sys.argv[1:])\n"
        "except SystemExit as left:\n"
        "    assert left.code == 0\n"
        "heavy = {'asyncio', 'rich', 'fastjsonschema', 'cattrs', 'sqlite3', 'pluggy'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    for command in ("--help", "packs", "tools"):
        done = subprocess.run(
            [sys.executable, "-c", script, command],
            env=home.environment,
            cwd=home.workspace,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr.splitlines()[-1] == "[]", command
