"""The tools, through all stages."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile

from pathlib import Path

import pytest

from toolcrib import Allow, Policy, Toolbox
from toolcrib.testing import async_run, check_pack, killed_host
from toolcrib_runners import CommandAgents
from toolcrib_runners.testing import wardens, wardens_end

from toolcrib_task import pack


def yes(question):
    return Allow(by="tester")


def policy_of(tmp_path, **more):
    workspace = tmp_path / "ws"
    workspace.mkdir(exist_ok=True)
    return Policy(local=[pack], workspace=workspace, state=tmp_path / "state", **more)


def program(code):
    return [
        sys.executable,
        "-c",
        "import json, os, sys, time; task = json.load(sys.stdin)\n" + code,
    ]


ANSWER = "print(json.dumps({'text': 'did ' + task['prompt'], 'task': task}))"
AGENTS = CommandAgents(
    commands={
        "helper": program(ANSWER),
        "writer": program("open('made', 'w').write('x')\n" + ANSWER),
        "slow": program("print(os.getpid(), flush=True); time.sleep(60)"),
        "broken": program("sys.exit('no idea')"),
    }
)


def scenario(tmp_path, work, *, agents=AGENTS, conversation="c", **more):
    async def main():
        policy = policy_of(tmp_path, **more)
        async with Toolbox(policy, agents=agents) as box, box.session(conversation) as session:

            async def call(tool, **arguments):
                return await session.call(f"task.{tool}", arguments, approver=yes)

            return await work(call, session, box)

    return async_run(main())


def texts(outcome):
    return "\n".join(block.text for block in outcome.result.content)


def test_the_pack_is_ready_for_others():
    """What it says of itself is what its code is."""
    manifest = Path(sys.modules["toolcrib_task"].__file__).with_name("toolcrib.json")
    # The check brings no runner for agents; without one that tool is not offered.
    assert [
        line for line in check_pack(pack, manifest=manifest) if "'agents'" not in line
    ] == []


def test_the_list_is_worked_through_without_a_question(tmp_path):
    """It only touches the pack's own file, so no mode asks; results show what changed."""

    async def work(call, session, box):
        made = await call(
            "create", tasks=[{"title": "a"}, {"title": "b", "depends_on": ["#1"]}]
        )
        claimed = await call("claim")
        done = await call("update", id="t1", version=2, status="done", evidence="seen")
        since = await call("list", since=made.result.structured["cursor"])
        return made, claimed, done, since

    for mode in ("ask", "plan"):
        made, claimed, done, since = (
            scenario(tmp_path / mode, work, mode=mode)
            if ((tmp_path / mode).mkdir() is None)
            else ()
        )
        assert [o.status for o in (made, claimed, done, since)] == ["ok"] * 4
        assert claimed.result.structured["tasks"][0]["owner"] == "c"
        assert [t["id"] for t in done.result.structured["tasks"]] == ["t1", "t2"]
        assert "1 task can be claimed now" in done.result.summary
        assert len(since.result.structured["tasks"]) == 2


def test_refusals_show_the_state_and_what_would_be_legal(tmp_path):
    """Unknown ids, stale versions, circles, foreign owners, long texts."""

    async def work(call, session, box):
        await call("create", tasks=[{"title": "a"}, {"title": "b", "depends_on": ["#1"]}])
        async with box.session("other") as other:
            await other.call("task.claim", {})
        return [
            await call("get", id="t9"),
            await call("update", id="t2", version=7, title="x"),
            await call("update", id="t2", version=1, status="done"),
            await call("update", id="t1", version=2, depend_on=["t2"]),
            await call("update", id="t1", version=2, title="mine"),
            await call("claim", id="t2"),
            await call("create", tasks=[{"title": "x" * 300}]),
            await call("delete", id="t1", version=2),
        ]

    outcomes = scenario(tmp_path, work)
    assert [(str(o.status), o.code) for o in outcomes] == [
        ("not_found", "task.unknown"),
        ("refused", "task.stale"),
        ("refused", "task.transition"),
        ("refused", "task.foreign"),
        ("refused", "task.foreign"),
        ("refused", "task.not_ready"),
        ("invalid", "arguments.invalid"),
        ("refused", "task.foreign"),
    ]
    assert (
        "t2 is open (version 1); it may become cancelled; it waits for t1" in outcomes[1].text
    )


def test_a_file_that_is_damaged_is_told_and_not_replaced(tmp_path):
    """Every call says so; nothing is written."""
    folder = tmp_path / "state/packs/task"
    folder.mkdir(parents=True)
    (folder / "tasks.db").write_bytes(b"no database " * 200)
    (folder / "tasks.db").chmod(0o600)

    async def work(call, session, box):
        return await call("list")

    outcome = scenario(tmp_path, work)
    assert outcome.status == "unavailable"
    assert "left as it is" in outcome.text
    assert (folder / "tasks.db").read_bytes() == b"no database " * 200


def test_a_sub_agent_runs_and_answers(tmp_path):
    """It is told whose child it is, and works in the workspace."""

    async def work(call, session, box):
        return await call("run", type="helper", prompt="this")

    outcome = scenario(tmp_path, work)
    assert outcome.status == "ok"
    task = outcome.result.structured["result"]["task"]
    assert "did this" in texts(outcome)
    assert task["workspace"] == str(tmp_path / "ws")
    assert task["parent"]["conversation"] == "c"
    assert task["parent"]["mode"] == "ask"
    assert task["conversation"].startswith("c/agent-")


def test_a_sub_agent_is_asked_about_with_its_whole_prompt(tmp_path):
    """A person sees what it is to do."""
    seen = []

    async def work(call, session, box):
        return await session.call(
            "task.run", {"type": "helper", "prompt": "all of this"},
            approver=lambda q: seen.append(q.preview) or None,
        )  # fmt: skip

    assert scenario(tmp_path, work).status == "needs_approval"
    assert seen == ["An agent of type helper is to do this:\nall of this"]


def test_an_unknown_type_of_agent_is_refused_with_those_there_are(tmp_path):
    """Nothing is started."""

    async def work(call, session, box):
        return await call("run", type="nobody", prompt="x"), await call("jobs")

    outcome, jobs = scenario(tmp_path, work)
    assert (outcome.status, outcome.code) == ("invalid", "task.unknown_agent")
    assert "broken, helper, slow, writer" in outcome.text
    assert jobs.result.structured["jobs"] == []


def test_without_a_runner_there_is_no_tool_to_run_agents(tmp_path):
    """The other tools are there."""

    async def work(call, session, box):
        return sorted(box.catalog.tools)

    tools = scenario(tmp_path, work, agents=None)
    assert "task.run" not in tools
    assert "task.output" in tools


def test_an_agent_in_the_background_is_waited_for_and_resumed(tmp_path):
    """With its line kept: root, source, depth."""

    async def work(call, session, box):
        first = await call("run", type="helper", prompt="one", background=True)
        job = first.result.structured["id"]
        early = await call("run", type="slow", prompt="x", background=True)
        too_soon = await call(
            "run", type="slow", prompt="x", resume=early.result.structured["id"]
        )
        waited = await call("wait", jobs=[job, early.result.structured["id"]], timeout=30)
        stopped = await call("stop", job=early.result.structured["id"])
        again = await call("stop", job=early.result.structured["id"])
        other_type = await call("run", type="slow", prompt="x", resume=job)
        second = await call("run", type="helper", prompt="two", resume=job)
        return first, too_soon, waited, stopped, again, other_type, second

    first, too_soon, waited, stopped, again, other_type, second = scenario(tmp_path, work)
    job = first.result.structured["id"]
    assert (too_soon.code, other_type.code) == ("task.running", "task.other_type")
    assert [j["status"] for j in waited.result.structured["jobs"]] == ["done", "running"]
    assert stopped.result.structured["status"] == "stopped"
    assert "had ended before" in texts(again)
    line = second.result.structured["agent"]
    assert (line["root"], line["resumed_from"], line["depth"]) == (job, job, 1)
    assert second.result.structured["result"]["task"]["resume"]["result"]["text"] == "did one"


def test_output_is_read_by_offset_and_not_used_up(tmp_path):
    """Twice the same, from the same place."""

    async def work(call, session, box):
        job = (await call("run", type="helper", prompt="x")).result.structured["id"]
        whole = await call("output", job=job)
        parts = [await call("output", job=job, offset=3, size=5) for _ in range(2)]
        return whole, parts

    whole, parts = scenario(tmp_path, work)
    assert texts(parts[0]) == texts(parts[1])
    assert parts[0].result.structured["next"] == 8
    assert texts(parts[0]).endswith("from byte 3:\n" + texts(whole).split("byte 0:\n")[1][3:8])


def test_zero_seconds_look_once_for_every_kind_of_job(tmp_path, monkeypatch):
    """Waiting has one meaning."""
    waited, real = [], asyncio.wait

    def noted(tasks, **more):
        if ".jobs" in sys._getframe(1).f_globals["__name__"]:
            waited.append(more)
        return real(tasks, **more)

    async def work(call, session, box):
        job = (await call("run", type="slow", prompt="x", background=True)).result.structured[
            "id"
        ]
        monkeypatch.setattr(asyncio, "wait", noted)
        looked = await call("output", job=job, wait=0)
        listed = await call("wait", jobs=[job], timeout=0)
        looks = len(waited)
        await call("wait", jobs=[job], timeout=0.01)
        return looked, listed, looks

    looked, listed, looks = scenario(tmp_path, work)
    assert looked.result.structured["status"] == "running"
    assert listed.result.structured["jobs"][0]["status"] == "running"
    assert looks == 0
    assert len(waited) > 0


def test_a_wait_can_be_cancelled_and_the_job_goes_on(tmp_path):
    """Whoever waits does not own what they wait for."""

    async def work(call, session, box):
        job = (await call("run", type="slow", prompt="x", background=True)).result.structured[
            "id"
        ]
        waiting = asyncio.create_task(call("output", job=job, wait=60))
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.wait({waiting})
        return (await session.jobs.get(job)).status

    assert scenario(tmp_path, work) == "running"


def test_an_agent_that_fails_is_told_as_failed(tmp_path):
    """With what it said last."""

    async def work(call, session, box):
        return await call("run", type="broken", prompt="x")

    outcome = scenario(tmp_path, work)
    assert outcome.result.structured["status"] == "failed"
    assert "no idea" in texts(outcome)


def test_a_job_of_another_conversation_is_unknown(tmp_path):
    """To every tool."""

    async def work(call, session, box):
        job = (await call("run", type="slow", prompt="x", background=True)).result.structured[
            "id"
        ]
        async with box.session("other") as other:
            codes = [
                (await other.call(f"task.{tool}", arguments, approver=yes)).code
                for tool, arguments in (
                    ("output", {"job": job}),
                    ("wait", {"jobs": [job]}),
                    ("stop", {"job": job}),
                    ("run", {"type": "slow", "prompt": "x", "resume": job}),
                )
            ]
            listed = await other.call("task.jobs", {})
        return codes, listed.result.structured["jobs"]

    assert scenario(tmp_path, work) == (["job.unknown"] * 4, [])


@pytest.fixture
def repository(tmp_path):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    for words in (
        ["init", "-q"],
        [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@localhost",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "one",
        ],
    ):
        subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True)
    return workspace  # fmt: skip


def branches(repository):
    done = subprocess.run(
        ["git", "branch", "--list", "toolcrib/*"], cwd=repository, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_an_agent_in_a_worktree_leaves_the_workspace_alone(tmp_path, repository):
    """What it changed is kept and named; an unchanged worktree is removed."""

    async def work(call, session, box):
        changed = await call("run", type="writer", prompt="x", isolation="worktree")
        clean = await call("run", type="helper", prompt="x", isolation="worktree")
        return changed, clean

    changed, clean = scenario(tmp_path, work)
    agent = changed.result.structured["agent"]
    assert (Path(agent["worktree"]) / "made").exists()
    assert f"its changes are in {agent['worktree']}" in changed.result.summary
    assert not (repository / "made").exists()
    gone = clean.result.structured["agent"]
    assert not Path(gone["worktree"]).exists()
    assert "its worktree is removed" in clean.result.summary
    assert branches(repository) == [agent["branch"]] or agent["branch"] in branches(repository)
    assert gone["branch"] not in branches(repository)


def test_a_resumed_agent_goes_on_in_its_worktree(tmp_path, repository):
    """What it made before is there."""

    async def work(call, session, box):
        first = await call("run", type="writer", prompt="x", isolation="worktree")
        second = await call(
            "run", type="writer", prompt="y", resume=first.result.structured["id"]
        )
        return first, second

    first, second = scenario(tmp_path, work)
    assert (
        second.result.structured["agent"]["worktree"]
        == first.result.structured["agent"]["worktree"]
    )


HOST = """
import asyncio, os, sys
from pathlib import Path
from toolcrib import Allow, Policy, Toolbox
from toolcrib_runners import CommandAgents
from toolcrib_task import pack

CODE = '''
import json, sys, time
from pathlib import Path
task = json.load(sys.stdin)
print("ready", flush=True)
while not Path("gate").exists():
    time.sleep(0.02)
print(json.dumps({"text": "did " + task["prompt"]}))
'''

async def main(root):
    policy = Policy(local=[pack], workspace=root / "ws", state=root / "state",
                    ledger=root / "ledger.db")
    agents = CommandAgents(commands={"helper": [sys.executable, "-c", CODE]})
    async with Toolbox(policy, agents=agents) as box, box.session("c") as session:
        begun = await session.call(
            "task.run", {"type": "helper", "prompt": "it", "background": True},
            approver=lambda q: Allow(by="t"))
        job = begun.result.structured["id"]
        while not (await session.jobs.output(job)).endswith(b"ready\\n"):
            await asyncio.sleep(0.01)
        print(job, flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def short(monkeypatch):
    """A temporary folder for hosts; where wardens listen must have a short name."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def test_a_background_agent_outlives_its_host_and_is_read_by_the_next_one(tmp_path, short):
    """Parent killed, restarted: the result comes by offset, the same when asked twice."""
    (tmp_path / "ws").mkdir()
    job = killed_host(HOST, tmp_path).strip()
    assert len(wardens(short)) == 1

    async def work(call, session, box):
        listed = await call("jobs")
        (tmp_path / "ws/gate").touch()
        first = await call("output", job=job, wait=30, offset=6)
        second = await call("output", job=job, wait=30, offset=6)
        return listed, first, second

    listed, first, second = scenario(tmp_path, work, ledger=tmp_path / "ledger.db")
    assert [j["id"] for j in listed.result.structured["jobs"]] == [job]
    assert first.result.structured["result"] == {"text": "did it"}
    assert texts(first) == texts(second)
    assert first.result.structured == second.result.structured
    assert texts(first).endswith('from byte 6:\n{"text": "did it"}\n')
    assert wardens_end(short)


class Here:
    """An app's own runner, in its process."""

    async def run(self, task):
        await asyncio.Event().wait()


DYING = """
import asyncio, os, sys
from pathlib import Path
from toolcrib import Allow, Policy, Toolbox
from toolcrib_task import pack

class Here:
    async def run(self, task):
        await asyncio.Event().wait()

async def main(root):
    policy = Policy(local=[pack], workspace=root / "ws", state=root / "state",
                    ledger=root / "ledger.db")
    async with Toolbox(policy, agents=Here()) as box, box.session("c") as session:
        begun = await session.call(
            "task.run", {"type": "any", "prompt": "x", "background": True},
            approver=lambda q: Allow(by="t"))
        print(begun.result.structured["id"], flush=True)
        os.kill(os.getpid(), 9)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_jobs_of_a_dead_host_do_not_stay_running(tmp_path):
    """Agents that lived in it are lost, and say so; their list is there for the next host."""
    (tmp_path / "ws").mkdir()
    job = killed_host(DYING, tmp_path).strip()

    async def look(call, session, box):
        return await call("jobs")

    listed = scenario(tmp_path, look, agents=Here(), ledger=tmp_path / "ledger.db")
    (found,) = listed.result.structured["jobs"]
    assert (found["id"], found["status"]) == (job, "lost")
    assert "gone" in found["error"]


# -- for people ----------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Run the commands for people on a list that tools made."""
    from click.testing import CliRunner

    from toolcrib_task.cli import group

    config, state = tmp_path / "config", tmp_path / "xdg"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.chdir(tmp_path)

    async def fill():
        policy = Policy(local=[pack], workspace=tmp_path)
        async with Toolbox(policy) as box, box.session("c") as session:
            await session.call(
                "task.create",
                {
                    "tasks": [
                        {"title": "first \x1b[2J thing"},
                        {"title": "b", "depends_on": ["#1"]},
                    ]
                },
            )
            await session.call("task.claim", {})

    async_run(fill())

    def run(*words):
        return CliRunner().invoke(group, list(words))

    return run


def test_people_see_the_list(people):
    """A line a task off a terminal; nothing that a model wrote moves the cursor."""
    done = people("list")
    assert done.exit_code == 0
    assert done.output.splitlines()[0].split("\t")[:3] == ["t1", "claimed", "medium"]
    assert "\x1b" not in done.output
    assert "waits for t1" in done.output


def test_people_see_the_board_one_task_and_what_changes(people):
    """For programs as JSON too."""
    board = json.loads(people("board", "--json").output)
    assert [lane for lane, tasks in board.items() if tasks] == ["waiting", "in work"]
    shown = json.loads(people("show", "t2", "--json").output)
    assert shown["waits_for"] == ["t1"]
    missing = people("show", "t9")
    assert missing.exit_code == 1
    assert "there is no task t9" in missing.output
    watched = people("watch", "--times", "2", "--every", "0", "--json").output.splitlines()
    assert [json.loads(line)["id"] for line in watched] == ["t2", "t1"]


def test_people_without_a_list_are_told(tmp_path, monkeypatch):
    """Nothing is made by looking."""
    from click.testing import CliRunner

    from toolcrib_task.cli import group

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(group, ["list"]).output == "no tasks\n"
    assert not (tmp_path / "s").exists()
    assert list(tmp_path.iterdir()) == []
