"""Claims tasks and does them, until there are none; may be killed at any moment.

Doing a task is one line added to a file, which must not happen twice.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time

from pathlib import Path

from toolcrib_task.model import TaskError
from toolcrib_task.store import Change, SqliteTasks


def main(folder: Path, name: str, seed: int, pause: float) -> None:
    store = SqliteTasks(folder / "tasks.db", time=time.time)
    dice = random.Random(seed)
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    while True:
        task = store.claim("g", by=name, lease=2.0)
        if task is None:
            counts = store.counts("g")
            if not counts.get("claimed") and not counts.get("working"):
                return
            time.sleep(0.02)
            continue
        # On a machine that is busy the lease may end meanwhile: then it is not ours.
        with contextlib.suppress(TaskError):
            begun = store.update(
                "g", task.id, Change(status="working"), version=task.version, by=name
            )
            # Where a kill matters: before the effect, and between it and the report.
            time.sleep(dice.random() * pause)
            os.write(effects, f"{task.id} {name}\n".encode())
            time.sleep(dice.random() * pause)
            store.update(
                "g", task.id, Change(status="done", evidence=f"line of {name}"),
                version=begun[0].version, by=name,
            )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
