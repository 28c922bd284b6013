"""``toolcrib run``: a model's calls in, one result for each out."""

from __future__ import annotations

import json
import os
import signal

import pytest

from toolcrib.cli.exits import MEANINGS
from toolcrib.vocabulary import Status


posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_call_gets_one_result_in_order(home, desk, asked):
    """A chat completion is answered with one tool message for each call."""
    file = home.workspace / "calls.json"
    reply = asked(("desk_ping", {"text": "a"}), ("nope", {}), ("desk_ping", {"text": 3}))
    file.write_text(json.dumps(reply, indent=2))
    result = home.run("run", file)
    messages = lines(result)
    assert [m["tool_call_id"] for m in messages] == [
        "chatcmpl-1-0",
        "chatcmpl-1-1",
        "chatcmpl-1-2",
    ]
    assert messages[0]["content"] == "a"
    assert "unknown_tool" in messages[1]["content"]
    assert "arguments.invalid" in messages[2]["content"]
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "desk_ping", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "pong"},
        ),
        (
            {
                "object": "response",
                "output": [
                    {"type": "reasoning", "id": "r"},
                    {
                        "type": "function_call",
                        "call_id": "c",
                        "name": "desk_ping",
                        "arguments": "{}",
                    },
                ],
            },
            {"type": "function_call_output", "call_id": "c", "output": "pong"},
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c", "name": "desk_ping", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "pong"}],
            },
        ),
        (
            {
                "jsonrpc": "2.0",
                "id": 7,
                "method": "tools/call",
                "params": {"name": "desk_ping", "arguments": {}},
            },
            {
                "jsonrpc": "2.0",
                "id": 7,
                "result": {"content": [{"type": "text", "text": "pong"}]},
            },
        ),
    ],
    ids=["openai", "openai-responses", "anthropic", "mcp"],
)
def test_the_answer_is_in_the_dialect_of_the_calls(home, desk, reply, answer):
    """The form is told from the shape, and named with --dialect it is the same."""
    result = home.run("run", "-", given=json.dumps(reply))
    assert result.exit_code == 0, result.output
    (message,) = lines(result)
    assert contains(message, answer), message


def contains(value, wanted):
    if isinstance(wanted, dict):
        return all(k in value and contains(value[k], v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(contains, value, wanted))
    if wanted == "pong" and isinstance(value, list):
        return value == [{"type": "text", "text": "pong"}]
    return value == wanted


def test_a_broken_line_is_answered_alone(home, desk, asked):
    """Lines before and after it run; it has an answer of its own with its number."""
    text = b"\n".join(
        [
            json.dumps(asked(("desk_ping", {}), id_="one")).encode(),
            b"{broken",
            b"\xff\xfe",
            b'{"what": "is this"}',
            b"",
            json.dumps(asked(("desk_ping", {}), id_="two")).encode(),
        ]
    )
    result = home.run("run", "-", given=text)
    found = lines(result)
    assert [m.get("tool_call_id", m.get("line")) for m in found] == ["one-0", 2, 3, 4, "two-0"]
    assert all(m["error"]["code"] == "call.malformed" for m in found[1:4])
    assert result.exit_code == 10


def test_a_broken_first_line_is_answered_alone(home, desk, asked):
    """It is not taken for the beginning of one large value."""
    text = "{broken\n" + json.dumps(asked(("desk_ping", {})))
    found = lines(home.run("run", "-", given=text))
    assert [m.get("tool_call_id", m.get("line")) for m in found] == [1, "chatcmpl-1-0"]


def test_an_array_of_responses_is_as_many_replies(home, desk, asked):
    """A transcript may be one JSON array."""
    replies = [asked(("desk_ping", {}), id_=name) for name in ("a", "b")]
    found = lines(home.run("run", "-", given=json.dumps(replies, indent=1)))
    assert [m["tool_call_id"] for m in found] == ["a-0", "b-0"]


def test_a_reply_without_calls_is_nothing_wrong(home, desk):
    """Models also just talk."""
    reply = {"role": "assistant", "content": "Hello."}
    result = home.run("run", "-", given=json.dumps(reply))
    assert (result.exit_code, result.stdout) == (0, "")


def test_nothing_at_all_is_wrong_use(home, desk):
    """An empty pipe means that what should have filled it failed."""
    assert home.run("run", "-", given="").exit_code == 2
    assert home.run("run", "missing.json").exit_code == 2


def test_an_unknown_dialect_is_refused_before_anything_runs(home, desk, asked):
    """The answer names those that are spoken."""
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    result = home.run("run", "-", "--dialect", "klingon", "--mode", "trust", given=reply)
    assert result.exit_code == 2
    assert "anthropic" in result.stderr
    assert not (home.workspace / "n").exists()


def test_a_conversation_is_not_run_twice(home, desk, asked):
    """The second run gives the recorded outcomes, and says so."""
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    command = ("run", "-", "--conversation", "c", "--mode", "edits")
    first = home.run(*command, given=reply)
    assert first.exit_code == 0, first.output
    second = home.run(*command, given=reply)
    assert second.exit_code == 0
    assert "not run again" in second.stderr
    assert (home.workspace / "n").read_text() == "x\n"


def test_without_a_conversation_each_run_is_new(home, desk, asked):
    """The same calls run again."""
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    for _ in range(2):
        assert home.run("run", "-", "--mode", "edits", given=reply).exit_code == 0
    assert (home.workspace / "n").read_text() == "x\nx\n"


def test_equal_lines_of_one_transcript_are_two_calls(home, desk):
    """Calls without a provider's id are told apart by where they stand; a rerun is known."""
    line = json.dumps({"name": "desk_note", "arguments": {"path": "n", "text": "x"}})
    text = f"{line}\n{line}\n"
    command = ("run", "-", "--conversation", "c", "--mode", "edits")
    assert home.run(*command, given=text).exit_code == 0
    assert home.run(*command, given=text).exit_code == 0
    assert (home.workspace / "n").read_text() == "x\nx\n"


def test_equal_replies_with_a_providers_ids_are_one_call(home, desk, asked):
    """A line that was sent twice by mistake runs once."""
    line = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    assert home.run("run", "-", "--mode", "edits", given=f"{line}\n{line}").exit_code == 0
    assert (home.workspace / "n").read_text() == "x\n"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("desk_ping", {}), 0),
        (("desk_ping", {"text": 1}), 10),
        (("desk_ping", "{"), 10),
        (("desk_nothing", {}), 11),
        (("desk_note", {"path": "/etc/x", "text": ""}), 13),
        (("desk_end", {"how": "not_found"}), 16),
        (("desk_end", {"how": "failed"}), 17),
        (("desk_end", {"how": "crash"}), 17),
        (("desk_late", {}), 18),
        (("desk_end", {"how": "uncertain"}), 20),
    ],
)
def test_the_exit_code_follows_the_outcome(home, desk, asked, call, code):
    """Each way to end has its own code, the same for run and call, with and without JSON."""
    name, given = call
    text = given if isinstance(given, str) else json.dumps(given)
    assert home.run("run", "-", "--no-ask", given=json.dumps(asked(call))).exit_code == code
    tool = name.replace("_", ".", 1)
    plain = home.run("call", tool, text, "--no-ask")
    assert plain.exit_code == code, plain.output
    told = home.run("call", tool, text, "--no-ask", "--json")
    assert told.exit_code == code
    assert (json.loads(told.stdout)["status"] == "ok") == (code == 0)


def test_a_denied_call_has_its_own_code(home, desk, asked):
    """So has one that a rule refuses."""
    home.allow('packs = ["toolcrib-desk"]\nrules = ["deny desk.ping"]\n')
    assert home.run("run", "-", given=json.dumps(asked(("desk_ping", {})))).exit_code == 12


def test_the_help_shows_every_exit_code(home):
    """The table is in one place, and that is where people look."""
    text = home.run("--help").stdout
    assert {str(status) for status in Status} <= MEANINGS.keys()
    for code, meaning in MEANINGS.values():
        assert f"{code:>3}  {meaning}" in text


def test_receipts_go_to_the_users_ledger(home, desk, asked):
    """It is made in the state folder, for its owner alone."""
    home.run("run", "-", "--conversation", "c", given=json.dumps(asked(("desk_ping", {}))))
    ledger = home.state / "ledger.sqlite"
    assert ledger.stat().st_mode & 0o777 == 0o600
    (receipt,) = home.json("ledger", "show", "c")
    assert (receipt["tool_id"], receipt["status"]) == ("desk.ping", "ok")


def test_an_unusable_ledger_stops_everything(home, desk, asked):
    """Nothing runs that cannot be written down."""
    home.state.mkdir(mode=0o700, parents=True)
    (home.state / "ledger.sqlite").write_text("this is no ledger")
    (home.state / "ledger.sqlite").chmod(0o600)
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    result = home.run("run", "-", "--mode", "trust", given=reply)
    assert result.exit_code == 4
    assert "move it aside" in result.stderr
    assert not (home.workspace / "n").exists()


@posix
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_stopped_leaves_one_result_for_each_call(home, desk, asked, sent, code):
    """What ran keeps its result, what was stopped or never begun reads cancelled."""
    file = home.workspace / "calls.jsonl"
    replies = [
        asked(("desk_ping", {}), id_="ran"),
        asked(("desk_hang", {}), ("nope", {}), id_="stopped"),
        asked(("desk_note", {"path": "n", "text": "x"}), id_="unstarted"),
    ]
    file.write_text("\n".join(map(json.dumps, replies)))
    with home.spawn("run", file, "--mode", "trust", "--conversation", "c") as process:
        for line in process.stderr:
            if b"hanging" in line:
                break
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    how = {130: "interrupted", 143: "terminated"}[code]
    said = f"toolcrib: {how}; receipts: toolcrib ledger show c"
    assert err.decode().splitlines()[-1] == said
    found = [json.loads(line) for line in out.splitlines()]
    ids = ["ran-0", "stopped-0", "stopped-1", "unstarted-0"]
    assert [m["tool_call_id"] for m in found] == ids
    words = ["pong", "cancelled", "unknown_tool", "cancelled"]
    assert [m["content"].split()[0] for m in found] == words
    assert process.returncode == code
    assert not (home.workspace / "n").exists()
    statuses = [r["status"] for r in home.json("ledger", "show", "c")]
    assert sorted(statuses) == ["cancelled", "ok", "unknown_tool"]
    assert home.run("ledger", "verify").exit_code == 0


def test_lines_are_run_as_they_arrive(home, desk, asked):
    """An agent can keep the pipe open and go on."""
    with home.spawn("run", "-") as process:
        for name in ("a", "b"):
            line = json.dumps(asked(("desk_ping", {}), id_=name)).encode() + b"\n"
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["tool_call_id"] == f"{name}-0"
        process.communicate(timeout=60)
    assert process.returncode == 0


@posix
def test_a_stop_while_waiting_for_input_ends_at_once(home, desk, asked):
    """Nobody has to close the pipe first."""
    with home.spawn("run", "-") as process:
        process.stdin.write(json.dumps(asked(("desk_ping", {}))).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        process.stdin.close()


@posix
def test_a_reader_that_goes_away_ends_it_quietly(home, desk, asked):
    """Its own exit code, and no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        reply = json.dumps(asked(("desk_ping", {}))).encode()
        code, _, err = home.finish("run", "-", "--quiet", given=reply, stdout=writer)
        assert (code, err) == (141, b"")
        code, _, err = home.finish("packs", "--json", stdout=writer)
        assert (code, err) == (141, b"")
    finally:
        os.close(writer)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_character_loses_a_report(home, desk, asked, encoding):
    """Whatever the locale: results are JSON, the rest is escaped, the exit code holds."""
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    reply = asked(("desk_odd", {}), ("desk_end", {"how": "crash"}))
    code, out, err = home.finish("run", "-", given=json.dumps(reply).encode(), env=env)
    assert code == 17
    first, second = (json.loads(line) for line in out.splitlines())
    assert "\u65e5\u672c" in first["content"]
    assert "\u4f60" in second["content"]
    assert b"Traceback" not in err
    code, out, _ = home.finish("tools", env=env)
    assert code == 0
    assert b"desk.odd" in out
    code, out, _ = home.finish("tools", "--json", env=env)
    assert "\u65e5\u672c\u8a9e" in json.loads(out)[4]["description"]["summary"]


@pytest.mark.parametrize(("verdict", "code"), [("allow", 0), ("deny", 12)])
def test_a_rule_answers_a_question_that_was_left_open(home, desk, asked, verdict, code):
    """Where nobody sits at a terminal, the policy is where the operator answers."""
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    command = ("run", "-", "--conversation", "c", "--no-ask")
    assert home.run(*command, given=reply).exit_code == 13
    home.allow(f'packs = ["toolcrib-desk"]\nrules = ["{verdict} desk.note(path=n)"]\n')
    assert home.run(*command, given=reply).exit_code == code
    assert (home.workspace / "n").exists() == (verdict == "allow")
    assert home.json("ledger", "questions") == []


def test_a_workspace_cannot_widen(home, desk, asked):
    """Its policy file only tightens, and what it asked for is said."""
    (home.workspace / "toolcrib.toml").write_text('mode = "trust"\nrules = ["allow *"]\n')
    reply = json.dumps(asked(("desk_note", {"path": "n", "text": "x"})))
    result = home.run("run", "-", "--no-ask", given=reply)
    assert result.exit_code == 13
    assert "ignored" in result.stderr


def test_tools_cannot_write_what_decides(home, desk, asked):
    """Policy, ledger and lock are out of reach in every mode."""
    lock = home.policy.with_name("toolcrib.lock")
    for place in (home.policy, home.state / "ledger.sqlite", lock):
        call = ("desk_note", {"path": str(place), "text": 'rules = ["allow *"]'})
        result = home.run("run", "-", "--mode", "trust", given=json.dumps(asked(call)))
        assert result.exit_code == 12, place
        assert "path.protected" in result.stdout


def test_a_dead_denial_is_said_before_anything_runs(home, desk, asked):
    """A rule that names no tool protects nobody."""
    home.allow('packs = ["toolcrib-desk"]\nrules = ["deny desk.nots"]\n')
    result = home.run("run", "-", given=json.dumps(asked(("desk_ping", {}))))
    assert result.exit_code == 0
    assert "did you mean desk.note" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("{}", "pong"),
        ('{"text": ""}', ""),
        ('{"times": null}', "pong"),
        ('{"times": 2}', "pongpong"),
        ('{"text": "x", "times": 0}', ""),
    ],
)
def test_what_is_left_out_is_not_sent(home, desk, arguments, answer):
    """The tool's own defaults hold; an explicit null or empty text arrives as given."""
    outcome = home.json("call", "desk.ping", arguments)
    assert [block["text"] for block in outcome["result"]["content"]] == [answer]


def test_arguments_of_a_call_come_from_a_file_or_a_pipe(home, desk):
    """So that no shell has to quote them."""
    (home.workspace / "a.json").write_text('{"text": "file"}')
    assert home.run("call", "desk.ping", "@a.json").stdout == "file\n"
    assert home.run("call", "desk.ping", "-", given='{"text": "pipe"}').stdout == "pipe\n"
    assert home.run("call", "desk.ping", "@missing.json").exit_code == 2
    assert home.run("call", "desk.ping", "-", given=b"\xff").exit_code == 2


@pytest.mark.parametrize("command", [["run", "-"], ["call", "desk.ping"]])
def test_a_conversation_that_cannot_be_written_down_is_wrong_use(home, desk, command):
    """It is said before anything runs."""
    done = home.run(*command, "--conversation", "a\udcff")
    assert done.exit_code == 2
    assert "a conversation's name holds half a character" in done.output
    assert not (desk / "imported").exists()


def test_a_mistyped_id_is_answered_with_ids(home, desk):
    """Who types an id is not told the names that models use."""
    done = home.run("call", "desk.pong")
    assert "Did you mean desk.ping or" in done.stderr


def test_a_reply_of_another_form_is_answered_as_unreadable(home, desk, asked):
    """With --dialect, a line in another form or of none is no line without calls."""
    reply = json.dumps({"content": [{"type": "tool_use", "id": "c1", "name": "desk_ping"}]})
    lines = f"{reply}\nnull\n" + json.dumps(asked(("desk_ping", {})))
    result = home.run("run", "-", "--dialect", "openai", "--mode", "trust", given=lines)
    assert result.exit_code == 10, result.output
    foreign, nothing, run = map(json.loads, result.stdout.splitlines())
    assert "form of openai; it looks like one of anthropic" in foreign["error"]["message"]
    assert "it is null" in nothing["error"]["message"]
    assert run["content"] == "pong"
