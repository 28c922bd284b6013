"""A server's process and everything that it started, owned from start to end.

It leads a session of its own and carries a mark in its environment that all descendants
inherit, so that they are found even when they left the group or lost their parent. Where
there is no ``/proc``, only the group can be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys

from collections import deque
from collections.abc import Callable, Mapping

from toolcrib import Unavailable

from .settings import ServerConfig


__all__ = ["MARK", "Owned", "base_environment", "environment"]

MARK = "TOOLCRIB_MCP_RUN"
"""Name of the variable that marks all processes of one run."""

_BASE = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR")
_BASE_WINDOWS = (
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT"),
    *("PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"),
)
_STDERR_KEPT = 64 * 1024
_LINE = 2000
_SHORTEST_SECRET = 6


def base_environment(host: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that every program needs; none of them holds a secret."""
    names = _BASE_WINDOWS if sys.platform == "win32" else (*_BASE, "USER")
    # A value that starts like this is a function of an old shell.
    return {k: host[k] for k in names if k in host and not host[k].startswith("()")}


def environment(config: ServerConfig, host: Mapping[str, str]) -> dict[str, str]:
    """Return exactly what a server gets: the base, what it inherits, and its own."""
    inherited = {name: host[name] for name in config.inherit if name in host}
    return base_environment(host) | inherited | dict(config.env)


class Owned:
    """One running server process.

    Attributes:
        tail: The last of what it wrote to stderr.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, mark: str, hide: Callable[[str], str]
    ) -> None:
        self.process = process
        self._mark = f"{MARK}={mark}".encode()
        self._hide = hide
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._listening = asyncio.create_task(self._listen(), name=f"stderr of {process.pid}")

    @classmethod
    async def start(cls, config: ServerConfig, *, root: str) -> Owned:
        """Start a server.

        Raises:
            Unavailable: there is no such program, or it cannot be started.
        """
        mark = secrets.token_hex(8)
        variables = environment(config, os.environ) | {MARK: mark}
        try:
            process = await asyncio.create_subprocess_exec(
                config.command or "",
                *config.args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=variables,
                cwd=config.cwd or root,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            text = f"{config.command!r} cannot be started: {error}"
            raise Unavailable(text, code="mcp.not_started") from error
        return cls(process, mark, hiding(config))

    @property
    def output(self) -> asyncio.StreamReader:
        """What it writes."""
        if self.process.stdout is None:  # pragma: no cover - it is a pipe
            raise AssertionError
        return self.process.stdout

    @property
    def input(self) -> asyncio.StreamWriter:
        """What it reads."""
        if self.process.stdin is None:  # pragma: no cover - it is a pipe
            raise AssertionError
        return self.process.stdin

    @property
    def tail(self) -> str:
        """The last of what it wrote to stderr, secrets hidden."""
        return self._hide(b"".join(self._kept).decode("utf-8", "replace"))

    async def _listen(self) -> None:
        """Read stderr for as long as it is open: a full pipe would stop the server."""
        stream = self.process.stderr
        if stream is None:  # pragma: no cover - it is a pipe
            return
        with contextlib.suppress(OSError, ValueError):
            while chunk := await stream.read(16384):
                self._kept.append(chunk)
                self._size += len(chunk)
                while self._size > _STDERR_KEPT and len(self._kept) > 1:
                    self._size -= len(self._kept.popleft())

    async def exit_code(self) -> int | None:
        """Return how the server ended, if it did so just now."""
        await self._gone(0.1)
        return self.process.returncode

    async def stop(self, *, grace: float = 2.0) -> None:
        """End it: close its stdin, wait, ask, kill; then everything that it started."""
        process = self.process
        if process.stdin is not None:
            process.stdin.close()
        if not await self._gone(grace):
            self._signal(signal.SIGTERM)
            await self._gone(grace)
        for _ in range(50):
            # Even of a server that ended by itself, children may be left.
            self._signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
            if process.returncode is not None and not self.members():
                break
            await asyncio.sleep(0.01)
        self._listening.cancel()
        await asyncio.wait([self._listening])
        # A descendant that could not be killed may hold the pipes; nothing is read any more.
        transport = getattr(process, "_transport", None)
        if transport is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                transport.close()

    async def _gone(self, seconds: float) -> bool:
        """Wait for the leader; its pipes may be held open by children, so look only at it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        wait = 0.001
        while self.process.returncode is None:
            if loop.time() >= end:
                return False
            await asyncio.sleep(wait)
            wait = min(wait * 2, 0.02)
        return True

    def members(self) -> tuple[int, ...]:
        """Return the ids of its living descendants and of itself, as far as can be told."""
        if not sys.platform.startswith("linux"):
            return ()
        return tuple(
            int(entry)
            for entry in os.listdir("/proc")  # noqa: PTH208 - names are enough
            if entry.isdigit() and int(entry) != os.getpid() and self._ours(entry)
        )

    def _ours(self, entry: str) -> bool:
        folder = f"/proc/{entry}"
        try:
            with open(f"{folder}/stat", "rb") as file:  # noqa: PTH123 - thousands of these
                # The name stands in brackets and may hold anything, brackets included.
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] in {b"Z", b"X"}:
                return False
            if self.process.pid in {int(fields[2]), int(fields[3])}:
                return True
            with open(f"{folder}/environ", "rb") as file:  # noqa: PTH123 - as above
                return self._mark in file.read().split(b"\0")
        except (OSError, IndexError, ValueError):
            # It has ended meanwhile, or belongs to somebody else.
            return False

    def _signal(self, number: int) -> None:
        if sys.platform == "win32":
            if self.process.returncode is None:
                self.process.kill()
            return
        if self.process.returncode is None:
            # Its number is its own until it has been waited for.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def hiding(config: ServerConfig) -> Callable[[str], str]:
    """Return what takes a server's secrets out of a text before it is kept or shown."""
    values = {*config.env.values(), *config.headers.values()}
    values |= {os.environ[name] for name in config.inherit if name in os.environ}
    values |= {word for value in config.headers.values() for word in value.split()}
    secret = sorted((v for v in values if len(v) >= _SHORTEST_SECRET), key=len, reverse=True)

    def hide(text: str) -> str:
        for value in secret:
            text = text.replace(value, "***")
        return text

    return hide
