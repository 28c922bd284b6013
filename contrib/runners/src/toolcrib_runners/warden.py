"""The warden: a small process that runs programs, and goes on when its host has died.

Hosts talk to it over a socket in a private folder, in JSON lines. Programs that were
started for a call end with the host's connection. Those that were *kept* go on, write
their output to the job's folder, and leave how they ended in ``result.json`` there, so a
later host can read it or listen again. With nobody to talk to and nothing to run, it ends.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import sys
import threading

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolcrib.jobs import JobLog, start_of

from .engine import Completed, Engine, Spec
from .reaper import Reaper


__all__ = ["PROCESS", "RESULT", "main", "write_json"]

RESULT = "result.json"
"""File that tells how a job ended."""

PROCESS = "process.json"
"""File that tells which process a job is, and under which warden."""

_FIELDS = frozenset({
    "argv", "cwd", "env", "timeout", "grace", "output_limit", "merge", "keep_open",
    "input",
})  # fmt: skip
_IDLE = 5.0


def write_json(path: Path, value: Any) -> None:
    """Write a file in one step, so that nobody reads half of it."""
    part = path.with_name(path.name + ".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(value).encode())
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class _Host:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.alive = True

    def say(self, message: Mapping[str, Any]) -> None:
        """Send a message; a host that is gone hears nothing."""
        data = json.dumps(message).encode() + b"\n"
        with self._lock, contextlib.suppress(OSError):
            self._connection.sendall(data)

    def lines(self) -> Any:
        """Give what the host says, line by line, until it is gone."""
        with contextlib.suppress(OSError), self._connection.makefile("rb") as file:
            yield from file
        self.alive = False


class _Job:
    """One program."""

    def __init__(self, warden: _Warden, job_id: str, host: _Host, spec: dict[str, Any]) -> None:
        self.id = job_id
        self.hosts = {host}
        self._warden = warden
        self._lock = threading.Lock()
        self._early: bytearray | None = bytearray()
        self._log: JobLog | None = None
        self._folder: Path | None = None
        self._streams = False
        self._lost = 0
        self._process: dict[str, Any] = {}
        self._keep = int(spec.get("output_limit", 1 << 16))
        self.ended: dict[str, Any] | None = None
        self.engine = Engine(
            Spec(
                **spec,
                on_output=self._on_output,
                on_start=self._on_start,
                reaper=warden.reaper,
            )
        )

    def run(self) -> None:
        """Run it to its end, and tell."""
        try:
            completed = self.engine.run()
        except Exception as error:  # noqa: BLE001 - told to the host
            ended: dict[str, Any] = {"error": f"{type(error).__name__}: {error}"}
            if isinstance(error, OSError):
                ended["errno"] = error.errno
        else:
            ended = _told(completed)
        with self._lock:
            if self._folder is not None:
                self._write_result(ended)
            # Only now: once nothing runs any more, the warden may end at any moment.
            self.ended = ended
            hosts = list(self.hosts)
        for host in hosts:
            host.say({"ended": self.id, "result": ended})
        self._warden.finished(self)

    def _write_result(self, ended: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.close()
        if self._folder is not None and self._folder.is_dir():
            short = {k: v for k, v in ended.items() if k not in {"out", "err"}}
            with contextlib.suppress(OSError):
                write_json(self._folder / RESULT, short)

    def _on_start(self, pid: int, mark: str) -> None:
        with self._lock:
            self._process = {
                "run": self.id,
                "pid": pid,
                "start": start_of(pid),
                "mark": mark,
                "warden": os.getpid(),
                "socket": str(self._warden.path),
            }
            self._write_process()
        for host in list(self.hosts):
            host.say({"started": self.id, "pid": pid})

    def _write_process(self) -> None:
        if self._folder is not None and self._process:
            with contextlib.suppress(OSError):
                write_json(self._folder / PROCESS, self._process)

    def _on_output(self, _stream: str, data: bytes) -> None:
        with self._lock:
            if self._log is not None:
                # A full disk ends the record, not the program.
                with contextlib.suppress(OSError):
                    self._log.write(data)
            elif self._streams:
                self._send(data)
            elif self._early is not None:
                self._early += data
                if len(self._early) > 2 * self._keep:
                    self._lost += len(self._early) - self._keep
                    del self._early[: len(self._early) - self._keep]

    def _send(self, data: bytes) -> None:
        text = base64.b64encode(data).decode()
        for host in list(self.hosts):
            host.say({"output": self.id, "data": text})

    def keep(self, folder: str | None, limit: int) -> None:
        """Let it go on without its host, or send its output from now on."""
        with self._lock:
            early, self._early = bytes(self._early or b""), None
            if folder is None:
                self._streams = True
                if early:
                    self._send(early)
                return
            self._folder = Path(folder)
            self._log = JobLog(self._folder, limit)
            if self._lost:
                self._log.skip(self._lost)
            with contextlib.suppress(OSError):
                self._log.write(early)
            self._write_process()
            if self.ended is not None:
                self._write_result(self.ended)

    @property
    def kept(self) -> bool:
        """Whether it goes on without a host."""
        return self._folder is not None


class _Warden:
    """All programs of one warden."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reaper = Reaper()
        self._jobs: dict[str, _Job] = {}
        self._hosts: set[_Host] = set()
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)

    def serve(self, listener: socket.socket) -> None:
        """Take connections until there is nothing left to do."""
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        with self._idle:
            # The first host comes at once; then there is somebody, or something, always.
            self._idle.wait_for(lambda: bool(self._hosts), timeout=_IDLE)
            while self._hosts or any(j.ended is None for j in self._jobs.values()):
                self._idle.wait()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            host = _Host(connection)
            with self._idle:
                self._hosts.add(host)
                self._idle.notify_all()
            threading.Thread(target=self._listen, args=(host,), daemon=True).start()

    def _listen(self, host: _Host) -> None:
        for line in host.lines():
            try:
                message = json.loads(line)
                answer = self._answer(host, message)
            except Exception as error:  # noqa: BLE001 - told to the host
                answer = {"error": f"{type(error).__name__}: {error}"}
                message = message if isinstance(message, dict) else {}
            if "n" in message:
                host.say({"n": message["n"], **answer})
        with self._idle:
            self._hosts.discard(host)
            for job in self._jobs.values():
                job.hosts.discard(host)
                if not job.kept and not job.hosts:
                    job.engine.cancel()
            self._idle.notify_all()

    def _answer(self, host: _Host, message: dict[str, Any]) -> dict[str, Any]:
        job_id = message["id"]
        if message["op"] == "start":
            spec = dict(message["spec"])
            if spec.get("input") is not None:
                spec["input"] = spec["input"].encode()
            unknown = set(spec) - _FIELDS
            if unknown:
                text = f"a program has no {', '.join(sorted(unknown))}"
                raise TypeError(text)
            job = _Job(self, job_id, host, spec)
            if message.get("keep"):
                job.keep(message.get("folder"), message["limit"])
            with self._idle:
                self._jobs[job_id] = job
            threading.Thread(target=job.run, name=job_id, daemon=True).start()
            return {"ok": True}
        known = self._jobs.get(job_id)
        if known is None:
            return {"error": "unknown"}
        answers: dict[str, Callable[[], Any]] = {
            "keep": lambda: known.keep(message.get("folder"), message["limit"]),
            "stop": known.engine.cancel,
            "attach": lambda: known.hosts.add(host),
        }
        if message["op"] == "input":
            data = base64.b64decode(message["data"])
            return {"ok": known.engine.feed(data, close=bool(message.get("close")))}
        answers[message["op"]]()
        return {"ok": True, "ended": known.ended}

    def finished(self, job: _Job) -> None:
        """Forget a program that has ended and that somebody was told of."""
        with self._idle:
            if len(self._jobs) > 64:
                for old in [j for j in self._jobs.values() if j.ended is not None][:32]:
                    del self._jobs[old.id]
            self._idle.notify_all()


def _told(completed: Completed) -> dict[str, Any]:
    def stream(captured: Any) -> dict[str, Any]:
        return {
            "head": base64.b64encode(captured.head).decode(),
            "tail": base64.b64encode(captured.tail).decode(),
            "total": captured.total,
        }

    def members(found: Any) -> list[list[Any]]:
        return [[m.pid, m.started, m.name, m.group] for m in found]

    return {
        "ended": completed.ended,
        "returncode": completed.returncode,
        "signal": completed.signal,
        "duration": completed.duration,
        "detached": members(completed.detached),
        "survivors": members(completed.survivors),
        "wanted_input": completed.wanted_input,
        "out": stream(completed.stdout),
        "err": stream(completed.stderr),
    }


def main(argv: list[str] | None = None) -> None:
    """Run a warden: ``python -m toolcrib_runners.warden SOCKET``."""
    path = Path((argv if argv is not None else sys.argv[1:])[0])
    # A terminal's interrupt is meant for the host, which decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The name of a socket is short, folders are long: it is bound from inside its folder.
    os.chdir(path.parent)
    os.umask(0o077)
    listener.bind(path.name)
    listener.listen(16)
    os.chdir("/")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    # Nobody reads on; a write to a closed pipe must not end the warden.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    _Warden(path).serve(listener)


if __name__ == "__main__":
    main()
