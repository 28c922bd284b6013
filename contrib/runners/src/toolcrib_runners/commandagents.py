"""Sub-agents as programs: a configured command for each type of agent.

The program is given its task as one JSON object on standard input and answers with one on
standard output; what it writes to standard error is its log. A child's authority is the
command's own business: give it a policy that is no wider than its parent's.
"""

from __future__ import annotations

import json

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from .engine import Completed
from .job import ProcessKind
from .process import run
from .report import describe


__all__ = ["AgentKind", "CommandAgents"]


@attrs.frozen(kw_only=True)
class CommandAgents:
    """The app's runner for sub-agents (``Toolbox(agents=…)``).

    Attributes:
        commands: Type of agent → program and arguments.
        env: What every agent gets besides the small base environment.
        timeout: Seconds that an agent may take; None: no limit.
        answer_limit: Bytes of its answer.
    """

    commands: Mapping[str, Sequence[str]]
    env: Mapping[str, str] = attrs.field(factory=dict)
    timeout: float | None = 3600.0
    answer_limit: int = 1 << 20

    @property
    def types(self) -> tuple[str, ...]:
        """The types of agents that there are."""
        return tuple(sorted(self.commands))

    def spec(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to run for a task, and its input.

        Raises:
            LookupError: there is no such type of agent.
        """
        kind = str(task.get("type", ""))
        if kind not in self.commands:
            text = f"no agent of type {kind!r}; there are: {', '.join(self.types) or 'none'}"
            raise LookupError(text)
        return {
            "argv": list(self.commands[kind]),
            "cwd": task.get("workspace"),
            "env": dict(self.env),
            "timeout": self.timeout,
            "input": json.dumps(dict(task)),
        }

    async def run(self, task: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run a sub-agent to its end and return its answer.

        Raises:
            LookupError: there is no such type of agent.
            OSError: it cannot be started, or ended without an answer.
        """
        spec = self.spec(task)
        completed = await run(
            spec["argv"],
            cwd=spec["cwd"],
            env=spec["env"],
            timeout=spec["timeout"],
            input=spec["input"].encode(),
            output_limit=self.answer_limit,
        )
        return _answer(completed)

    def kind(self) -> AgentKind:
        """Return the kind of job that runs agents of these types."""
        return AgentKind(agents=self)


def _answer(completed: Completed) -> Mapping[str, Any]:
    said = completed.stderr.text()[-2000:]
    if not completed.ok:
        text = f"the agent gave no answer: {describe(completed)} {said}".strip()
        raise OSError(text)
    try:
        answer = json.loads(completed.stdout.data)
    except ValueError:
        answer = None
    if completed.stdout.dropped or not isinstance(answer, dict):
        text = f"the agent's answer is no JSON object: {completed.stdout.text()[:500]!r} {said}"
        raise OSError(text)
    return answer


@attrs.define(kw_only=True)
class AgentKind:
    """The job kind ``agent``: an agent that outlives the call, and its host.

    Its answer is the last line of the job's output that is a JSON object; a durable store
    keeps it, so it is the same when asked twice.
    """

    agents: CommandAgents
    processes: ProcessKind = attrs.field(factory=ProcessKind)
    name: str = "agent"

    async def run(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run an agent to its end and return its answer."""
        spec = self.agents.spec(arguments["task"])
        outcome = await self.processes.run(control, spec)
        return self._answer(control, outcome)

    async def adopt(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take up an agent that another host started."""
        outcome = await self.processes.adopt(control, arguments)
        return self._answer(control, outcome)

    def _answer(self, control: Any, outcome: Mapping[str, Any]) -> dict[str, Any]:
        text = control.tail(self.agents.answer_limit).decode("utf-8", "replace")
        for line in reversed(text.splitlines()):
            if line.startswith("{"):
                try:
                    answer = json.loads(line)
                except ValueError:
                    break
                if outcome["ended"] == "exited" and outcome["returncode"] == 0:
                    return dict(answer)
                break
        how = outcome["ended"] if outcome["ended"] != "exited" else "exit code"
        text = f"the agent gave no answer: {how} {outcome['returncode']}: {text[-500:]}"
        raise OSError(text)

    async def let_go(self) -> None:
        """Close the connections; what was kept goes on."""
        await self.processes.let_go()
