"""What is measured of the shell pack."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time

from pathlib import Path

from toolcrib import Policy, Toolbox
from toolcrib_shell import pack

from material import least
from measuring import main, row


def bare(folder: Path) -> float:
    """Seconds of bash itself, run with its output read."""
    argv = [shutil.which("bash"), "--noprofile", "--norc", "-c", "true"]
    started = time.perf_counter()
    subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - started


@row
def shell_run(folder: Path) -> list[float]:
    """Run a command through all stages; the floor is subprocess with the same bash."""

    async def measure() -> list[float]:
        policy = Policy(local=[pack], workspace=folder, state=folder / "state", mode="trust")
        async with Toolbox(policy) as box, box.session("c") as session:
            loop = asyncio.get_running_loop()

            async def call() -> float:
                started = time.perf_counter()
                outcome = await session.call("shell.run", {"command": "true"})
                if outcome.status != "ok":
                    raise AssertionError(outcome)
                return time.perf_counter() - started

            def ours() -> float:
                return asyncio.run_coroutine_threadsafe(call(), loop).result()

            # One call a round: of many that share a busy machine, hardly one is undisturbed.
            return await asyncio.to_thread(least, ours, lambda: bare(folder), rounds=300)

    return asyncio.run(measure())


if __name__ == "__main__":
    main()
