"""Programs that go on when their host has died, and are found again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

from pathlib import Path
from types import SimpleNamespace

import pytest

from toolcrib.host import SystemClock
from toolcrib.jobs.durable import DurableJobs
from toolcrib.testing import killed_host

from toolcrib_runners import (
    CommandAgents,
    ProcessKind,
    Warden,
    completed_of,
    find_orphans,
    stop_orphans,
)
from toolcrib_runners.testing import wardens, wardens_end
from toolcrib_runners.wardenlink import reach


HOST = """
import asyncio, os, sys, json
from pathlib import Path
from toolcrib.jobs.durable import DurableJobs
from toolcrib.host import SystemClock
from toolcrib_runners import CommandAgents, ProcessKind, Warden

folder = Path(sys.argv[1])

async def main():
    jobs = DurableJobs(SystemClock(), folder)
    kind = ProcessKind(warden=Warden(folder / "w"), grace=0.2)
    jobs.register(kind)
    mine = jobs.owned("c")
    job = await mine.start("process", json.loads(sys.argv[2]))
    while not (await mine.output(job.id)).endswith(b"ready\\n"):
        await asyncio.sleep(0.01)
    print(job.id, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def start_and_kill(folder, arguments):
    """Start a job from a host that is then killed; return the job's id."""
    return killed_host(HOST, folder, json.dumps(arguments)).strip()


def later(folder, scenario):
    """Run a scenario in a host that comes later."""

    async def main():
        jobs = DurableJobs(SystemClock(), folder)
        kind = ProcessKind(warden=Warden(folder / "w"), grace=0.2)
        jobs.register(kind)
        try:
            return await scenario(jobs.owned("c"), kind)
        finally:
            await jobs.close()

    return asyncio.run(main())


def wait_until(check, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False


def test_a_program_goes_on_when_its_host_is_killed(tmp_path, python):
    """The next host gets the result, and the output by offset, the same when asked twice."""
    code = (
        "import sys, time, pathlib; print('ready', flush=True);"
        "gate = pathlib.Path(sys.argv[1])\n"
        "while not gate.exists(): time.sleep(0.01)\n"
        "print('later', flush=True); raise SystemExit(4)"
    )
    gate = tmp_path / "gate"
    job_id = start_and_kill(tmp_path / "jobs", {"argv": python(code, str(gate))})
    gate.touch()

    async def scenario(mine, kind):
        found = await mine.wait(job_id, timeout=60)
        twice = [await mine.output(job_id, offset=6, size=5) for _ in range(2)]
        again = await mine.get(job_id)
        return found.status, found.result["returncode"], twice, again == found

    assert later(tmp_path / "jobs", scenario) == ("done", 4, [b"later", b"later"], True)
    assert wardens_end(tmp_path / "jobs")


def test_a_program_that_ended_while_nobody_was_there_has_its_result(tmp_path, python):
    """What it left is read from its folder."""
    code = "print('ready', flush=True)"
    job_id = start_and_kill(tmp_path / "jobs", {"argv": python(code)})
    assert wait_until((tmp_path / "jobs" / job_id / "result.json").exists)
    assert wardens_end(tmp_path / "jobs")

    async def scenario(mine, kind):
        (found,) = await mine.list()
        found = await mine.wait(found.id, timeout=60)
        return found.status, found.result["ended"], await mine.output(job_id)

    assert later(tmp_path / "jobs", scenario) == ("done", "exited", b"ready\n")


def test_a_program_whose_host_closes_at_once_is_begun_all_the_same(tmp_path, python):
    """Who started it was told that it runs."""

    async def begin(mine, kind):
        job = await mine.start("process", {"argv": python("print('ready')")})
        await asyncio.sleep(0)  # as every call does before its host can close
        return job.id

    job_id = later(tmp_path / "jobs", begin)

    async def scenario(mine, kind):
        found = await mine.wait(job_id, timeout=60)
        return found.status, await mine.output(job_id)

    assert later(tmp_path / "jobs", scenario) == ("done", b"ready\n")


def test_a_program_taken_up_again_can_be_stopped_and_fed(tmp_path, python, gone):
    """With everything that it started."""
    code = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '60']);"
        "print(child.pid, flush=True); print('ready', flush=True);"
        "print('got', sys.stdin.readline(), flush=True); child.wait()"
    )
    arguments = {"argv": python(code), "keep_open": True}
    job_id = start_and_kill(tmp_path / "jobs", arguments)

    async def scenario(mine, kind):
        await mine.get(job_id)
        while not await kind.feed(job_id, b"this\n"):
            await asyncio.sleep(0.01)
        while b"got this" not in await mine.output(job_id):
            await asyncio.sleep(0.01)
        child = int((await mine.output(job_id)).split()[0])
        return child, (await mine.stop(job_id)).status

    child, status = later(tmp_path / "jobs", scenario)
    assert status == "stopped"
    assert gone(child)


def test_a_program_is_stopped_while_it_is_still_being_taken_up(tmp_path, python, gone):
    """Who says stop at once is not told that it is while it runs on."""
    code = (
        "import os, time; print(os.getpid(), flush=True); print('ready', flush=True);"
        "time.sleep(60)"
    )
    job_id = start_and_kill(tmp_path / "jobs", {"argv": python(code)})

    async def scenario(mine, kind):
        stopped = await mine.stop(job_id)
        return stopped.status, int((await mine.output(job_id)).split()[0])

    status, pid = later(tmp_path / "jobs", scenario)
    assert status == "stopped"
    assert gone(pid)


def test_a_program_whose_host_died_with_the_order_on_its_way_is_found(tmp_path, python):
    """The warden starts it a moment later; it is not taken for lost, and left running."""
    folder = tmp_path / "job_1"
    folder.mkdir()

    control = SimpleNamespace(id="job_1", folder=folder, limit=1 << 20, leaving=False)

    async def scenario():
        first, second = Warden(tmp_path / "w"), ProcessKind(grace=0.2)
        await (await first.start({"argv": python("pass")})).done
        known = {"run": "run_late", "socket": str(first.path)}
        (folder / "process.json").write_text(json.dumps(known))
        asked, attach = asyncio.Event(), Warden.attach

        async def attached(link, job_id):
            running = await attach(link, job_id)
            asked.set()
            return running

        Warden.attach = attached
        try:
            adopted = asyncio.create_task(second.adopt(control, {}))
            await asked.wait()
            spec = {"argv": python("raise SystemExit(3)"), "merge": True}
            await first.ask(
                "start", "run_late", spec=spec, folder=str(folder), limit=1000, keep=True
            )
            return await asyncio.wait_for(adopted, 30)
        finally:
            Warden.attach = attach
            await second.let_go()
            await first.close()

    assert asyncio.run(scenario())["returncode"] == 3


def test_programs_that_are_taken_up_together_share_a_link(tmp_path, python, monkeypatch):
    """A second one would be closed by nobody."""
    links = []

    async def reached(path):
        link = await reach(path)
        links.append(link)
        return link

    monkeypatch.setattr("toolcrib_runners.job.reach", reached)

    async def scenario():
        first, second = Warden(tmp_path / "w"), ProcessKind(grace=0.2)
        gate = tmp_path / "gate"
        code = (
            "import sys, time, pathlib\n"
            "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)"
        )
        adopted = []
        for number in range(3):
            folder = tmp_path / f"job_{number}"
            folder.mkdir()
            spec = {"argv": python(code, str(gate)), "merge": True}
            await first.start(spec, folder=folder, keep=True)
            control = SimpleNamespace(id=folder.name, folder=folder, limit=1000, leaving=False)
            adopted.append(second.adopt(control, {}))
        waiting = asyncio.gather(*adopted)
        while len(links) < 1:
            await asyncio.sleep(0.01)
        gate.touch()
        try:
            return [each["ended"] for each in await asyncio.wait_for(waiting, 30)]
        finally:
            await second.let_go()
            await first.close()

    assert asyncio.run(scenario()) == ["exited"] * 3
    assert len(links) == 1


def test_what_is_to_be_started_is_on_record_before_it_is_asked_for(tmp_path, python):
    """So that it is found, however soon its host dies."""

    async def scenario(mine, kind):
        seen, ask = [], kind.warden.ask

        async def asked(op, job_id, **more):
            if op == "start":
                known = json.loads((Path(more["folder"]) / "process.json").read_text())
                seen.append(known == {"run": job_id, "socket": str(kind.warden.path)})
            return await ask(op, job_id, **more)

        kind.warden.ask = asked
        job = await mine.start("process", {"argv": python("pass")})
        await mine.wait(job.id, timeout=60)
        return seen

    assert later(tmp_path / "jobs", scenario) == [True]


def test_when_host_and_warden_died_what_is_left_is_found_and_stopped(tmp_path, python, gone):
    """It is lost, and says how many processes were stopped; nothing stays behind."""
    code = (
        "import os, signal, sys, time; signal.signal(signal.SIGPIPE, signal.SIG_IGN);"
        "print(os.getpid(), flush=True); print('ready', flush=True); time.sleep(60)"
    )
    job_id = start_and_kill(tmp_path / "jobs", {"argv": python(code)})
    for pid in wardens(tmp_path / "jobs"):
        os.kill(pid, signal.SIGKILL)
    folder = tmp_path / "jobs" / job_id
    assert len(find_orphans(folder)) == 1

    async def scenario(mine, kind):
        found = await mine.wait(job_id, timeout=60)
        return found.status, found.error, int((await mine.output(job_id)).split()[0])

    status, error, pid = later(tmp_path / "jobs", scenario)
    assert status == "lost"
    assert "1 process(es) of it still ran and were stopped" in error
    assert gone(pid)
    assert stop_orphans(folder) == ()


def test_a_number_that_belongs_to_somebody_else_by_now_is_left_alone(tmp_path):
    """An orphan counts by its mark and the time of its start, never by number alone."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        record = {"pid": other.pid, "start": "1", "mark": "00", "warden": 1, "socket": "x"}
        (tmp_path / "process.json").write_text(json.dumps(record))
        assert find_orphans(tmp_path) == ()
        assert stop_orphans(tmp_path) == ()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_runs_for_a_call_ends_with_its_host(tmp_path, python, gone):
    """Only what was kept outlives the host."""

    async def main():
        warden = Warden(tmp_path / "w")
        code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        told = []
        await warden.start({"argv": python(code)}, on_output=told.append, keep=True)
        while not told:
            await asyncio.sleep(0.01)
        await warden.close()
        return int(b"".join(told))

    assert gone(asyncio.run(main()))


def test_a_run_under_a_warden_is_told_like_any_other(python):
    """Streams, exit code and what was dropped."""

    async def main():
        warden = Warden()
        code = "import sys; print('x' * 5000); print('e', file=sys.stderr); raise SystemExit(3)"
        running = await warden.start({"argv": python(code), "output_limit": 1000})
        done = completed_of(await running.done, ("python",))
        await warden.close()
        return done

    done = asyncio.run(main())
    assert (done.returncode, done.ended, done.stderr.data) == (3, "exited", b"e\n")
    assert (done.stdout.total, done.stdout.dropped) == (5001, 4001)


def test_what_a_program_leaves_behind_is_named_and_stopped_under_a_warden_too(python, gone):
    """Also what has left its session."""

    async def main():
        warden = Warden()
        code = (
            "import subprocess; child = subprocess.Popen(['sleep', '60'], "
            "start_new_session=True, stdout=subprocess.DEVNULL); print(child.pid)"
        )
        running = await warden.start({"argv": python(code), "grace": 0.2})
        done = completed_of(await running.done, ("python",))
        await warden.close()
        return done

    done = asyncio.run(main())
    assert [m.pid for m in done.detached] == [int(done.stdout.data)]
    assert gone(int(done.stdout.data))


def test_a_program_that_is_not_there_is_an_error(tmp_path):
    """With the system's own word for it."""

    async def main():
        warden = Warden()
        running = await warden.start({"argv": [str(tmp_path / "nothing")]})
        ended = await running.done
        await warden.close()
        return completed_of(ended, ())

    with pytest.raises(FileNotFoundError):
        asyncio.run(main())


AGENT = (
    "import json, sys; task = json.load(sys.stdin); print('thinking', file=sys.stderr);"
    "print(json.dumps({'text': task['prompt'].upper(), 'in': task['workspace']}))"
)


def test_a_command_answers_as_an_agent(tmp_path, python):
    """Its task on standard input, its answer on standard output."""
    agents = CommandAgents(commands={"shout": python(AGENT), "bad": python("print('hm')")})

    async def main():
        task = {"type": "shout", "prompt": "hi", "workspace": str(tmp_path)}
        answer = await agents.run(task)
        with pytest.raises(LookupError, match="there are: bad, shout"):
            await agents.run({**task, "type": "other"})
        with pytest.raises(OSError, match="no JSON object"):
            await agents.run({**task, "type": "bad"})
        return answer

    assert asyncio.run(main()) == {"text": "HI", "in": str(tmp_path)}


def test_the_shipped_agent_follows_a_script_of_calls(tmp_path, monkeypatch):
    """Through the command line, in the workspace, with nobody to ask."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    policy = tmp_path / "policy.toml"
    policy.write_text("packs = []\n")
    agents = CommandAgents(
        commands={
            "script": [
                *(sys.executable, "-m", "toolcrib_runners.scriptedagent"),
                *("--policy", str(policy)),
            ]
        },
        env={
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
        },
    )
    task = {
        "type": "script",
        "prompt": json.dumps([{"tool": "crib.search", "arguments": {"query": "anything"}}]),
        "workspace": str(tmp_path),
        "conversation": "parent/agent-1",
        "parent": {"mode": "plan"},
    }
    answer = asyncio.run(agents.run(task))
    assert len(answer["results"]) == 1
    assert answer["text"]
