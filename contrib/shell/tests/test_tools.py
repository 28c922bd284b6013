"""The tools, through all stages."""

from __future__ import annotations

import os
import sys
import time

from pathlib import Path

import attrs
import pytest

from toolcrib import Allow, Policy, Toolbox
from toolcrib.testing import async_run, check_pack, killed_host
from toolcrib_runners.testing import wardens, wardens_end

from toolcrib_shell import pack


def yes(question):
    return Allow(by="tester")


def policy_of(tmp_path, **settings):
    workspace = tmp_path / "ws"
    workspace.mkdir(exist_ok=True)
    return Policy(
        local=[pack],
        workspace=workspace,
        state=tmp_path / "state",
        mode="trust",
        settings={"shell": settings},
    )


def calls(tmp_path, *steps, conversation="c", **settings):
    """Call tools one after the other; a step may look at the outcomes before it."""

    async def main():
        policy = policy_of(tmp_path, **settings)
        async with Toolbox(policy) as box, box.session(conversation) as session:
            found = []
            for tool, arguments in steps:
                given = arguments(found) if callable(arguments) else arguments
                found.append(await session.call(tool, given, approver=yes))
            return found

    return async_run(main())


def one(tmp_path, line, settings=None, **more):
    return calls(tmp_path, ("shell.run", {"command": line, **more}), **(settings or {}))[0]


def texts(outcome):
    return "\n".join(block.text for block in outcome.result.content)


def gone(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_the_pack_is_ready_for_others():
    """What it says of itself is what its code is."""
    manifest = Path(sys.modules["toolcrib_shell"].__file__).with_name("toolcrib.json")
    assert check_pack(pack, manifest=manifest) == []


def test_a_command_says_what_it_said_and_how_it_ended(tmp_path):
    """Both streams, and the exit code; an exit code is no failure of the call."""
    outcome = one(tmp_path, "echo out; echo err >&2; exit 3")
    assert outcome.status == "ok"
    assert "stdout:\nout\n" in texts(outcome)
    assert "stderr:\nerr\n" in texts(outcome)
    assert outcome.result.structured["exit_code"] == 3
    assert outcome.result.summary == "exit code 3."


def test_nothing_is_kept_between_calls(tmp_path):
    """Neither folder nor variables: a relative command never runs somewhere else."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/sub").mkdir()
    first, second = calls(
        tmp_path,
        ("shell.run", {"command": "cd sub; X=1; pwd"}),
        ("shell.run", {"command": 'pwd; echo "x is ${X:-nothing}"'}),
    )
    assert texts(first).endswith("/ws/sub\n")
    assert "/ws\nx is nothing" in texts(second)


def test_a_command_gets_no_variables_of_the_host_but_the_few_that_it_needs(
    tmp_path, monkeypatch
):
    """A secret in the host's environment is not inherited; what policy names is."""
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    monkeypatch.setenv("MY_FLAG", "on")
    monkeypatch.setenv("BASH_ENV", "/nowhere")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    outcome = one(tmp_path, "env", {"pass_env": ["MY_FLAG", "BASH_ENV"]})
    lines = texts(outcome).splitlines()
    assert "MY_FLAG=on" in lines
    assert not [line for line in lines if "hunter2" in line or line.startswith("BASH_ENV")]
    (path,) = [line for line in lines if line.startswith("PATH=")]
    assert all(part.startswith("/") for part in path.removeprefix("PATH=").split(":"))


@pytest.mark.parametrize(
    "line",
    [
        "cat", "read x; echo got $x", "python3 -c 'input()'", "head -c 1",
        "git commit --allow-empty", "test -t 0 && echo terminal", "exec 3</dev/tty",
    ],
)  # fmt: skip
def test_a_program_that_waits_for_a_person_ends_by_itself(tmp_path, line):
    """Its input is at the end, it has no terminal, no editor opens."""
    outcome = one(tmp_path, line, timeout=60)
    assert "terminal" not in texts(outcome).splitlines()
    assert outcome.result.structured["ended"] == "exited"


def test_a_question_that_nobody_answers_is_hinted_at(tmp_path):
    """The model is told why it failed."""
    outcome = one(tmp_path, "printf 'Password: '; read -r p; exit 1")
    assert outcome.result.structured["wanted_input"]
    assert "asked a question" in texts(outcome)


@pytest.mark.parametrize(
    "line",
    [
        "sleep 600 | (sleep 600 & wait)",
        "trap '' TERM; while :; do sleep 0.1; done",
        "setsid sleep 600 & wait",
        "(sleep 600 &) ; (setsid sleep 600 &); sleep 600",
        "while :; do (sleep 600); done",
    ],
)
def test_a_limit_stops_everything_that_was_started(tmp_path, line):
    """Not only the shell; the output so far is there."""
    marked = f"export WHO={tmp_path.name}; echo begun; {line}"
    outcome = one(tmp_path, marked, timeout=1)
    assert outcome.result.structured["ended"] == "timeout"
    assert "timeout" in outcome.result.notes
    assert "begun" in texts(outcome)
    assert outcome.result.structured["left_running"] == []
    wanted = f"WHO={tmp_path.name}".encode()
    end = time.monotonic() + 60
    while _holding(wanted) and time.monotonic() < end:
        time.sleep(0.05)
    assert _holding(wanted) == []


def _holding(wanted):
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(folder.name)
            except OSError:
                continue
    return found


def test_output_without_end_is_bounded_and_counted(tmp_path):
    """Head and tail are kept, no character is cut, the middle is counted."""
    line = "for i in $(seq 1 40000); do echo \"$i é🙂\"; done; printf '\\xff\\xfe'"
    outcome = one(tmp_path, line, {"output": 4096})
    facts = outcome.result.structured
    assert facts["stdout_dropped"] == facts["stdout_bytes"] - 4096
    text = texts(outcome)
    assert "1 é🙂\n2 é🙂" in text
    assert "40000 é🙂" in text
    assert "bytes left out" in text
    assert text.count("�") == 2  # the two bytes that are no text, and no others
    assert "output_shortened" in outcome.result.notes


def test_endless_output_ends_at_the_limit(tmp_path):
    """The program is never blocked by a reader, and memory is not filled."""
    outcome = one(tmp_path, "yes", timeout=1)
    assert outcome.result.structured["ended"] == "timeout"
    assert outcome.result.structured["stdout_bytes"] > 1_000_000


def test_a_command_that_leaves_a_process_behind_says_so(tmp_path):
    """It is not just reported done; what it left is stopped."""
    outcome = one(tmp_path, "sleep 600 >/dev/null 2>&1 & echo $!")
    pid = int(texts(outcome).split("stdout:\n")[1])
    # It may not be sleep yet: what was forked is still bash for a moment.
    assert f"({pid})" in outcome.result.summary
    assert "It left running: " in outcome.result.summary
    assert gone(pid)


def test_a_command_that_takes_long_goes_on_in_the_background(tmp_path):
    """The same process, not a new one; its output is there from the beginning."""
    handed, ended = calls(
        tmp_path,
        ("shell.run", {"command": "echo $$; sleep 1; echo $$; exit 5", "timeout": 30}),
        ("shell.input", lambda found: {"job": found[0].result.structured["job"], "wait": 20}),
        handoff=0.3,
    )
    assert handed.status == "ok"
    assert "background" in handed.result.notes
    facts = ended.result.structured
    assert (facts["status"], facts["result"]["returncode"]) == ("done", 5)
    first, second = texts(ended).split("byte 0:\n")[1].split()
    assert first == second


def test_a_command_that_is_quick_enough_stays_in_the_call(tmp_path):
    """The budget is for those that take longer."""
    outcome = one(tmp_path, "sleep 0.1; echo done", {"handoff": 10})
    assert outcome.result.structured["job"] is None
    assert "done" in texts(outcome)


def test_a_background_command_is_given_input_and_stopped(tmp_path):
    """Input closes when it is said to; stopping ends everything."""
    start, fed, closed, again = calls(
        tmp_path,
        ("shell.run", {"command": "cat; echo end", "background": True, "stdin": True}),
        ("shell.input", lambda f: {"job": f[0].result.structured["job"], "data": "a\n"}),
        (
            "shell.input",
            lambda f: {"job": f[0].result.structured["job"], "data": "b\n", "close": True,
                       "wait": 20},
        ),
        ("shell.input", lambda f: {"job": f[0].result.structured["job"], "data": "c"}),
    )  # fmt: skip
    assert (start.status, fed.status) == ("ok", "ok")
    assert "a\nb\nend\n" in texts(closed)
    assert (again.status, again.code) == ("refused", "shell.input_closed")


def test_stopping_what_has_ended_is_no_failure(tmp_path):
    """The end stays as it was."""
    _, stopped, again = calls(
        tmp_path,
        ("shell.run", {"command": "sleep 600", "background": True}),
        ("shell.stop", lambda f: {"job": f[0].result.structured["job"]}),
        ("shell.stop", lambda f: {"job": f[0].result.structured["job"]}),
    )
    assert stopped.result.structured["status"] == "stopped"
    assert "had ended before" in texts(again)


def test_a_job_of_another_conversation_is_unknown(tmp_path):
    """To look, to feed and to stop."""

    async def main():
        async with Toolbox(policy_of(tmp_path)) as box:
            async with box.session("one") as one_, box.session("two") as two:
                begun = await one_.call(
                    "shell.run", {"command": "sleep 600", "background": True}, approver=yes
                )
                job = begun.result.structured["job"]
                return [
                    (await two.call(tool, {"job": job}, approver=yes)).code
                    for tool in ("shell.input", "shell.stop")
                ]

    assert async_run(main()) == ["job.unknown", "job.unknown"]


def test_a_folder_that_was_changed_after_it_was_judged_is_refused(tmp_path, monkeypatch):
    """Nothing runs where nobody looked."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (tmp_path / "other").mkdir()
    (workspace / "sub").mkdir()
    from toolcrib_shell import definition

    real = os.path.realpath
    swapped = lambda path, **kw: (  # noqa: E731 - one line
        str(tmp_path / "other") if str(path).endswith("/sub") else real(path, **kw)
    )
    monkeypatch.setattr(definition.os.path, "realpath", real)

    def late(ctx, cwd):
        monkeypatch.setattr(definition.os.path, "realpath", swapped)
        return definition.folder_of(ctx, cwd)

    from toolcrib_shell import tools

    monkeypatch.setattr(tools, "folder_of", late)
    outcome = one(tmp_path, "pwd", cwd="sub")
    assert (outcome.status, outcome.code) == ("refused", "shell.path_changed")


@pytest.mark.parametrize("settings", [{"handoff": "soon"}, {"pass_env": "A"}, {"colour": 1}])
def test_wrong_settings_are_named(tmp_path, settings):
    """Nothing runs under a policy that was misread."""
    outcome = one(tmp_path, "true", settings)
    assert outcome.status != "ok"


HOST = """
import asyncio, os, sys
from pathlib import Path
from toolcrib import Allow, Policy, Toolbox
from toolcrib_shell import pack

async def main(root):
    policy = Policy(local=[pack], workspace=root / "ws", state=root / "state", mode="trust",
                    ledger=root / "ledger.db")
    async with Toolbox(policy) as box, box.session("c") as session:
        line = "echo ready; while [ ! -e gate ]; do sleep 0.02; done; echo later; exit 4"
        begun = await session.call("shell.run", {"command": line, "background": True},
                                   approver=lambda q: Allow(by="t"))
        job = begun.result.structured["job"]
        while not (await session.jobs.output(job)).endswith(b"ready\\n"):
            await asyncio.sleep(0.01)
        print(job, flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_background_command_outlives_its_host_and_is_read_by_the_next_one(tmp_path):
    """Parent killed, restarted: the result comes by offset, the same when asked twice."""
    (tmp_path / "ws").mkdir()
    job = killed_host(HOST, tmp_path).strip()
    assert len(wardens(tmp_path / "state")) == 1

    async def main():
        policy = Policy(
            local=[pack], workspace=tmp_path / "ws", state=tmp_path / "state", mode="trust",
            ledger=tmp_path / "ledger.db",
        )  # fmt: skip
        found = []
        async with Toolbox(policy) as box, box.session("c") as session:
            looked = await session.call("shell.input", {"job": job}, approver=yes)
            found.append(looked.result.structured["status"])
            (tmp_path / "ws/gate").touch()
            for _ in range(2):
                outcome = await session.call(
                    "shell.input", {"job": job, "offset": 6, "wait": 20}, approver=yes
                )
                found.append(
                    (outcome.result.structured["result"]["returncode"], texts(outcome))
                )
        return found

    running, first, second = async_run(main())
    assert running == "running"
    assert first == second
    assert first[0] == 4
    assert first[1].endswith("output from byte 6:\nlater\n")
    assert wardens_end(tmp_path / "state")


def test_command_that_walks_past_what_is_denied_is_asked_about(tmp_path):
    """A rule that allows every command does not answer for the file that another denies."""
    (tmp_path / "ws" / "sub").mkdir(parents=True)
    (tmp_path / "ws" / "sub" / "key.pem").write_text("secret")

    async def main():
        policy = policy_of(tmp_path)
        rules = ("deny *(path=sub/key.pem)", "allow shell.run")
        policy = attrs.evolve(policy, rules=rules)
        async with Toolbox(policy) as box, box.session("c") as session:
            return [
                await session.call("shell.run", {"command": line})
                for line in ("grep -r secret .", "cat sub/*", "cat sub/key.pem", "ls")
            ]

    walked, listed, named, other = async_run(main())
    assert (walked.code, listed.code) == ("question.open", "question.open")
    assert named.code == "rule.denied"
    assert other.ok
