"""Several processes on one list, some of them killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

from collections import Counter
from pathlib import Path

from toolcrib_task.model import NewTask
from toolcrib_task.store import Change, SqliteTasks


WORKER = Path(__file__).with_name("worker.py")
KILLS = int(os.environ.get("TOOLCRIB_KILLS", "25"))
PAUSE = 0.0004 * KILLS  # so that there is work left for as long as somebody is killed


def work(folder, number, seed):
    name = f"worker-{number}-{seed}"
    return subprocess.Popen(
        [sys.executable, str(WORKER), str(folder), name, str(seed), str(PAUSE)]
    )


def test_each_task_is_done_once_or_uncertain_however_many_workers_are_killed(tmp_path):
    """Eight workers, a thousand tasks; leases of the dead end and are taken over."""
    store = SqliteTasks(tmp_path / "tasks.db", time=time.time)
    for _ in range(5):
        store.create("g", [NewTask(title="x") for _ in range(200)])
    dice = random.Random(7)
    workers = {number: work(tmp_path, number, number) for number in range(8)}
    killed, seed, end = 0, 100, time.monotonic() + 240
    while time.monotonic() < end:
        time.sleep(0.05 + dice.random() * 0.1)
        if killed < KILLS:
            number = dice.randrange(8)
            if workers[number].poll() is None:
                workers[number].send_signal(signal.SIGKILL)
                workers[number].wait()
                killed += 1
        for number, worker in workers.items():
            if worker.poll() not in {None, 0}:
                assert worker.returncode == -signal.SIGKILL
                seed += 1
                workers[number] = work(tmp_path, number, seed)
        if all(worker.poll() == 0 for worker in workers.values()):
            break
    tasks = []
    while page := store.select("g", after=tasks[-1].id if tasks else None, limit=200):
        tasks += page
    effects = Counter(
        line.split()[0] for line in (tmp_path / "effects").read_text().splitlines()
    )
    assert killed == KILLS
    assert len(tasks) == 1000
    assert {t.status for t in tasks} <= {"done", "uncertain"}
    for task in tasks:
        assert effects[task.id] <= 1, task
        if task.status == "done":
            assert effects[task.id] == 1, task
        else:
            assert "began and did not report" in task.evidence
    assert sum(t.status == "uncertain" for t in tasks) <= KILLS
    assert store.check() == []
    store.close()


WRITER = """
import sys, time
from pathlib import Path
from toolcrib_task.model import NewTask, TaskError
from toolcrib_task.store import Change, SqliteTasks

store = SqliteTasks(Path(sys.argv[1]) / "tasks.db", time=time.time)
name = sys.argv[2]
made = []
for number in range(25):
    made += [t.id for t in store.create("g", [NewTask(title=name)] * 2)]
    store.delete("g", made.pop(), version=1, by=name)
for _ in range(50):
    while True:
        task = store.get("g", "t1")
        metadata = {name: task.metadata.get(name, 0) + 1}
        try:
            store.update("g", "t1", Change(metadata=metadata), version=task.version, by=name)
            break
        except TaskError as error:
            assert error.code == "task.stale", error
print(" ".join(made))
"""


def test_eight_writers_lose_no_update_and_share_no_id(tmp_path):
    """Conflicts are told, never dropped; deleted ids do not come back."""
    store = SqliteTasks(tmp_path / "tasks.db", time=time.time)
    store.create("g", [NewTask(title="shared")])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), f"w{number}"],
            stdout=subprocess.PIPE, text=True,
        )
        for number in range(8)
    ]  # fmt: skip
    said = [writer.communicate(timeout=200)[0].split() for writer in writers]
    ids = [task_id for each in said for task_id in each]
    assert all(writer.returncode == 0 for writer in writers)
    assert len(ids) == len(set(ids)) == 8 * 25
    assert store.get("g", "t1").metadata == {f"w{number}": 50 for number in range(8)}
    assert [int(i[1:]) for i in said[0]] == sorted(int(i[1:]) for i in said[0])
    store.close()


def test_parallel_endings_do_not_undo_each_other(tmp_path):
    """Twelve of twenty are done and three are added, from two processes' worth of handles."""
    one = SqliteTasks(tmp_path / "tasks.db", time=time.time)
    two = SqliteTasks(tmp_path / "tasks.db", time=time.time)
    for round_ in range(20):
        group = f"g{round_}"
        made = one.create(group, [NewTask(title=str(n)) for n in range(20)])
        for number, task in enumerate(made[:12]):
            store = (one, two)[number % 2]
            held = store.claim(group, by="me", lease=60, task_id=task.id)
            store.update(group, task.id, Change(status="done"), version=held.version, by="me")
            if number % 4 == 0:
                (two, one)[number % 2].create(group, [NewTask(title="new")])
        for store in (one, two):
            counts = store.counts(group)
            assert (counts["done"], counts["open"]) == (12, 8 + 3)
    one.close()
    two.close()
