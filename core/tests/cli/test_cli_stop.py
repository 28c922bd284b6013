"""``stop``: what runs for a conversation ends, in whatever process."""

from __future__ import annotations

import json


def test_a_call_that_another_command_makes_is_cancelled(home, desk, asked):
    """Its outcome says who stopped it, and why."""
    reply = json.dumps(asked(("desk_hang", {}))).encode()
    with home.spawn("run", "-", "--conversation", "c") as running:
        running.stdin.write(reply)
        running.stdin.close()
        for line in running.stderr:
            if b"hanging" in line:
                break
        told = home.json("stop", "c", "--reason", "wrong file.")
        output = running.stdout.read()
        code = running.wait(60)
    assert told == {"calls": 0, "jobs": [], "left": [], "told": True}
    assert code == 19
    assert b"stopped the conversation: wrong file." in output
    assert b".." not in output
    assert [receipt["status"] for receipt in home.json("ledger", "show", "c")] == ["cancelled"]
    assert home.run("ledger", "verify").exit_code == 0


def test_a_conversation_that_nobody_knows_is_told(home, desk):
    """A slip of the pen stops nothing, and makes nothing."""
    assert home.run("stop", "c").exit_code == 4
    home.run("call", "desk.ping", "{}", "--conversation", "d")
    unknown = home.run("stop", "c")
    assert unknown.exit_code == 1
    assert "no conversation 'c'" in unknown.stderr
    assert [row["conversation"] for row in home.json("ledger", "list")] == ["d"]


def test_what_no_ledger_could_hold_is_wrong_use(home, desk):
    """Half a character."""
    assert home.run("stop", "c", "--reason", "\ud800").exit_code == 2
