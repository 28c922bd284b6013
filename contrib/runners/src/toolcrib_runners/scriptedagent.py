"""A small agent without a model: it follows a script of calls, through ``toolcrib run``.

For tests and demos, and as the pattern for a real one. The task's prompt is the script:
a JSON list of ``{"tool": …, "arguments": {…}}``. Each call is one run of the command line,
in the task's workspace and conversation, under the policy that the command names::

    CommandAgents(commands={
        "script": [sys.executable, "-m", "toolcrib_runners.scriptedagent", "--policy", FILE]
    })
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from collections.abc import Sequence
from typing import Any


__all__ = ["main"]


def _reply(number: int, step: dict[str, Any]) -> str:
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {
            "name": str(step["tool"]).replace(".", "_"),
            "arguments": json.dumps(step.get("arguments", {})),
        },
    }
    return json.dumps({"role": "assistant", "content": None, "tool_calls": [call]})


def main(argv: Sequence[str] | None = None) -> int:
    """Read a task, follow its script, and answer."""
    parser = argparse.ArgumentParser(prog="toolcrib_runners.scriptedagent")
    parser.add_argument("--policy", help="policy file that bounds what the agent may do")
    options = parser.parse_args(argv)
    task = json.load(sys.stdin)
    try:
        steps = json.loads(task["prompt"])
        replies = [_reply(number, step) for number, step in enumerate(steps)]
    except (ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"the prompt is no script of calls: {error}\n")
        return 2
    command = [
        *(sys.executable, "-m", "toolcrib", "run", "-", "--no-ask", "--quiet"),
        *("--dialect", "openai", "--workspace", task["workspace"]),
        *("--conversation", task["conversation"]),
    ]
    parent = task.get("parent") or {}
    if parent.get("mode"):
        # Never more than the parent: its mode is the child's ceiling.
        command += ["--mode", parent["mode"]]
    if options.policy:
        command += ["--policy", options.policy]
    done = subprocess.run(  # noqa: S603 - our own command line
        command,
        input="\n".join(replies) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(done.stderr)
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = [str(result.get("content", "")) for result in results]
    answer = {"text": "\n".join(said), "results": said, "exit_code": done.returncode}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
