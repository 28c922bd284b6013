"""Goals: states, budgets, and who may call one complete."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import subprocess
import sys

from pathlib import Path

import pytest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib import Policy, Toolbox
from toolcrib.testing import Clock, async_run, check_pack
from toolcrib_store import Database

from toolcrib_goal import pack
from toolcrib_goal.model import Budget, GoalError
from toolcrib_goal.schema import APPLICATION, MIGRATIONS
from toolcrib_goal.store import SqliteGoals


@pytest.fixture
def clock():
    return Clock(100.0)


@pytest.fixture
def goals(tmp_path, clock):
    store = SqliteGoals(tmp_path / "goals.db", time=clock)
    yield store
    store.close()


@pytest.fixture
def goal(goals):
    return goals.create("w", "c", "all tests pass", Budget())


def refused(code, work):
    with pytest.raises(GoalError) as caught:
        work()
    assert caught.value.code == code
    return caught.value


def act(goals, goal, action, text="", by="me"):
    return goals.act("w", goal.id, action, by=by, version=goal.version, text=text)


def judge(goals, goal, *, passed=True, by="other", grounds="ran them", digest=None):
    return goals.verdict(
        "w", goal.id, by=by, passed=passed, digest=digest or goal.digest, grounds=grounds
    )


def test_the_pack_is_ready_for_others():
    """What it says of itself is what its code is."""
    manifest = Path(sys.modules["toolcrib_goal"].__file__).with_name("toolcrib.json")
    assert check_pack(pack, manifest=manifest) == []


def test_completion_is_a_request_that_somebody_else_grants(goals, goal):
    """The verdict is kept with who gave it, on what grounds, about which digest."""
    asked = act(goals, goal, "request", "ran pytest")
    assert (asked.status, asked.attempt, asked.requester) == ("verifying", 1, "me")
    done = judge(goals, asked)
    assert done.status == "complete"
    assert done.verdict["by"] == "other"
    (kept,) = goals.verdicts("w", goal.id)
    assert (kept["passed"], kept["grounds"], kept["digest"]) == (True, "ran them", asked.digest)


@pytest.mark.parametrize("by", ["me", "me/agent-1", "me/agent-1/agent-2"])
def test_nobody_grants_their_own_request_nor_those_they_started(goals, goal, by):
    """A sub-agent is its parent's word."""
    asked = act(goals, goal, "request", "trust me")
    refused("goal.own_verdict", lambda: judge(goals, asked, by=by))
    assert goals.get("w", goal.id).status == "verifying"


def test_a_parent_does_not_grant_what_its_sub_agent_asked(goals, goal):
    """Nor the other way round."""
    asked = act(goals, goal, "request", "trust me", by="me/agent-1")
    refused("goal.own_verdict", lambda: judge(goals, asked, by="me"))
    assert judge(goals, asked, by="mean").status == "complete"


@pytest.mark.parametrize("action", ["pause", "block", "edit", "withdraw", "drop"])
def test_any_change_makes_a_verdict_about_what_was_before_void(goals, goal, action):
    """A request is judged as it was seen, or not at all."""
    asked = act(goals, goal, "request", "ran pytest")
    act(goals, asked, action, "other text")
    refused("goal.not_requested", lambda: judge(goals, asked))


def test_a_second_request_has_another_digest(goals, goal):
    """An old verdict does not fit a new request."""
    first = act(goals, goal, "request", "ran pytest")
    again = act(goals, act(goals, first, "withdraw"), "request", "ran pytest")
    assert again.digest != first.digest
    refused("goal.stale", lambda: judge(goals, again, digest=first.digest))


def test_a_verdict_names_its_grounds(goals, goal):
    """A bare yes is none."""
    asked = act(goals, goal, "request", "ran pytest")
    refused("goal.no_evidence", lambda: judge(goals, asked, grounds=" "))
    refused("goal.stale", lambda: judge(goals, asked, digest="0" * 64))


def test_a_verdict_against_it_lets_work_go_on(goals, goal):
    """The grounds are there to be read."""
    back = judge(goals, act(goals, goal, "request", "x"), passed=False, grounds="one fails")
    assert (back.status, back.go_on, back.digest) == ("active", True, None)
    assert back.verdict["grounds"] == "one fails"


def test_the_same_verdict_three_times_blocks(goals, goal):
    """Nobody goes round in circles for ever."""
    at = goal
    for _ in range(3):
        at = judge(goals, act(goals, at, "request", "x"), passed=False, grounds="one fails")
    assert at.status == "blocked"
    assert "3 times" in at.reason


def test_the_same_progress_three_times_blocks(goals, goal):
    """Saying it again is no progress; saying something else is."""
    at = act(goals, act(goals, goal, "progress", "trying"), "progress", "trying")
    at = act(goals, at, "progress", "found it")
    for _ in range(2):
        assert at.go_on
        at = act(goals, at, "progress", "found it")
    assert at.status == "blocked"
    assert "no progress" in at.reason


def test_each_way_to_end_has_a_state_of_its_own(goals):
    """Met, blocked, no progress, dropped: told apart, and none of them goes on."""
    ends = {}
    for name in ("met", "impossible", "going round", "cleared"):
        at = goals.create("w", name, name, Budget())
        if name == "met":
            at = judge(goals, act(goals, at, "request", "done"))
        elif name == "impossible":
            at = act(goals, at, "block", "it cannot be done")
        elif name == "going round":
            for _ in range(3):
                at = act(goals, at, "progress", "continue")
        else:
            at = act(goals, at, "drop", "the user said stop")
        ends[name] = (at.status, at.go_on)
    assert ends == {
        "met": ("complete", False),
        "impossible": ("blocked", False),
        "going round": ("blocked", False),
        "cleared": ("dropped", False),
    }


def test_a_judge_that_fails_does_not_let_work_go_on(goals, goal):
    """No verdict is no yes: it waits, and says so, until there is one or it is dropped."""
    asked = act(goals, goal, "request", "done")
    refused("goal.stale", lambda: judge(goals, asked, digest="0" * 64))
    refused("goal.no_evidence", lambda: judge(goals, asked, grounds=""))
    waiting = goals.get("w", goal.id)
    assert (waiting.status, waiting.go_on) == ("verifying", False)
    assert "waits for a verdict" in waiting.described()
    refused("goal.transition", lambda: act(goals, waiting, "progress", "again"))


def test_an_edited_objective_is_the_one_that_counts(goals, goal, tmp_path):
    """After a pause, and after a restart; a request about the old one is void."""
    asked = act(goals, goal, "request", "done")
    paused = act(goals, asked, "pause")
    edited = act(goals, paused, "edit", "all tests pass, quickly")
    resumed = act(goals, edited, "resume")
    refused("goal.not_requested", lambda: judge(goals, asked))
    again = SqliteGoals(tmp_path / "goals.db", time=lambda: 0.0)
    found = again.get("w", goal.id)
    again.close()
    assert (found.objective, found.revision) == ("all tests pass, quickly", 2)
    assert (resumed.status, found.status) == ("active", "active")
    asked = act(goals, resumed, "request", "done")
    text = json.dumps(
        {"goal": "g1", "revision": 2, "objective": found.objective, "attempt": 2,
         "evidence": "done"}, sort_keys=True,
    )  # fmt: skip
    assert asked.digest == hashlib.sha256(text.encode()).hexdigest()


def test_what_was_cleared_does_not_come_back(goals, goal):
    """By no action, and not when it is opened again."""
    gone = act(goals, goal, "drop", "stop")
    for action in (
        "progress",
        "pause",
        "resume",
        "block",
        "edit",
        "request",
        "withdraw",
        "drop",
    ):
        refused("goal.transition", lambda action=action: act(goals, gone, action, "x"))
    refused("goal.not_requested", lambda: judge(goals, gone, digest="0" * 64))
    assert goals.count("w", "c", calls=1) is None
    assert goals.current("w", "c").status == "dropped"


def test_a_stale_version_is_refused_with_the_state_as_it_is(goals, goal):
    """And says what would be legal."""
    act(goals, goal, "pause", "lunch")
    error = refused("goal.stale", lambda: act(goals, goal, "request", "x"))
    assert "g1 is paused (lunch), version 2; it can be resumed" in error.text


def test_one_goal_at_a_time(goals, goal):
    """A second one is refused until the first has ended."""
    refused("goal.exists", lambda: goals.create("w", "c", "another", Budget()))
    act(goals, goal, "drop")
    assert goals.create("w", "c", "another", Budget()).id == "g2"


def test_budgets_are_counted_by_the_host(goals, clock):
    """Calls and tokens as they are told, seconds by the clock; used up is a state."""
    goals.create("w", "c", "x", Budget(calls=3, seconds=50, tokens=100))
    clock.now += 20
    at = goals.count("w", "c", calls=1, tokens=40)
    assert (at.status, at.budget.used_seconds, at.budget.used_tokens) == ("active", 20.0, 40)
    clock.now += 31
    over = goals.count("w", "c")
    assert over.status == "budget_limited"
    assert "51 of 50 seconds are used" in over.reason
    refused("goal.transition", lambda: act(goals, over, "resume"))
    refused("goal.transition", lambda: act(goals, over, "request", "x"))
    assert goals.raise_budget("w", "g1", Budget(seconds=500)).status == "active"


def test_a_pause_uses_no_time(goals, goal, clock):
    """The clock counts work."""
    clock.now += 10
    paused = act(goals, goal, "pause")
    clock.now += 1000
    resumed = act(goals, paused, "resume")
    clock.now += 5
    assert goals.get("w", goal.id).budget.used_seconds == 15
    assert resumed.reason is None


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda g, at: g.create("w", "z", " ", Budget()), "goal.empty"),
        (lambda g, at: g.create("w", "z", "x" * 100_001, Budget()), "goal.too_long"),
        (lambda g, at: act(g, at, "block"), "goal.empty"),
        (lambda g, at: act(g, at, "request", "x" * 20_001), "goal.too_long"),
        (lambda g, at: g.get("w", "g9"), "goal.unknown"),
        (lambda g, at: g.get("elsewhere", "g1"), "goal.unknown"),
        (lambda g, at: g.get("w", "1"), "goal.unknown"),
    ],
)
def test_bad_input_is_refused_by_name(goals, goal, work, code):
    """Nothing is changed."""
    refused(code, lambda: work(goals, goal))
    assert goals.get("w", goal.id).version == 1


def test_a_file_of_an_older_version_is_brought_up_to_date(tmp_path):
    """What was in it stays; calls are counted from the first look on."""
    path = tmp_path / "goals.db"
    old = Database(path, application=APPLICATION, migrations=MIGRATIONS[:1])
    with old.write() as db:
        db.execute(
            "INSERT INTO goals (grp, conversation, objective, status, created, updated)"
            " VALUES ('w', 'c', 'x', 'active', 0, 0)"
        )
    old.close()
    goals = SqliteGoals(path, time=lambda: 0.0)
    assert goals.get("w", "g1").objective == "x"
    assert [goals.count("w", "c", begun=begun).budget.used_calls for begun in (50, 52)] == [
        0,
        2,
    ]
    goals.close()


def test_what_is_complete_by_nobodys_verdict_is_found(goals, goal):
    """The file is checked for what it stands for, not only for its bytes."""
    assert goals.check() == []
    with goals.database.write() as db:
        db.execute("UPDATE goals SET status = 'complete'")
    assert "without a verdict" in goals.check()[0]


def test_everything_is_exported_with_its_verdicts(goals, goal):
    """As JSON, whatever workspace it belongs to."""
    judge(goals, act(goals, goal, "request", "ran pytest"))
    goals.create("elsewhere", "c", "other", Budget())
    first, second = goals.export()
    assert json.loads(json.dumps(first))["verdicts"][0]["by"] == "other"
    assert (second["workspace"], second["verdicts"]) == ("elsewhere", [])


# -- through all stages ----------------------------------------------------------------------


def sessions(tmp_path, work, **more):
    async def main():
        (tmp_path / "ws").mkdir(exist_ok=True)
        policy = Policy(
            local=[pack], workspace=tmp_path / "ws", state=tmp_path / "state", **more
        )
        async with Toolbox(policy) as box:
            async with box.session("c") as mine, box.session("v") as other:
                async with box.session("c/agent-1") as child:
                    return await work(mine, other, child, box)

    return async_run(main())


ACTIONS = ("progress", "pause", "resume", "block", "edit", "request", "withdraw", "drop",
           "verdict")  # fmt: skip
WHO = st.sampled_from(["mine", "child"])
# What could do it comes often, among everything else.
CALLS = st.lists(
    st.one_of(
        st.tuples(
            WHO,
            st.sampled_from([*ACTIONS, "create"]),
            st.sampled_from(["", "x", "done"]),
            st.booleans(),
            st.sampled_from(["right", "wrong", None]),
        ),
        st.tuples(WHO, st.just("request"), st.just("ran them"), st.none(), st.none()),
        st.tuples(WHO, st.just("verdict"), st.just("looked"), st.just(True), st.just("right")),
    ),
    max_size=12,
)


@settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(calls=CALLS)
def test_no_sequence_of_calls_completes_a_goal_without_another_identity(
    calls, tmp_path_factory
):
    """Whatever the requester, and those it started, call."""
    tmp_path = tmp_path_factory.mktemp("goal")

    async def work(mine, other, child, box):
        who = {"mine": mine, "child": child}
        await mine.call("goal.create", {"objective": "x"})
        asked = 0
        for name, action, text, passed, digest in calls:
            got = await mine.call("goal.get", {})
            goal = got.result.structured["goals"][0]
            if action == "create":
                await who[name].call("goal.create", {"objective": "again"})
                continue
            arguments = {"action": action, "version": goal["version"], "text": text}
            if name == "child":
                arguments["id"] = goal["id"]
            if action == "verdict":
                arguments |= {"passed": passed}
                if digest:
                    arguments["digest"] = (
                        (goal["digest"] or "0" * 64) if digest == "right" else "1" * 64
                    )
            outcome = await who[name].call("goal.update", arguments)
            asked += outcome.status == "ok" and action == "request"
            listed = (await mine.call("goal.list", {"status": "complete"})).result.structured
            assert listed["goals"] == []
        # The way is not blocked for everybody: another identity can grant it.
        goal = (await mine.call("goal.get", {})).result.structured["goals"][0]
        if goal["status"] == "verifying":
            done = await other.call(
                "goal.update",
                {"action": "verdict", "id": goal["id"], "version": goal["version"],
                 "text": "looked", "passed": True, "digest": goal["digest"]},
            )  # fmt: skip
            assert done.result.structured["goals"][0]["status"] == "complete"

    sessions(tmp_path, work)


def test_the_host_counts_the_calls_of_a_conversation_and_of_its_sub_agents(tmp_path):
    """The model's word is not asked, policy names nobody; what is used up does not go on."""

    async def work(mine, other, child, box):
        await mine.call("goal.create", {"objective": "x", "calls": 6})
        await other.call("crib.search", {"query": "goal"})
        await child.call("crib.search", {"query": "goal"})
        await child.call("goal.list", {})
        found = []
        for _ in range(5):
            outcome = await mine.call("goal.get", {})
            found.append(outcome.result.structured["goals"][0])
        return found

    found = sessions(tmp_path, work)
    assert [goal["budget"]["used_calls"] for goal in found] == [3, 4, 5, 6, 6]
    assert [goal["status"] for goal in found] == ["active"] * 3 + ["budget_limited"] * 2
    assert [goal["continue"] for goal in found] == [True] * 3 + [False] * 2


def test_calls_are_counted_once_over_restarts_and_removals(goals, goal):
    """From where the last look ended; records that are gone give nothing back."""
    assert goals.count("w", "c", begun=3).budget.used_calls == 0
    goals.create("w", "d", "x", Budget(), begun=10)
    used = [goals.count("w", "d", begun=begun).budget.used_calls for begun in (12, 12, 4, 5)]
    assert used == [2, 2, 2, 3]


def test_a_goal_of_another_conversation_takes_a_verdict_and_nothing_else(tmp_path):
    """It is not theirs to pause or to edit."""

    async def work(mine, other, child, box):
        await mine.call("goal.create", {"objective": "x"})
        found = [
            (await other.call("goal.update", {"action": action, "id": "g1", "version": 1,
                                              "text": "x"})).code
            for action in ACTIONS
        ]  # fmt: skip
        none = await other.call("goal.get", {})
        return found, none.code

    codes, none = sessions(tmp_path, work)
    assert codes == ["goal.foreign"] * 8 + ["goal.no_digest"]
    assert none == "goal.none"


# -- for people ----------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Run the commands for people on a goal that asks for completion."""
    from click.testing import CliRunner

    from toolcrib_goal.cli import group

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)

    async def fill():
        policy = Policy(local=[pack], workspace=tmp_path)
        async with Toolbox(policy) as box, box.session("c") as session:
            await session.call("goal.create", {"objective": "all \x1b[2J green"})
            await session.call(
                "goal.update", {"action": "request", "version": 1, "text": "ran them"}
            )

    async_run(fill())
    return lambda *words: CliRunner().invoke(group, list(words))


AT_A_TERMINAL = """
import os, sys
os.open(sys.argv.pop(1), os.O_RDWR)
from toolcrib_goal.cli import group
group()
"""


def at_terminal(answer, *words):
    """Run a command for people with a terminal of its own; type an answer when it asks."""
    master, slave = pty.openpty()
    command = [sys.executable, "-c", AT_A_TERMINAL, os.ttyname(slave), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, text=True,
    ) as running:  # fmt: skip
        asked = b""
        while not asked.endswith(b"to confirm: "):
            asked += os.read(master, 1024)
        os.write(master, answer + b"\n")
        output, _ = running.communicate("piped in", timeout=60)
    os.close(master)
    os.close(slave)
    return running.returncode, output, asked.decode()


def test_a_person_sees_what_is_asked_and_judges_it(people):
    """By the digest of what they saw, at a terminal; their word is another identity's."""
    shown = people("show")
    assert "\x1b" not in shown.output
    assert "evidence: ran them" in shown.output
    (goal,) = json.loads(people("show", "--json").output)
    given = ("verdict", "g1", "--pass", "--grounds", "looked", "--json", "--digest")
    code, output, _ = at_terminal(b"g1", *given, "0" * 64)
    assert code == 1
    assert "look again" in output
    code, output, asked = at_terminal(b"g1", *given, goal["digest"])
    assert (code, "g1 is reached, says person:" in asked) == (0, True)
    (goal,) = json.loads(output)
    assert goal["status"] == "complete"
    assert goal["verdict"]["by"].startswith("person:")


@pytest.mark.parametrize("words", [("verdict", "g1", "--pass", "--grounds", "x"),
                                   ("budget", "g1", "--calls", "9")])  # fmt: skip
def test_nobody_but_a_person_at_a_terminal_gives_a_persons_word(people, words):
    """An agent that may run commands has none; what is typed otherwise is no confirmation."""
    (goal,) = json.loads(people("show", "--json").output)
    more = ("--digest", goal["digest"]) if words[0] == "verdict" else ()
    command = [sys.executable, "-c", "from toolcrib_goal.cli import group; group()"]
    done = subprocess.run(
        [*command, *words, *more], input="g1\n", capture_output=True, text=True,
        start_new_session=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "at a terminal" in done.stderr
    code, output, _ = at_terminal(b"y", *words, *more)
    assert code == 1
    assert "not confirmed" in output
    assert json.loads(people("show", "--json").output)[0]["version"] == goal["version"]


def test_a_person_clears_a_goal_whatever_its_state(people):
    """It does not come back."""
    assert "dropped (enough)" in people("clear", "g1", "--reason", "enough").output
    assert people("clear", "g1").exit_code == 1


HOST = '''
import asyncio
import subprocess
import sys

from pathlib import Path

from pathlib import Path

from toolcrib import Context, Pack, Policy, Toolbox
from toolcrib_goal import pack as goals

desk = Pack("desk", title="Desk", version="1")


@desk.tool(effects=())
async def wait(ctx: Context) -> str:
    """Wait for ever."""
    print("started", flush=True)
    await asyncio.Event().wait()
    return "never"


async def main(folder):
    policy = Policy(local=[desk, goals], workspace=folder, ledger=Path(sys.argv[2]))
    async with Toolbox(policy) as box, box.session("c") as session:
        print((await session.call("desk.wait")).status, flush=True)
        goal = (await session.call("goal.get", {})).result.structured["goals"][0]
        print(goal["status"], goal["continue"], flush=True)


asyncio.run(main(Path(sys.argv[1])))
'''


def test_a_person_who_clears_a_goal_ends_the_call_that_runs_for_it(people, tmp_path):
    """In the agent's own process; before its next model call it knows the goal is gone."""
    ledger = tmp_path / "xdg" / "toolcrib" / "ledger.sqlite"
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path), str(ledger)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert host.stdout.readline() == "started\n"
        cleared = people("clear", "g1", "--reason", "enough")
        said = host.communicate(timeout=60)[0]
    finally:
        host.kill()
        host.wait()
    assert cleared.exit_code == 0
    assert said.splitlines() == ["cancelled", "dropped False"]
