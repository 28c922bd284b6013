"""The pack, and what its tools share: who runs programs, and what a result says."""

from __future__ import annotations

import os

from typing import Any

from toolcrib import Context, Pack, Refused, Requirements, Result, Text
from toolcrib_runners import Completed, ProcessKind, Warden, describe


__all__ = ["folder_of", "job_result", "kind_of", "pack", "result_of_run"]

# Variables of a plain type: a checker reads the converter as taking nothing certain.
_BASH: Any = ("bash",)
_JOBS: Any = ("jobs",)

pack = Pack(
    "shell",
    title="Shell",
    category="shell",
    requires=Requirements(executables=_BASH, capabilities=_JOBS),
)


def kind_of(ctx: Context) -> ProcessKind:
    """Return the app's kind of job for programs, with somebody to run them."""
    kind = ctx.jobs.register(ProcessKind())
    if kind.warden is None:
        kind.warden = Warden(ctx.host.state / "wardens")
    return kind  # type: ignore[no-any-return]


def folder_of(ctx: Context, cwd: Any) -> str:
    """Return the folder to run in, if it is still the one that was judged."""
    wanted = os.path.realpath(os.path.join(ctx.workspace.root, str(cwd)))
    judged = (
        {r.value for r in ctx.signature.resources if r.type == "path"}
        if (ctx.signature)
        else {wanted}
    )
    if wanted not in judged and "" not in judged:
        text = f"{cwd} is not where it led when this call was judged. Nothing ran. Call again."
        raise Refused(text, code="shell.path_changed")
    if not os.path.isdir(wanted):
        text = f"{cwd} is no folder. Nothing ran."
        raise Refused(text, code="shell.no_folder")
    return wanted


def result_of_run(completed: Completed) -> Result:
    """Return what a command said and how it ended, from facts only."""
    how = describe(completed).replace(f"{completed.argv[0]}: ", "", 1)
    blocks = []
    for name, stream in (("stdout", completed.stdout), ("stderr", completed.stderr)):
        if stream.total:
            blocks.append(Text(f"{name}:\n{stream.text()}"))
    notes: list[str] = [] if completed.ended == "exited" else [completed.ended]
    if completed.stdout.dropped or completed.stderr.dropped:
        notes.append("output_shortened")
    return Result(
        summary=how,
        content=[Text(how), *blocks],
        structured={
            "ended": completed.ended,
            "exit_code": completed.returncode,
            "signal": completed.signal,
            "seconds": round(completed.duration, 3),
            "stdout_bytes": completed.stdout.total,
            "stdout_dropped": completed.stdout.dropped,
            "stderr_bytes": completed.stderr.total,
            "stderr_dropped": completed.stderr.dropped,
            "left_running": [m.pid for m in completed.survivors],
            "wanted_input": completed.wanted_input,
            "job": None,
        },
        notes=notes,
    )


def job_result(job: Any, text: str, *, output: bytes = b"", offset: int = 0) -> Result:
    """Return how a background command stands."""
    said = output.decode("utf-8", "replace")
    blocks = [Text(text)]
    if said:
        blocks.append(Text(f"output from byte {offset}:\n{said}"))
    return Result(
        summary=text,
        content=blocks,
        structured={
            "job": job.id,
            "status": job.status,
            "size": job.size,
            "kept_from": job.kept_from,
            "next": offset + len(output),
            "result": job.result,
            "error": job.error,
        },
    )
