"""Runs one server and ends it, with all that it started, when its owner lets go.

This file is run by itself, ``python -I -S keeper.py FD PROGRAM ARGUMENT…``, and imports
the standard library only. FD is a pipe of which the owner holds the other end. When that
end closes, because the owner says so or because it died in whatever way, the server is
asked to end, and then killed. Its descendants cannot escape by leaving the group or by
losing their parent: on Linux this process inherits them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time


_SUBREAPER = 36
_DEATH_SIGNAL = 1
_GRACE = 0.5
_PATIENCE = 3.0


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(argv: list[str], control: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.close(control)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.execvp(argv[0], argv)  # noqa: S606 - this is its purpose
    except BaseException as error:  # noqa: BLE001 - a forked child may only end
        os.write(2, f"{argv[0]}: {error}\n".encode(errors="replace"))
    os._exit(127)


def _descendants() -> list[int]:
    """Return every process below this one; none where that cannot be told."""
    parents: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name stands in brackets and may hold anything, brackets included.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields and fields[0] not in {b"Z", b"X"}:
            parents.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _signal(server: int, number: int, *, alive: bool) -> None:
    if alive:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(server, number)
    for pid in _descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap(server: int) -> tuple[int | None, bool]:
    """Wait for what has ended; return the server's status and whether any child is left."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, True
        if pid == server:
            status = ended


def _end(server: int, status: int | None) -> int | None:
    """Ask, then kill, until nothing is left."""
    left = True
    start = time.monotonic()
    if status is None:
        _signal(server, signal.SIGTERM, alive=True)
        while status is None and left and time.monotonic() < start + _GRACE:
            time.sleep(0.01)
            ended, left = _reap(server)
            status = ended if status is None else status
    end = time.monotonic() + _PATIENCE
    while left and time.monotonic() < end:
        _signal(server, signal.SIGKILL, alive=status is None)
        time.sleep(0.005)
        ended, left = _reap(server)
        status = ended if status is None else status
    return status


def main(control: int, argv: list[str]) -> int:
    """Run the server to its end and return what it ended with, as shells count."""
    _prctl(_SUBREAPER, 1)
    heard, heard_end = os.pipe()
    os.set_blocking(heard_end, False)
    signal.set_wakeup_fd(heard_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    server = _start(argv, control)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)  # so that the server's ends are the only ones
    status: int | None = None
    while status is None:
        ready, _, _ = select.select([control, heard], [], [])
        if control in ready and not os.read(control, 1):
            break
        if heard in ready:
            os.read(heard, 4096)
        status, _ = _reap(server)
    status = _end(server, status)
    return 137 if status is None else _code(status)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
