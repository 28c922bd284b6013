"""Questions: asked at the terminal device, answered by nobody else."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time

import attrs
import pytest


if os.name != "posix":
    pytest.skip("terminals of POSIX", allow_module_level=True)

import pty


PROGRAM = ("-m", "toolcrib")
# Makes stderr, which is the terminal, the controlling one of the new session.
LAUNCH = """
import fcntl, os, sys, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Person:
    """A command on a terminal of its own, and who sits at it."""

    def __init__(
        self, home, *arguments, stdin=b"", program=("-m", "toolcrib"), out=None
    ) -> None:
        """Start it; ``out`` is standard output: a pipe, or the terminal as well."""
        self.seen = ""
        self.terminal, inside = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *program, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if out is None else inside,
            stderr=inside,
            cwd=home.workspace,
            env=home.environment,
            start_new_session=True,
        )
        os.close(inside)
        self.process.stdin.write(stdin)
        self.process.stdin.close()

    def sees(self, text, *, within=60.0):
        """Wait until a text is on the screen."""
        until = time.monotonic() + within
        while text not in self.seen:
            assert time.monotonic() < until, self.seen
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    data = os.read(self.terminal, 4096)
                except OSError:
                    data = b""
                assert data, self.seen
                self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.seen = self.seen.partition(text)[2]

    def types(self, text):
        """Type something."""
        os.write(self.terminal, text.encode())

    def ends(self):
        """Wait for the end; return exit code and standard output."""
        with self.process as process:
            out = process.stdout.read() if process.stdout is not None else b""
            # What is on the screen is read, or the process cannot close its terminal.
            while select.select([self.terminal], [], [], 0)[0]:
                try:
                    data = os.read(self.terminal, 4096)
                except OSError:
                    break
                if not data:
                    break
                self.seen += data.decode("utf-8", "replace")
            process.wait(timeout=60)
        os.close(self.terminal)
        return process.returncode, out.decode()


@pytest.fixture
def reply(asked):
    """A call that needs a person."""
    return json.dumps(asked(("desk_note", {"path": "n", "text": "x"}))).encode()


def test_a_person_sees_everything_and_says_yes(home, desk, reply):
    """Arguments, resources, preview and the rule are shown; then it runs."""
    person = Person(home, "run", "-", stdin=reply)
    person.sees("desk.note asks")
    person.sees("text: 'x'")
    person.sees(f"touches: write path {home.workspace}/n")
    person.sees("│ + x")
    person.sees("rule: allow desk.note(path=**)")
    person.sees("> ")
    person.types("y\n")
    code, out = person.ends()
    assert code == 0
    assert json.loads(out)["content"] == "noted"
    assert (home.workspace / "n").read_text() == "x\n"


def test_a_no_is_a_refusal(home, desk, reply):
    """It has its own code, and nothing ran."""
    person = Person(home, "run", "-", stdin=reply)
    person.sees("> ")
    person.types("n\n")
    code, out = person.ends()
    assert code == 12
    assert "person.denied" in out
    assert not (home.workspace / "n").exists()


def test_only_known_answers_count(home, desk, reply):
    """Three wrong ones leave the question open."""
    person = Person(home, "run", "-", stdin=reply)
    for answer in ("", "sure", "yes please"):
        person.sees("> ")
        person.types(answer + "\n")
    code, _ = person.ends()
    assert code == 13
    assert not (home.workspace / "n").exists()


def test_what_was_typed_before_the_question_is_no_answer(home, desk, reply):
    """Type-ahead is dropped: nobody had seen the question."""
    person = Person(home, "run", "-", stdin=b"")
    person.types("y\ny\ny\n")
    person.ends()
    person = Person(home, "run", "-", stdin=reply)
    person.types("y\ny\ny\n")
    person.sees("> ")
    person.types("n\n")
    code, _ = person.ends()
    assert code == 12


def test_a_piped_yes_is_no_answer(home, desk, reply):
    """Neither is a variable, nor an option that there is none of."""
    for given in (reply + b"\ny\nyes\n", reply):
        env = {"TOOLCRIB_YES": "1", "YES": "1", "TOOLCRIB_ASK": "y"}
        code, out, err = home.finish("run", "-", given=given, env=env)
        assert code in {13, 1}
        assert b"question.open" in out
        assert b"nobody to ask. Run it at a terminal, or allow it: toolcrib explain" in err
    for option in ("--yes", "-y", "--force"):
        code, *_ = home.finish("run", "-", option, given=reply)
        assert code == 2
    assert not (home.workspace / "n").exists()


def test_a_background_process_asks_nobody(home, desk, reply):
    """The terminal belongs to another job, so its person is not asked."""
    script = (
        "import os, subprocess, sys\n"
        "child = subprocess.run([sys.executable, '-m', 'toolcrib', 'run', sys.argv[1]],\n"
        "    preexec_fn=os.setpgrp, stdin=subprocess.DEVNULL)\n"
        "sys.exit(child.returncode)\n"
    )
    (home.workspace / "calls.json").write_bytes(reply)
    (home.workspace / "script.py").write_text(script)
    person = Person(home, "script.py", "calls.json", program=())
    code, _ = person.ends()
    assert code == 13, person.seen
    assert "[y] once" not in person.seen


def test_interrupting_a_question_leaves_it_open(home, desk, reply):
    """Ctrl-C at the prompt ends the run; the call has its result, nothing ran."""
    person = Person(home, "run", "-", "--conversation", "c", stdin=reply)
    person.sees("> ")
    person.types("\x03")
    code, out = person.ends()
    assert code == 130
    assert json.loads(out)["tool_call_id"] == "chatcmpl-1-0"
    assert not (home.workspace / "n").exists()
    (question,) = home.json("ledger", "questions")
    assert question["tool_id"] == "desk.note"


def test_a_terminated_question_is_left_open(home, desk, reply):
    """SIGTERM does the same."""
    person = Person(home, "run", "-", "--conversation", "c", stdin=reply)
    person.sees("> ")
    person.process.send_signal(signal.SIGTERM)
    code, _ = person.ends()
    assert code == 143


def test_an_open_question_is_asked_when_the_calls_are_run_again(home, desk, reply):
    """First in a pipeline, later at a terminal, in another process."""
    command = ("run", "-", "--conversation", "c")
    code, out, _ = home.finish(*command, given=reply)
    assert code == 13
    assert "question.open" in out.decode()
    person = Person(home, *command, stdin=reply)
    person.sees("> ")
    person.types("y\n")
    code, _ = person.ends()
    assert code == 0
    assert (home.workspace / "n").read_text() == "x\n"
    code, *_ = home.finish(*command, given=reply)
    assert code == 0
    assert (home.workspace / "n").read_text() == "x\n"


def test_always_is_a_rule_that_holds_in_later_runs(home, desk, reply):
    """It can be listed and revoked."""
    person = Person(home, "run", "-", stdin=reply)
    person.sees("> ")
    person.types("p\n")
    assert person.ends()[0] == 0
    assert home.finish("run", "-", given=reply)[0] == 0
    assert home.json("explain", "desk.note", '{"path": "n", "text": "y"}')["verdict"] == "run"
    (grant,) = home.json("ledger", "grants")
    assert grant["rule"] == "allow desk.note(path=**)"
    assert home.json("ledger", "revoke", grant["id"])["revoked"]
    assert home.finish("run", "-", given=reply)[0] == 13


def test_what_is_shown_cannot_move_the_cursor(home, desk, asked):
    """Control codes, direction marks and half characters are shown as escapes."""
    text = "\x1b[2J\u202eevil\r"
    call = json.dumps(asked(("desk_note", {"path": "n", "text": text}))).encode()
    person = Person(home, "run", "-", stdin=call)
    person.sees("│ + \\x1b[2J\\u202eevil\\r")
    person.sees("> ")
    person.types("n\n")
    person.ends()


def test_call_asks_too(home, desk):
    """One call, one question."""
    person = Person(home, "call", "desk.note", '{"path": "n", "text": "x"}')
    person.sees("> ")
    person.types("y\n")
    assert person.ends() == (0, "noted\n")


def test_trust_is_asked_for_and_ends_with_any_change(home, desk):
    """Whoever trusts a workspace's file has seen it."""
    own = home.workspace / "toolcrib.toml"
    own.write_text('mode = "edits"\n')
    call = ("call", "desk.note", '{"path": "n", "text": "x"}', "--no-ask")
    assert home.run(*call).exit_code == 13
    assert home.run("rules", "trust").exit_code == 13
    person = Person(home, "rules", "trust")
    person.sees('│ mode = "edits"')
    person.sees("> ")
    person.types("y\n")
    assert person.ends()[0] == 0
    assert home.run(*call).exit_code == 0
    own.write_text('mode = "edits"\n# changed\n')
    assert home.run(*call).exit_code == 13
    digest = home.run("rules", "trust").stderr.split()[-1]
    assert home.run("rules", "trust", "--digest", "sha256:0").exit_code == 12
    assert home.run("rules", "trust", own, "--digest", digest).exit_code == 0
    assert home.run(*call).exit_code == 0
    assert home.run("rules", "trust", "--forget").exit_code == 0
    assert home.run(*call).exit_code == 13


def test_a_table_on_a_terminal_has_a_head_and_moves_no_cursor(home, site):
    """Colours are ours alone; what a pack wrote is escaped."""
    manifest = json.loads(site.manifest("odd"))
    manifest["tools"][0]["description"]["summary"] = "a\x1b[2Jc"
    site.install("toolcrib-odd", "", manifest=json.dumps(manifest).encode())
    home.allow('packs = ["toolcrib-odd"]')
    person = Person(home, "tools", out="terminal")
    person.sees("summary")
    person.sees("a\\x1b[2Jc")
    assert person.ends()[0] == 0


def test_output_on_a_terminal_is_coloured_unless_told_not_to(home, desk):
    """NO_COLOR is heard; a result's control codes are escaped."""
    person = Person(home, "call", "desk.odd", out="terminal")
    person.sees("\\x1b[2J")
    assert person.ends()[0] == 0
    person = Person(home, "check", out="terminal")
    person.sees("\x1b[32m6 tools")
    assert person.ends()[0] == 0
    plain = attrs.evolve(home, environment={**home.environment, "NO_COLOR": "1"})
    person = Person(plain, "check", out="terminal")
    person.sees("6 tools, nothing wrong.")
    assert "\x1b" not in person.seen
    assert person.ends()[0] == 0
