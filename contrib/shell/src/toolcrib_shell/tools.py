"""The tools: ``shell.run``, ``shell.input`` and ``shell.stop``."""

from __future__ import annotations

import asyncio
import os

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from toolcrib import (
    Between,
    Context,
    Effect,
    Failed,
    Invalid,
    Length,
    NotFound,
    PackHost,
    Refused,
    Result,
    Signature,
    Tool,
    hookimpl,
    resources,
)
from toolcrib_runners import Running, completed_of

from .definition import folder_of, job_result, kind_of, pack, result_of_run
from .generalizing import rule_for
from .judging import touched_by
from .setting import Setting, root_of, setting_of
from .touched import EFFECTS


__all__ = ["input_", "run", "stop"]

_JOB = Annotated[str, "Job id that shell.run gave", Length(1, 64)]


@pack.tool(
    effects=EFFECTS,
    cancellation="process",
    timeout=630.0,
    details=(
        "Each call is a fresh bash in a folder of the workspace; nothing is kept between"
        " calls. Standard input is at its end, there is no terminal, editors and pagers"
        " are off. Commands, redirections and substitutions are judged one by one before"
        " anything runs; what cannot be understood is asked."
    ),
    usage=[
        "Use a plain line of commands; put variables between double quotes.",
        "For what runs long set background, then read it with task.output.",
        "A command that is still running after a while goes on in the background.",
    ],
    cautions=["An exit code other than 0 is no failure of the call; look at it."],
    examples=[("run the tests", {"command": "python -m pytest -q"})],
)
async def run(
    ctx: Context,
    command: Annotated[str, "The line, as bash reads it", Length(1, 100_000)],
    *,
    cwd: Annotated[Path, "Folder, from the workspace or absolute"] = Path(),
    timeout: Annotated[int, "Seconds until it is stopped", Between(1, 86_400)] = 120,
    background: Annotated[bool, "Return at once and let it go on"] = False,
    stdin: Annotated[bool, "Keep standard input open for shell.input"] = False,
) -> Result:
    """Run a command line in bash."""
    setting = setting_of(ctx.host.settings)
    folder = folder_of(ctx, cwd)
    kind = kind_of(ctx)
    spec: dict[str, Any] = {
        "argv": setting.argv(command),
        "cwd": folder,
        "env": setting.environment(),
        "timeout": float(timeout),
    }
    if background or stdin:
        job = await ctx.jobs.start("process", {**spec, "keep_open": stdin})
        return job_result(job, f"{job.id} runs in the background. {_HOW}")
    running = await kind.warden.start(  # type: ignore[union-attr]
        {**spec, "output_limit": setting.output}
    )
    return await _ended(ctx, running, setting, tuple(spec["argv"]), timeout)


_HOW = "Read it with task.output, or shell.input without data; end it with shell.stop."


async def _ended(
    ctx: Context, running: Running, setting: Setting, argv: tuple[str, ...], timeout: int
) -> Result:
    """Wait for the end, or hand over to the background when the budget is used up."""
    budget = setting.handoff if 0 < setting.handoff < timeout else None
    try:
        done, _ = await asyncio.wait({running.done}, timeout=budget)
        if not done:
            job = await ctx.jobs.start("process", {"running": running.id})
            # Its first step lets it go on; until then it is still this call's.
            await asyncio.sleep(0)
            ctx.note("background")
            text = f"Still running after {budget:g} s, now in the background as {job.id}. "
            return job_result(job, text + _HOW)
        ended = running.done.result()
    except asyncio.CancelledError:
        await asyncio.shield(running.stop())
        await asyncio.wait({running.done}, timeout=5.0)
        raise
    try:
        return result_of_run(completed_of(ended, argv))
    except OSError as error:
        text = f"bash could not be started: {error}"
        raise Failed(text, code="shell.not_started") from error


@run.signature
def _(command: str, *, cwd: Path = Path(), **_: Any) -> Signature:
    return touched_by(command, cwd=str(cwd)).signature()


@run.preview
def _(command: str, *, cwd: Path = Path(), **_: Any) -> str:
    touched = touched_by(command, cwd=str(cwd), folder=Setting().folder(None))
    lines = [f"$ {command}", f"in {cwd}"]
    lines += [f"not understood: {doubt}" for doubt in touched.doubts]
    return "\n".join(lines)


@run.generalize
def _(command: str, *, cwd: Path = Path(), **_: Any) -> str | None:
    return rule_for(touched_by(command, cwd=str(cwd)))


@run.check
def _(command: str, **_: Any) -> None:
    if "\0" in command:
        text = "a command line holds no null character"
        raise Invalid("/command", text, code="shell.null")  # noqa: EM101 - a pointer


@pack.tool(
    name="input",
    effects={"process", "host_state"},
    usage=["Without data it only looks: how the job stands, and its output from an offset."],
)
async def input_(
    ctx: Context,
    job: _JOB,
    *,
    data: Annotated[str, "Text for its standard input", Length(0, 65_536)] = "",
    close: Annotated[bool, "End its standard input after that"] = False,
    offset: Annotated[int, "First byte of output to show", Between(0, 2**53)] = 0,
    wait: Annotated[float, "Seconds to wait for its end", Between(0, 600)] = 0.0,
) -> Result:
    """Give input to a background command, and see how it stands."""
    kind = kind_of(ctx)
    await _of_shell(ctx, job)
    if (data or close) and not await kind.feed(job, data.encode(), close=close):
        text = f"{job} takes no input: it has ended, or was started without stdin."
        raise Refused(text, code="shell.input_closed")
    record = await ctx.jobs.wait(job, timeout=wait)
    output = await ctx.jobs.output(job, offset=offset)
    start = max(offset, record.kept_from)  # type: ignore[attr-defined]
    return job_result(record, f"{job} is {record.status}.", output=output, offset=start)


@input_.signature
def _(job: str, *, data: str = "", close: bool = False, **_: Any) -> Signature:
    state = [resources.State(f"jobs/{_plain(job)}")]
    if data or close:
        # What a program makes of its input nobody can tell: a shell would run it.
        return Signature(writes=state, reads=[resources.Any("command")])
    return Signature(reads=state)


@pack.tool(effects={"host_state"}, idempotent="yes")
async def stop(ctx: Context, job: _JOB) -> Result:
    """Stop a background command with everything that it started."""
    kind_of(ctx)
    before = await _of_shell(ctx, job)
    record = await ctx.jobs.stop(job)
    text = f"{job} is {record.status}"
    if before.status != "running":
        text += "; it had ended before"
    return job_result(record, text + ".")


@stop.signature
def _(job: str) -> Signature:
    return Signature(writes=[resources.State(f"jobs/{_plain(job)}")])


def _plain(job: str) -> str:
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in job)


async def _of_shell(ctx: Context, job: str) -> Any:
    record = await ctx.jobs.get(job)
    if record.kind != "process":
        text = f"no job {job!r}"
        raise NotFound(text, code="job.unknown")
    return record


def _signature(tool: Tool, arguments: Mapping[str, Any], host: PackHost) -> Signature | None:
    if tool.name != "run":
        made: Any = {"input": input_, "stop": stop}.get(tool.name)
        function = None if made is None else made.implementation.companions.signature
        return None if function is None else cast("Signature", function(**arguments))
    setting = setting_of(host.settings)
    root = root_of(host)
    cwd = str(arguments.get("cwd", "."))
    if root and os.path.isabs(cwd) and os.path.realpath(cwd) == root:
        cwd = "."
    touched = touched_by(arguments["command"], cwd=cwd, folder=setting.folder(root))
    found = touched.signature()
    return Signature.of(
        found.effects | {Effect.FS_READ},
        [*found.resources, resources.Path(cwd)],
    )


# The pack's own answer: it needs the host, for the workspace and the settings.
pack.toolcrib_signature = hookimpl(_signature)  # type: ignore[attr-defined]
