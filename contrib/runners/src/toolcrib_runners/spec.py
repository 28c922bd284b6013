"""What to run, and how a run ended."""

from __future__ import annotations

import re
import signal

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import attrs

from .captured import Captured
from .reaper import Reaper
from .tree import Member


__all__ = ["Completed", "OnOutput", "Spec", "asks", "signal_name"]

OnOutput = Callable[[str, bytes], None]
"""``on_output(stream, data)``, where the stream is ``stdout`` or ``stderr``."""

_NOTHING = Captured()
_PROMPT = re.compile(r"(\?|:|>|\]|\)|password|passphrase|\(y/n\))\s*$", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Spec:
    """What to run, and within which bounds.

    Attributes:
        argv: Program and arguments; never a shell line.
        cwd: Folder to run in.
        env: What the child gets besides the small base environment.
        input: Bytes for its standard input; None: it is at its end at once.
        timeout: Seconds until everything is stopped; None: no limit.
        grace: Seconds between asking to end and killing.
        output_limit: Bytes kept of each stream.
        merge: Whether standard error goes into standard output, in order.
        leave_detached: Whether what the program leaves behind may go on.
        on_output: Told output as it comes, in the thread of the run.
        keep_open: Whether standard input stays open for :meth:`Engine.feed`.
        on_start: Told process id and mark once the program runs, in the thread of the run.
        reaper: Who knows whether anything is left behind, in a process that has one.
        answer_limit: Bytes kept of a third stream, for answers that must not mix with
            output; its descriptor is in the child's ``TOOLCRIB_ANSWER``. None: no such
            stream.
    """

    argv: Sequence[str]
    cwd: str | Path | None = None
    env: Mapping[str, str] | None = None
    input: bytes | None = None
    timeout: float | None = None
    grace: float = 1.0
    output_limit: int = 1 << 20
    merge: bool = False
    leave_detached: bool = False
    on_output: OnOutput | None = None
    keep_open: bool = False
    on_start: Callable[[int, str], None] | None = None
    reaper: Reaper | None = None
    answer_limit: int | None = None


@attrs.frozen(kw_only=True)
class Completed:
    """How a run ended, and what it said.

    Attributes:
        ended: ``exited`` by itself, ``timeout`` or ``cancelled``.
        returncode: Exit code; None if a signal ended it.
        signal: Name of the signal that ended it, or None.
        stdout, stderr: What was written.
        answer: What was written to the third stream, if there was one.
        duration: Seconds.
        detached: What the program left running when it ended; stopped, unless it was
            allowed to go on.
        survivors: What could not be stopped.
        wanted_input: Whether it looks as if it asked a question and met the end of its
            input.
    """

    argv: tuple[str, ...]
    ended: Literal["exited", "timeout", "cancelled"]
    returncode: int | None
    signal: str | None
    stdout: Captured
    stderr: Captured
    answer: Captured = _NOTHING
    duration: float
    detached: tuple[Member, ...] = ()
    survivors: tuple[Member, ...] = ()
    wanted_input: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.ended == "exited" and self.returncode == 0


def asks(stream: Captured) -> bool:
    """Tell whether the last words of a stream look like a question."""
    last = stream.data[-200:].decode("utf-8", "replace").rsplit("\n", 1)[-1]
    return bool(last.strip()) and _PROMPT.search(last) is not None


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
