"""A host's side of a warden: start it, talk to it, hear how programs end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .captured import Captured
from .engine import Completed
from .tree import Member
from .warden import PROCESS, write_json


__all__ = ["Running", "Warden", "WardenLostError", "completed_of", "reach"]

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]);"
    "from toolcrib_runners.warden import main; main(sys.argv[1:2])"
)


class WardenLostError(Exception):
    """Raised when the warden has gone; what it ran has to be looked for."""


class Running:
    """A program that a warden runs for this host."""

    def __init__(self, link: Warden, job_id: str) -> None:
        self.id = job_id
        self._link = link
        self.pid: int | None = None
        self.done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.on_output: Callable[[bytes], None] | None = None

    async def keep(self, folder: Path | None, limit: int) -> None:
        """Let it go on when this host has gone, with its output in a folder.

        Without a folder it still ends with the host, and its output is told from now on.
        """
        where = None if folder is None else str(folder)
        await self._link.ask("keep", self.id, folder=where, limit=limit)

    async def stop(self) -> None:
        """Stop it with everything that it started; :attr:`done` tells when it has ended."""
        with contextlib.suppress(WardenLostError):
            await self._link.ask("stop", self.id)

    async def end(self) -> None:
        """Stop it, and wait until it has ended; what was never started has."""
        with contextlib.suppress(WardenLostError):
            answer = await self._link.ask("stop", self.id)
            if "error" not in answer:
                await asyncio.wait({self.done})

    async def feed(self, data: bytes, *, close: bool = False) -> bool:
        """Give more for its standard input; False if that is closed."""
        answer = await self._link.ask(
            "input", self.id, data=base64.b64encode(data).decode(), close=close
        )
        return bool(answer.get("ok"))


class Warden:
    """A connection to a warden, which is started on first use.

    Args:
        folder: Private folder for its socket; None: a new one.
        path: Socket of a warden that runs already.
    """

    def __init__(self, folder: Path | None = None, *, path: Path | None = None) -> None:
        self._folder = folder
        self._path = path
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._opening = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.Task[None] | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self.running: dict[str, Running] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> Path | None:
        """The socket, once it is known."""
        return self._path

    async def start(
        self,
        spec: Mapping[str, Any],
        *,
        folder: Path | None = None,
        limit: int = 1 << 20,
        keep: bool = False,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Running:
        """Start a program; the fields of the spec are those of :class:`Spec`.

        Args:
            spec: What to run.
            folder: Where output and result go, if it is kept.
            limit: Bytes of output that are kept there.
            keep: Whether it goes on when this host has gone.
            on_output: Told its output, where that goes to no folder.
        """
        await self._open()
        running = Running(self, "run_" + secrets.token_hex(8))
        running.on_output = on_output
        self.running[running.id] = running
        where = None if folder is None else str(folder)
        if keep and folder is not None:
            # Before anything is asked for: should this host die now, the next one knows
            # which warden was told, and what.
            known = {"run": running.id, "socket": str(self._path)}
            await asyncio.to_thread(write_json, folder / PROCESS, known)
        try:
            answer = await self.ask(
                "start", running.id, spec=dict(spec), folder=where, limit=limit, keep=keep
            )
        except BaseException:
            # Cancelled on the way: nobody would ever stop it.
            await asyncio.shield(running.end())
            raise
        if "error" in answer:
            del self.running[running.id]
            raise OSError(answer["error"])
        return running

    async def attach(self, job_id: str) -> Running | None:
        """Listen to a program that another host started; None if it is not known."""
        await self._open()
        running = self.running.get(job_id) or Running(self, job_id)
        self.running[job_id] = running
        answer = await self.ask("attach", job_id)
        if "error" in answer:
            del self.running[job_id]
            return None
        if answer.get("ended") is not None:
            _settle(running.done, answer["ended"])
        return running

    async def ask(self, op: str, job_id: str, **more: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        writer = self._writer
        if writer is None or writer.is_closing():
            text = "the warden has gone"
            raise WardenLostError(text)
        self._number += 1
        number = self._number
        future = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        message = {"n": number, "op": op, "id": job_id, **more}
        try:
            writer.write(json.dumps(message).encode() + b"\n")
            await writer.drain()
            answer: dict[str, Any] = await future
        except ConnectionError as error:
            raise WardenLostError(str(error)) from error
        finally:
            self._answers.pop(number, None)
        return answer

    async def _open(self) -> None:
        async with self._opening:
            if self._writer is not None and not self._writer.is_closing():
                return
            if self._path is None or self._process is not None:
                await self._launch()
            assert self._path is not None  # noqa: S101 - launched above
            reader, self._writer = await _connect(self._path)
            self._reader = asyncio.create_task(self._hear(reader))

    async def _launch(self) -> None:
        folder = self._folder
        if folder is None:
            self._own = tempfile.TemporaryDirectory(prefix="toolcrib-")
            folder = Path(self._own.name)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"warden-{secrets.token_hex(4)}"
        self._process = await asyncio.to_thread(_spawn, self._path)

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._take(json.loads(line))
        except (ConnectionError, ValueError):
            pass
        finally:
            gone = WardenLostError("the warden has gone")
            if self._writer is not None:
                self._writer.close()
            for future in self._answers.values():
                _fail(future, gone)
            for running in self.running.values():
                _fail(running.done, gone)
            self.running.clear()

    def _take(self, message: dict[str, Any]) -> None:
        if "n" in message:
            future = self._answers.get(message["n"])
            if future is not None:
                _settle(future, message)
        elif "ended" in message:
            running = self.running.pop(message["ended"], None)
            if running is not None:
                _settle(running.done, message["result"])
        elif "started" in message:
            found = self.running.get(message["started"])
            if found is not None:
                found.pid = message["pid"]
        elif "output" in message:
            found = self.running.get(message["output"])
            if found is not None and found.on_output is not None:
                found.on_output(base64.b64decode(message["data"]))

    async def close(self) -> None:
        """Let go: what was not kept is stopped by the warden."""
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(ConnectionError):
                await self._writer.wait_closed()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait({self._reader})
        if self._process is not None and self._process.poll() is None:
            # It outlives this host only where something was kept; either way it is waited
            # for no longer, so that no zombie and no warning stays.
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, 0.5)
            self._process.returncode = self._process.returncode or 0
        if self._own is not None:
            self._own.cleanup()


# Nobody looks before: a signal may cancel a future between any two steps.


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    with contextlib.suppress(asyncio.InvalidStateError):
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    with contextlib.suppress(asyncio.InvalidStateError):
        future.set_exception(error)
        future.exception()  # Nobody may be waiting; that is no fault.


async def _connect(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a socket whose path may be longer than the system allows."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Only Linux names an open folder; elsewhere the path has to be short enough.
        linux = sys.platform.startswith("linux")
        name = f"/proc/self/fd/{folder}/{path.name}" if linux else str(path)
        return await asyncio.open_unix_connection(name, limit=1 << 26)
    finally:
        os.close(folder)


async def reach(path: Path) -> Warden | None:
    """Return a link to a warden that runs already, or None."""
    link = Warden(path=path)
    try:
        await link._open()  # noqa: SLF001 - this module's own class
    except OSError:
        return None
    return link


def _spawn(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-I", "-c", _BOOT, str(path), json.dumps(sys.path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
    assert process.stdout is not None  # noqa: S101 - it was asked for
    assert process.stderr is not None  # noqa: S101 - as above
    with process.stdout as out, process.stderr as err:
        if out.readline() != b"ready\n":
            said = err.read(2000).decode("utf-8", "replace").strip()
            process.kill()
            process.wait()
            text = f"the warden could not be started: {said[-500:]}"
            raise OSError(text)
    return process


def completed_of(result: Mapping[str, Any], argv: tuple[str, ...]) -> Completed:
    """Return a run as :func:`toolcrib_runners.run` would.

    Raises:
        OSError: the program could not be started.
    """
    if "error" in result:
        if result.get("errno"):
            raise OSError(result["errno"], result["error"])
        raise OSError(result["error"])

    def stream(name: str) -> Captured:
        found = result.get(name)
        if found is None:
            return Captured()
        head, tail = (base64.b64decode(found[part]) for part in ("head", "tail"))
        return Captured(head, tail, found["total"])

    return Completed(
        argv=argv,
        ended=result["ended"],
        returncode=result["returncode"],
        signal=result["signal"],
        stdout=stream("out"),
        stderr=stream("err"),
        duration=result["duration"],
        detached=tuple(Member(*m) for m in result["detached"]),
        survivors=tuple(Member(*m) for m in result["survivors"]),
        wanted_input=result["wanted_input"],
    )
