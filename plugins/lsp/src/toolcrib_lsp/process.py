"""A server's process: its pipes, its environment, its last words, its certain end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

from collections.abc import Callable, Mapping, Sequence

from .frames import BrokenFrame


__all__ = ["KEEPER", "Process", "environment"]

KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
_STDERR_KEPT = 64 * 1024
# What programs need; none of these is where secrets live.
_BASE = (
    *("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR"),
    *("TZ", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
    *("CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOCACHE", "JAVA_HOME"),
)


def environment(extra: Mapping[str, str], host: Mapping[str, str]) -> dict[str, str]:
    """Return exactly what a server gets: a small base, and what it is configured with."""
    base = {name: host[name] for name in _BASE if name in host}
    return base | {"TERM": "dumb", "NO_COLOR": "1"} | dict(extra)


class Process(asyncio.SubprocessProtocol):
    """One running server.

    Args:
        on_data: Takes what the server writes; may raise :class:`BrokenFrame`.
        on_end: Called once, with a sentence, when it has ended or is of no more use.
    """

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[str], None]) -> None:
        self._on_data = on_data
        self._on_end = on_end
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._control = -1
        self._stderr = bytearray()
        self._broken: str | None = None
        self._told = False
        self.exited = asyncio.Event()
        self.returncode: int | None = None

    async def start(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        theirs, ours = os.pipe()
        loop = asyncio.get_running_loop()
        keeper = [sys.executable, "-I", "-S", KEEPER, str(theirs)]
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self,
                *keeper,
                *argv,
                cwd=cwd,
                env=dict(env),
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._control = ours
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)  # noqa: S101 - a pipe to write to
        self._stdin = stdin

    @property
    def pid(self) -> int | None:
        """The keeper's process id."""
        return self._transport.get_pid() if self._transport is not None else None

    @property
    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        return bytes(self._stderr).decode("utf-8", "replace").strip()

    def write(self, data: bytes) -> None:
        """Send bytes, now or when the server takes them."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    async def stop(self, *, patience: float) -> None:
        """Wait for its own end, then let go of it, which ends it and all that it started."""
        if self._transport is None:
            return
        if patience > 0 and self._broken is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), patience)
        self.let_go()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), 4.5)
        self._transport.close()

    def let_go(self) -> None:
        """Make the keeper end it; also works when no event loop runs any more."""
        control, self._control = self._control, -1
        if control >= 0:
            os.close(control)

    def __del__(self) -> None:
        self.let_go()

    # -- what the event loop calls ---------------------------------------------------

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what it wrote."""
        if fd == 2:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]
            return
        if self._broken is not None:
            return
        try:
            self._on_data(data)
        except BrokenFrame as broken:
            self._broken = f"sent {broken}"
            self.let_go()
            self._told = True
            self._on_end(self._broken)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that one of its pipes is closed."""
        if fd == 1 and self._transport is not None and self._broken is None:
            # Without its output it is of no use, whether or not it still runs.
            loop = asyncio.get_running_loop()
            loop.call_later(1.0, self._silent)

    def _silent(self) -> None:
        if not self.exited.is_set():
            self.let_go()
            self._told = True
            self._on_end("closed its output")

    def process_exited(self) -> None:
        """Note its end."""
        transport = self._transport
        self.returncode = transport.get_returncode() if transport is not None else None
        self.exited.set()
        self.let_go()
        # What it wrote last may still be in the pipes; something may hold them open.
        asyncio.get_running_loop().call_later(0.2, self._ended)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it has ended and all of its pipes are read."""
        self._ended()

    def _ended(self) -> None:
        if not self._told:
            self._told = True
            self._on_end(f"exited with code {self.returncode}")
