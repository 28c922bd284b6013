"""A run as the result of a tool, in words that say exactly what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine import Completed


if TYPE_CHECKING:
    from toolcrib import Result


__all__ = ["describe", "result_of"]

_NAMED = 5


def describe(completed: Completed) -> str:
    """Return how a run ended, in one sentence or two, from facts only."""
    if completed.ended == "timeout":
        how = f"stopped after its limit, {completed.duration:.1f} s"
    elif completed.ended == "cancelled":
        how = "stopped because it was cancelled"
    elif completed.signal is not None:
        how = f"ended by {completed.signal}"
    else:
        how = f"exit code {completed.returncode}"
    words = [f"{completed.argv[0]}: {how}."]
    if completed.detached:
        names = ", ".join(f"{m.name} ({m.pid})" for m in completed.detached[:_NAMED])
        more = len(completed.detached) - _NAMED
        words.append(f"It left running: {names}{f' and {more} more' if more > 0 else ''}.")
    if completed.survivors:
        pids = ", ".join(str(m.pid) for m in completed.survivors[:_NAMED])
        words.append(f"Could not be stopped: {pids}.")
    if completed.wanted_input:
        words.append("It seems to have asked a question; nobody can answer it here.")
    return " ".join(words)


def result_of(completed: Completed) -> Result:
    """Return a result: how it ended, then standard output, then standard error."""
    from toolcrib import Result, Text  # noqa: PLC0415 - runs need no toolcrib otherwise

    blocks = [Text(describe(completed))]
    for name, stream in (("stdout", completed.stdout), ("stderr", completed.stderr)):
        if stream.total:
            blocks.append(Text(f"{name}:\n{stream.text()}"))
    return Result(
        summary=describe(completed),
        content=blocks,
        metadata={
            "ended": completed.ended,
            "returncode": completed.returncode,
            "signal": completed.signal,
            "duration": completed.duration,
            "stdout_bytes": completed.stdout.total,
            "stdout_dropped": completed.stdout.dropped,
            "stderr_bytes": completed.stderr.total,
            "stderr_dropped": completed.stderr.dropped,
            "detached": [m.pid for m in completed.detached],
            "survivors": [m.pid for m in completed.survivors],
            "wanted_input": completed.wanted_input,
        },
    )
