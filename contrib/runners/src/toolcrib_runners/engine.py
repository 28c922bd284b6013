"""One run of one program, in the calling thread, until it has ended or was stopped."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import subprocess
import threading
import time

from collections.abc import Callable
from typing import Any, Literal

from .captured import Recorder
from .environment import environment
from .spec import Completed, OnOutput, Spec, asks, signal_name
from .tree import MARK, Member, Tree


__all__ = ["ANSWER", "Completed", "Engine", "OnOutput", "Spec"]

ANSWER = "TOOLCRIB_ANSWER"
"""Name of the variable that tells a child the descriptor for its answer."""

_CHUNK = 1 << 16
# How often an end is looked for where the system cannot announce it.
_TICK = 0.02
# Pipes that stay open after the program ended belong to something that it left behind.
_LINGER = 0.1


class Engine:
    """Runs one program. :meth:`run` blocks; :meth:`cancel` may come from any thread."""

    def __init__(self, spec: Spec) -> None:
        if isinstance(spec.argv, str | bytes) or not spec.argv:
            text = "argv is a list of the program and its arguments, not a shell line"
            raise TypeError(text)
        self._spec = spec
        self._cancelled = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._lock = threading.Lock()
        self._closed = False
        self._records = {
            "stdout": Recorder(spec.output_limit),
            "stderr": Recorder(spec.output_limit),
            "answer": Recorder(spec.answer_limit or 0),
        }
        self._answer: int | None = None
        # Streams that have not come to their end.
        self._open: dict[str, int] = {}
        self._input = memoryview(spec.input or b"")
        # What was fed and not yet taken over; False once there will be no more.
        self._fed = bytearray()
        self._feeding = spec.keep_open

    def cancel(self) -> None:
        """Stop the run; a second time changes nothing."""
        with self._lock:
            self._cancelled.set()
            if not self._closed:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake_write, b"x")

    def feed(self, data: bytes, *, close: bool = False) -> bool:
        """Give more for standard input; False if it is closed already."""
        with self._lock:
            if self._closed or not self._feeding:
                return False
            self._fed += data
            self._feeding = not close
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake_write, b"x")
        return True

    def run(self) -> Completed:
        """Run to the end.

        Raises:
            OSError: the program cannot be started.
        """
        try:
            return self._run()
        finally:
            with self._lock:
                self._closed = True
                os.close(self._wake_read)
                os.close(self._wake_write)
                if self._answer is not None:
                    os.close(self._answer)

    def _run(self) -> Completed:
        spec = self._spec
        mark = secrets.token_hex(8)
        started = time.monotonic()
        process = self._start(mark)
        tree = Tree(process.pid, mark)
        if self._spec.on_start is not None:
            self._spec.on_start(process.pid, mark)
        left: tuple[Member, ...] = ()
        detached: tuple[Member, ...] = ()
        try:
            ended = self._watch(process, started)
            if ended == "exited":
                detached = self._left_behind(process.pid, tree)
            if ended != "exited" or (detached and not spec.leave_detached):
                grace = spec.grace if not self._cancelled.is_set() else min(spec.grace, 0.5)
                left = tree.stop(
                    grace=grace, leader_alive=process.returncode is None, wait=self._pump
                )
            self._drain(process)
        except BaseException:
            tree.kill(leader_alive=process.returncode is None)
            raise
        finally:
            self._close(process)
        return self._completed(process, ended, started, detached, left)

    def _left_behind(self, leader: int, tree: Tree) -> tuple[Member, ...]:
        reaper = self._spec.reaper
        if reaper is not None:
            reaper.ended(leader)
            if reaper.alone():
                return ()
        return tree.members()

    def _start(self, mark: str) -> subprocess.Popen[bytes]:
        spec = self._spec
        env = {**environment(spec.env), MARK: mark}
        passed: tuple[int, ...] = ()
        if spec.answer_limit is not None:
            self._answer, write = os.pipe()
            env[ANSWER] = str(write)
            passed = (write,)
        held = (
            spec.reaper.starting()
            if spec.reaper is not None
            else contextlib.nullcontext(set[int]())
        )
        try:
            with held as leaders:
                process = subprocess.Popen(  # noqa: S603 - what to run was judged before
                    list(spec.argv),
                    cwd=spec.cwd,
                    env=env,
                    stdin=subprocess.PIPE
                    if spec.input is not None or spec.keep_open
                    else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if spec.merge else subprocess.PIPE,
                    start_new_session=True,
                    pass_fds=passed,
                    bufsize=0,
                )
                leaders.add(process.pid)
            return process
        finally:
            for descriptor in passed:
                os.close(descriptor)

    def _watch(
        self, process: subprocess.Popen[bytes], started: float
    ) -> Literal["exited", "timeout", "cancelled"]:
        """Read and write until the program has ended, is too late, or is cancelled."""
        spec = self._spec
        end = None if spec.timeout is None else started + spec.timeout
        linger: float | None = None
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            self._register(selector, process, stack)
            while True:
                now = time.monotonic()
                if self._cancelled.is_set():
                    return "cancelled"
                if end is not None and now >= end:
                    return "timeout"
                if process.poll() is not None:
                    linger = linger if linger is not None else now + _LINGER
                    if now >= linger or not self._reading(selector):
                        return "exited"
                waits = _TICK if linger is not None or not self._announced else None
                if end is not None:
                    waits = min(end - now, waits if waits is not None else end - now)
                for key, _ in selector.select(waits):
                    key.data(selector, key.fd)
                if spec.keep_open:
                    self._take_fed(selector, process)

    def _register(
        self,
        selector: selectors.BaseSelector,
        process: subprocess.Popen[bytes],
        stack: contextlib.ExitStack,
    ) -> None:
        self._open = dict(self._streams(process))
        for name, descriptor in self._open.items():
            os.set_blocking(descriptor, False)
            selector.register(descriptor, selectors.EVENT_READ, self._reader(name))
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            stdin = process.stdin
            selector.register(stdin, selectors.EVENT_WRITE, lambda s, _: self._feed(s, stdin))
        wake = _woken if self._spec.keep_open else _nothing
        selector.register(self._wake_read, selectors.EVENT_READ, wake)
        self._announced = False
        with contextlib.suppress(AttributeError, OSError):
            announcer = os.pidfd_open(process.pid)
            stack.callback(os.close, announcer)
            selector.register(announcer, selectors.EVENT_READ, _forget)
            self._announced = True

    def _streams(self, process: subprocess.Popen[bytes]) -> list[tuple[str, int]]:
        pipes = (("stdout", process.stdout), ("stderr", process.stderr))
        streams = [(name, pipe.fileno()) for name, pipe in pipes if pipe is not None]
        if self._answer is not None:
            streams.append(("answer", self._answer))
        return streams

    def _reading(self, selector: selectors.BaseSelector) -> bool:
        return any(
            key.events & selectors.EVENT_READ and key.data not in {_nothing, _woken, _forget}
            for key in selector.get_map().values()
        )

    def _reader(self, name: str) -> Callable[[selectors.BaseSelector, int], None]:
        def read(selector: selectors.BaseSelector, descriptor: int) -> None:
            if not self._take(name, descriptor):
                selector.unregister(descriptor)

        return read

    def _take(self, name: str, descriptor: int) -> bool:
        """Read once; False at the end of the stream."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            self._open.pop(name, None)
            return False
        self._records[name].write(data)
        if self._spec.on_output is not None and name != "answer":
            self._spec.on_output(name, data)
        return True

    def _feed(self, selector: selectors.BaseSelector, stdin: Any) -> None:
        try:
            written = os.write(stdin.fileno(), self._input[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            # The program does not read on; that is its right.
            written = len(self._input)
        self._input = self._input[written:]
        if not self._input:
            selector.unregister(stdin)
            # What is kept open may have been fed meanwhile; that is taken over first.
            if not self._spec.keep_open:
                stdin.close()

    def _take_fed(
        self, selector: selectors.BaseSelector, process: subprocess.Popen[bytes]
    ) -> None:
        """Take over what was fed; the program's input closes with the last of it."""
        stdin = process.stdin
        if stdin is None or stdin.closed or stdin in selector.get_map():
            return
        with self._lock:
            self._input = memoryview(bytes(self._fed))
            self._fed.clear()
            done = not self._feeding
        if self._input:
            selector.register(stdin, selectors.EVENT_WRITE, lambda s, _: self._feed(s, stdin))
        elif done:
            stdin.close()

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        """Take what is in the pipes already, without waiting for more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        # No more than pipes can hold, or a survivor could write for ever.
        for _ in range(64):
            if not self._pump(0.0):
                break

    def _pump(self, seconds: float) -> bool:
        """Read what comes within a time; False if nothing did."""
        if not self._open:
            if seconds:
                time.sleep(seconds)
            return False
        with selectors.DefaultSelector() as selector:
            for name, descriptor in self._open.items():
                selector.register(descriptor, selectors.EVENT_READ, name)
            ready = selector.select(seconds)
        for key, _ in ready:
            self._take(key.data, key.fd)
        return bool(ready)

    def _close(self, process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if process.poll() is not None and self._spec.reaper is not None:
            self._spec.reaper.ended(process.pid)

    def _completed(
        self,
        process: subprocess.Popen[bytes],
        ended: Literal["exited", "timeout", "cancelled"],
        started: float,
        detached: tuple[Member, ...],
        left: tuple[Member, ...],
    ) -> Completed:
        code = process.returncode
        stopped = code is not None and code < 0
        out, err = self._records["stdout"].captured(), self._records["stderr"].captured()
        return Completed(
            argv=tuple(self._spec.argv),
            ended=ended,
            returncode=None if stopped else code,
            signal=signal_name(-code) if stopped and code is not None else None,
            stdout=out,
            stderr=err,
            answer=self._records["answer"].captured(),
            duration=time.monotonic() - started,
            detached=detached,
            survivors=left,
            wanted_input=self._spec.input is None
            and not self._spec.keep_open
            and (ended == "timeout" or code != 0)
            and (asks(out) or asks(err)),
        )


def _nothing(selector: selectors.BaseSelector, descriptor: int) -> None:
    """Wake up; the loop looks at the reason itself."""


def _woken(_selector: selectors.BaseSelector, descriptor: int) -> None:
    """Wake up and take the sign, so that it wakes once."""
    os.read(descriptor, _CHUNK)


def _forget(selector: selectors.BaseSelector, descriptor: int) -> None:
    selector.unregister(descriptor)
