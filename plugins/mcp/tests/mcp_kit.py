"""What the tests share: a scriptable peer, and a toolbox with servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import attrs

from toolcrib import Allow, Policy, Session, Toolbox

from toolcrib_mcp import pack
from toolcrib_mcp.owned import MARK


PEER = Path(__file__).with_name("peer.py")


@attrs.define
class FakePeer:
    """One peer: its configuration, and what it logged."""

    plan: Path
    log: Path
    config: dict[str, Any]

    def events(self, event: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == event]

    def messages(self, method: str) -> list[dict[str, Any]]:
        found = [line["message"] for line in self.events("message")]
        return [message for message in found if message.get("method") == method]


@contextlib.asynccontextmanager
async def opened(
    workspace: Path,
    servers: dict[str, Any],
    *,
    ask: Any = None,
    agents: Any = None,
    **policy: Any,
) -> AsyncIterator[tuple[Toolbox, Session]]:
    """Open a toolbox with servers, and a session."""
    configs = {n: s.config if isinstance(s, FakePeer) else s for n, s in servers.items()}
    made = Policy(
        local=[pack],
        workspace=workspace,
        state=workspace / ".state",
        settings={"mcp": {"servers": configs}},
        **policy,
    )
    async with Toolbox(made, ask=ask, agents=agents) as box, box.session("test") as session:
        yield box, session


def yes(_: Any) -> Allow:
    """Approve a question."""
    return Allow(by="tester")


async def until(what: Callable[[], Any], seconds: float = 5.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to be in time"
        await asyncio.sleep(0.01)


def marked() -> list[int]:
    """Return the ids of living processes that some server's run has started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if MARK.encode() + b"=" in (folder / "environ").read_bytes() and state != b"Z":
                    found.append(int(folder.name))
    return [pid for pid in found if not _is_a_siblings(pid)]


def _is_a_siblings(pid: int) -> bool:
    """Tell whether a process was started by a test run beside this one."""
    while pid > 1 and pid != os.getpid():
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return False
        parent = int(stat[1])
        if parent == os.getppid():
            return True
        pid = parent
    return False


def tool(name: str, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a declaration."""
    return {"name": name, "inputSchema": schema or {"type": "object"}, **more}
