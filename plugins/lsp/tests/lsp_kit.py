"""What the tests share: a workspace, a scriptable server in it, and a session over both."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs

from toolcrib import Allow, Outcome, Policy, Toolbox

from toolcrib_lsp import pack


FAKE = Path(__file__).with_name("fake_server.py")
PYTHON = os.path.realpath(sys.executable)


def fake_settings(plan: Path, log: Path, **spec: Any) -> dict[str, Any]:
    """Return settings that serve ``.src`` files with the fake."""
    server = {
        "command": [sys.executable, "-S", str(FAKE), str(plan), str(log)],
        "languages": ["src"],
        "trust": False,
        "settle": 0,
        "opening": 0,
        "quiet": 0.05,
        **spec,
    }
    return {"servers": {"fake": server}, "extensions": {".src": "src"}}


@attrs.define
class Fake:
    """A workspace with a server that follows a plan."""

    ws: Path
    folder: Path
    settings: dict[str, Any]
    trusted: bool = False
    ask: Any = None
    policy: dict[str, Any] = attrs.field(factory=dict)

    def write(self, name: str, text: str) -> Path:
        path = self.ws / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def plan(self, **plan: Any) -> None:
        (self.folder / "plan.json").write_text(json.dumps(plan))

    @property
    def log(self) -> list[dict[str, Any]]:
        """Every message that the server has read, of all its runs."""
        file = self.folder / "log.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def logged(self, method: str) -> list[dict[str, Any]]:
        return [each for each in self.log if each.get("method") == method]

    @property
    def starts(self) -> int:
        return sum(1 for each in self.log if "started" in each)

    def run(self, scenario: Callable[[Caller], Awaitable[Any]], **session: Any) -> Any:
        """Run a scenario in a toolbox of its own."""
        return asyncio.run(self.arun(scenario, **session))

    async def arun(self, scenario: Callable[[Caller], Awaitable[Any]], **session: Any) -> Any:
        policy = Policy(
            local=[pack],
            workspace=self.ws,
            state=self.folder / "state",
            settings={"lsp": self.settings},
            trusted=self.trusted,
            **self.policy,
        )
        async with Toolbox(policy, ask=self.ask) as box, box.session(**session) as opened:
            return await scenario(Caller(opened))


@attrs.define
class Caller:
    """Calls tools through all stages; ``asked`` keeps the questions."""

    session: Any
    asked: list[Any] = attrs.field(factory=list)

    async def __call__(self, tool: str, /, **arguments: Any) -> Outcome:
        outcome: Outcome = await self.session.call(f"lsp.{tool}", arguments, approver=self._yes)
        return outcome

    async def unasked(self, tool: str, /, **arguments: Any) -> Outcome:
        """Call with nobody to answer questions."""
        outcome: Outcome = await self.session.call(f"lsp.{tool}", arguments)
        return outcome

    def _yes(self, question: Any) -> Allow:
        self.asked.append(question)
        return Allow(by="tester")


def text_of(outcome: Outcome) -> str:
    """Return what the model is told."""
    return "\n".join(getattr(block, "text", "") for block in outcome.result.content)


def good(outcome: Outcome) -> Any:
    """Return the value of a call that went well."""
    assert outcome.ok, f"{outcome.status} {outcome.code}: {outcome.text}"
    return outcome.result.structured


def places(outcome: Outcome) -> list[str]:
    """Return the found places as ``path:line:column``."""
    found = good(outcome)["locations"]
    return [f"{each['path']}:{each['line']}:{each['column']}" for each in found]


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in "ZX"


def gone(pids: list[int], *, within: float) -> bool:
    """Wait until no process of a list runs any more."""
    end = time.monotonic() + within
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
