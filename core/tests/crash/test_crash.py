"""One reply with every sort of call, stopped at every point at which anything is recorded.

The host (``host.py``) runs in child processes; see there. What has to hold is the same
wherever it stopped: nothing that finished is done again, nothing that may have happened
is done again unless it may be, every call has exactly one outcome, the chain verifies.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from collections import Counter
from pathlib import Path

import pytest

from toolcrib.record import Ledger


fcntl = pytest.importorskip("fcntl", reason="children are forked")

HERE = Path(__file__).parent
HOST = HERE / "host.py"
TOOLS = {"look", "put", "post", "charge", "grind", "order", "forbid"}
EFFECTS = {"put", "post", "charge", "grind", "order"}
# A restarted host may do these again: the one by its nature, the other under its key.
REPLAYABLE = {"put", "charge"}
# Kind of ending → exit code, and each how many-th point is tried.
KINDS = {"kill": (-signal.SIGKILL, 1), "cancel": (71, 4), "interrupt": (130, 4), "exit": (5, 4)}


@pytest.fixture(scope="module", params=KINDS)
def stops(request, tmp_path_factory):
    """Return the kind of ending, and what came of it at each point."""
    kind = request.param
    base = tmp_path_factory.getbasetemp()
    # Workers of one run share what the first of them found.
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    found = folder / f"stops-{kind}.jsonl"
    with found.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            found.write_text(stop_everywhere(kind, tmp_path_factory.mktemp(kind)))
    return kind, [json.loads(line) for line in found.read_text().splitlines()]


def stop_everywhere(kind, folder):
    step = str(KINDS[kind][1])
    done = subprocess.run(
        [sys.executable, str(HOST), str(folder / "run"), "--every", kind, step],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def breaches(stops, law):
    """Return the points at which a law does not hold, with what was found there."""
    found = []
    for line in stops[1]:
        wrong = law(line)
        if wrong:
            found.append((line["point"], wrong))
    return found


def effects(names):
    return Counter(words[0] for words in names)


def test_the_points_are_where_something_is_recorded_or_done(stops):
    """Before and after each effect, and at each statement that writes."""
    kind, (whole, *stopped) = stops
    points = whole["points"]
    assert {
        f"{when} {tool}" for when in ("before", "after") for tool in ("post", "charge")
    } <= {*points}
    assert points.count("COMMIT") >= 2 * len(EFFECTS) + 4
    assert whole["second"]["statuses"] == dict.fromkeys(TOOLS, "ok") | {"forbid": "refused"}
    assert len(stopped) == len(points) // KINDS[kind][1]


def test_each_host_ended_as_it_was_told_and_its_successor_did_not(stops):
    """The enumeration does stop hosts; those that ended before the batch may be late."""
    kind, (_, *stopped) = stops
    ended = Counter(line["ended"] for line in stopped)
    assert set(ended) <= {KINDS[kind][0], 0}
    # A host that is not killed opens its ledger, and hears of it only within the batch.
    assert ended[0] == 0 or (kind in {"cancel", "exit"} and ended[0] < len(stopped) / 3)
    assert {line["mended"] for line in stopped} == {0}


def test_no_effect_happens_twice(stops):
    """Neither of a call that finished, nor of one that may have happened.

    An idempotent call may be written again; a keyed one reaches its remote under the key
    that the remote knows.
    """

    def law(line):
        found = effects(line["world"]).items()
        return [name for name, times in found if times > (2 if name == "put" else 1)]

    assert breaches(stops, law) == []


def test_what_is_ok_has_happened_and_what_is_refused_has_not(stops):
    """An outcome says what is true of the world."""

    def law(line):
        happened = effects(line["world"])
        statuses = line["second"]["statuses"]
        ok = [n for n in EFFECTS if statuses[n] == "ok" and not happened[n]]
        nothing = {"refused", "cancelled"}
        return ok + [n for n in TOOLS if statuses[n] in nothing and happened[n]]

    assert breaches(stops, law) == []


def test_what_finished_keeps_its_outcome(stops):
    """A recorded outcome is given again, and nothing runs for it."""

    def law(line):
        finished = line["found"]["finished"]
        new = effects(line["world"]) - effects(line["before"])
        return [
            (name, status, line["second"]["statuses"][name])
            for name, status in finished.items()
            if line["second"]["statuses"][name] != status or new[name]
        ]

    assert breaches(stops, law) == []


def test_what_had_begun_and_has_no_outcome_is_uncertain_or_done_again_safely(stops):
    """It is not run again unless it may be; whether it happened, nobody knows."""

    def law(line):
        new = effects(line["world"]) - effects(line["before"])
        statuses = line["second"]["statuses"]
        return [
            (name, statuses[name])
            for name in line["found"]["begun"]
            if statuses[name] != ("ok" if name in REPLAYABLE else "uncertain")
            or (new[name] and name not in REPLAYABLE)
        ]

    assert breaches(stops, law) == []


def test_what_had_not_begun_runs_as_if_nothing_had_been(stops):
    """A person's answer counts even if the host died after it."""

    def law(line):
        left = TOOLS - set(line["found"]["finished"]) - set(line["found"]["begun"])
        statuses = line["second"]["statuses"]
        return [
            (name, statuses[name])
            for name in left
            if statuses[name] != ("refused" if name == "forbid" else "ok")
        ]

    assert breaches(stops, law) == []


def test_a_host_that_ends_in_order_leaves_no_call_without_an_outcome(stops):
    """Only a kill does."""
    kind, _ = stops
    left = breaches(stops, lambda line: line["found"]["begun"])
    assert bool(left) == (kind == "kill")


def test_every_call_has_exactly_one_outcome_and_one_receipt(stops):
    """In the model's order, whatever became of the first host."""

    def law(line):
        told = line["second"]
        return [
            told[key]
            for key, right in (
                ("results", told["results"] == [f"id_{name}" for name in told["statuses"]]),
                ("receipts", Counter(told["receipts"]) == Counter(TOOLS)),
                ("unfinished", told["unfinished"] == 0),
            )
            if not right
        ]

    assert breaches(stops, law) == []


def test_the_chain_verifies(stops):
    """As it was found, and after it was gone on with."""

    def law(line):
        return line["found"]["chain"] + line["second"]["chain"]

    assert breaches(stops, law) == []


def test_a_third_time_changes_nothing(stops):
    """What is settled stays settled."""

    def law(line):
        return [] if line["second"] == line["third"] else [line["third"]]

    assert breaches(stops, law) == []


def play(folder, plan=""):
    """Play in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, str(HOST), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLCRIB_FAULT": plan},
    )


@pytest.mark.parametrize(
    ("point", "status", "posted"),
    [("before post", "uncertain", 0), ("after post", "uncertain", 1)],
)
def test_a_new_interpreter_takes_up_where_a_killed_one_stopped(tmp_path, point, status, posted):
    """Nothing that matters was in memory."""
    killed = play(tmp_path, f"kill:{point}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    told = json.loads(play(tmp_path).stdout)

    world = [json.loads(line)[0] for line in (tmp_path / "world.log").read_text().splitlines()]
    assert told["statuses"]["post"] == status
    assert world.count("post") == posted
    assert told["statuses"]["look"] == "ok"
    with Ledger.open(tmp_path / "ledger" / "ledger.db") as ledger:
        assert ledger.verify() == ()
