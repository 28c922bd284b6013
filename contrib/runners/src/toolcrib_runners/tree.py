"""Everything that a child started, found and stopped as a whole.

A child leads a session and group of its own, and carries a mark in its environment
that all its descendants inherit. So descendants are found even when they have left the
group, started a new session, or lost their parent. Where there is no ``/proc``, only
the group can be reached.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from collections.abc import Callable
from pathlib import Path

import attrs


__all__ = ["MARK", "Member", "Tree"]

MARK = "TOOLCRIB_RUN"
"""Name of the variable that marks all processes of one run."""

_PROC = Path("/proc")
_POLL = 0.01


@attrs.frozen
class Member:
    """One process; ``started`` tells it from a later one with the same number."""

    pid: int
    started: int
    name: str
    group: int


class Tree:
    """The processes of one run.

    Args:
        leader: Process that was started, and leads its session and group.
        mark: Value of :data:`MARK` in its environment.
        leader_start: When the leader started, where that has to tell it from others.
    """

    def __init__(self, leader: int, mark: str, *, leader_start: str = "") -> None:
        self._leader = leader
        self._leader_start = leader_start
        self._mark = f"{MARK}={mark}".encode()

    def members(self) -> tuple[Member, ...]:
        """Return what is alive, the leader included; nothing where that cannot be told."""
        if not sys.platform.startswith("linux"):
            return ()
        found = []
        for entry in os.listdir(_PROC):  # noqa: PTH208 - thousands of names, no objects
            if entry.isdigit() and int(entry) != os.getpid():
                member = self._member(int(entry))
                if member is not None:
                    found.append(member)
        return tuple(sorted(found, key=lambda m: m.pid))

    def marked(self) -> tuple[Member, ...]:
        """Return what carries the mark; for runs of another process, long after."""
        leader, self._leader = self._leader, -1
        try:
            found = self.members()
        finally:
            self._leader = leader
        # The leader's own environment carries the mark unless it replaced it; then its
        # number and the time of its start are what is known of it.
        if self._leader_start and leader not in {m.pid for m in found}:
            member = self._by_number(leader)
            if member is not None and str(member.started) == self._leader_start:
                found = (*found, member)
        return found

    def stop_marked(
        self, *, grace: float, wait: Callable[[float], object]
    ) -> tuple[Member, ...]:
        """Ask everything that carries the mark to end, then kill; return who resisted."""
        self._send(signal.SIGTERM)
        end = time.monotonic() + grace
        while time.monotonic() < end and self.marked():
            wait(_POLL)
        for _ in range(50):
            if not self.marked():
                break
            self._send(signal.SIGKILL)
            wait(_POLL)
        return self.marked()

    def _send(self, number: int) -> None:
        for member in self.marked():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, number)

    def stop(
        self, *, grace: float, leader_alive: bool, wait: Callable[[float], object]
    ) -> tuple[Member, ...]:
        """Ask everything to end, wait for the grace, then kill; return who resisted.

        ``wait`` passes the time; it should read output meanwhile, or nobody could say a
        last word.
        """
        self._signal(signal.SIGTERM, leader_alive=leader_alive)
        end = time.monotonic() + grace
        while time.monotonic() < end and (self.members() or self._group_alive(leader_alive)):
            wait(_POLL)
        return self.kill(leader_alive=leader_alive)

    def kill(self, *, leader_alive: bool) -> tuple[Member, ...]:
        """Kill everything, again and again until nothing new appears; return who was left."""
        left: tuple[Member, ...] = ()
        for _ in range(50):
            self._signal(signal.SIGKILL, leader_alive=leader_alive)
            left = self.members()
            if not left:
                break
            time.sleep(_POLL)
        return left

    def _signal(self, number: int, *, leader_alive: bool) -> None:
        asked = 0
        if leader_alive:
            # All of the group at once, and nobody twice: a second signal would hit a
            # program in the middle of its clean-up.
            asked = self._leader
            # Its number cannot belong to anybody else before it has been waited for.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)
        for member in self.members():
            if member.group == asked and number != signal.SIGKILL:
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, number)

    def _group_alive(self, leader_alive: bool) -> bool:  # noqa: FBT001
        if sys.platform.startswith("linux") or not leader_alive:
            return False
        try:
            os.killpg(self._leader, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _by_number(self, pid: int) -> Member | None:
        leader, self._leader = self._leader, pid
        try:
            return self._member(pid)
        finally:
            self._leader = leader

    def _member(self, pid: int) -> Member | None:
        folder = _PROC / str(pid)
        try:
            stat = (folder / "stat").read_bytes()
            # The name stands in brackets and may hold anything, brackets included.
            name, _, rest = stat.partition(b"(")[2].rpartition(b")")
            fields = rest.split()
            state, group, session, started = fields[0], fields[2], fields[3], fields[19]
            if state in {b"Z", b"X"}:
                return None
            ours = int(session) == self._leader or int(group) == self._leader
            if not ours and self._mark not in (folder / "environ").read_bytes().split(b"\0"):
                return None
        except (OSError, IndexError, ValueError):
            # It has ended meanwhile, or belongs to somebody else.
            return None
        return Member(pid, int(started), name.decode("utf-8", "replace"), int(group))
