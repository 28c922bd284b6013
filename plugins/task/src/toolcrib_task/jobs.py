"""The tools for what outlives a call: run, output, wait, stop, jobs."""

from __future__ import annotations

import asyncio

from typing import Annotated, Any, Literal

from toolcrib import (
    Between,
    Context,
    Length,
    Requirements,
    Result,
    Signature,
    Text,
    resources,
)

from .definition import counted, of_jobs, pack, store, told
from .lineage import Run
from .running import begin, know_kinds, settle


__all__ = ["jobs", "output", "run", "stop", "wait"]

_JOB = Annotated[str, "Id of a job", Length(1, 64)]
# Variables of a plain type: a checker reads the converter as taking nothing certain.
_WITH_JOBS: Any = ("jobs",)
_WITH_AGENTS: Any = ("agents", "jobs")
_JOBS = Requirements(capabilities=_WITH_JOBS)
_FINAL = {"done", "failed", "stopped", "lost"}


@pack.tool(
    effects={"agent", "process", "fs_read", "fs_write", "host_state"},
    requires=Requirements(capabilities=_WITH_AGENTS),
    cancellation="cooperative",
    timeout=86_400.0,
    usage=[
        "Give the agent all it needs to know; it sees nothing of this conversation.",
        "In the background it goes on by itself: read it with task.output or task.wait.",
        "resume takes the job of an agent that has ended, and goes on from there.",
    ],
)
async def run(
    ctx: Context,
    type: Annotated[str, "Type of agent", Length(1, 80)],  # noqa: A002
    prompt: Annotated[str, "What it is to do", Length(1, 100_000)],
    *,
    description: Annotated[str, "The same in a few words", Length(0, 200)] = "",
    background: Annotated[bool, "Return at once and let it go on"] = False,
    resume: Annotated[str | None, "Job of an agent to go on from"] = None,
    isolation: Annotated[
        Literal["none", "worktree"], "worktree: in a copy of the repository of its own"
    ] = "none",
) -> Result:
    """Let a sub-agent do something."""
    know_kinds(ctx)
    tasks = await ctx.use(store)
    with told():
        job, made = await begin(
            ctx,
            tasks,
            type_=type,
            prompt=prompt,
            description=description,
            resume=resume,
            worktree=isolation == "worktree",
        )
    if background:
        return _shown(job, f"{job.id} runs in the background.", run_=made)
    try:
        record = await ctx.jobs.wait(job.id)
    except asyncio.CancelledError:
        await asyncio.shield(ctx.jobs.stop(job.id))
        raise
    with told():
        said = await settle(ctx, tasks, made)
    return _shown(record, _how(record, said), run_=made)


@run.signature
def _(
    type: str,  # noqa: A002
    prompt: str,
    *,
    isolation: str = "none",
    **_: Any,
) -> Signature:
    what = [resources.Custom("agent-type", type)]
    if isolation == "none":
        return Signature(reads=what, effects={"agent"})
    git = resources.Command(["git", "worktree", "add"])
    return Signature(
        reads=[*what, git], writes=[resources.Path("."), resources.State("worktrees")],
        effects={"agent"},
    )  # fmt: skip


@run.preview
def _(type: str, prompt: str, **_: Any) -> str:  # noqa: A002
    return f"An agent of type {type} is to do this:\n{prompt}"


@pack.tool(
    effects={"host_state"},
    idempotent="yes",
    concurrency="shared",
    requires=_JOBS,
    timeout=630.0,
    usage=["Reading takes nothing away: the same offset gives the same bytes again."],
)
async def output(
    ctx: Context,
    job: _JOB,
    *,
    offset: Annotated[int, "First byte to show", Between(0, 2**53)] = 0,
    size: Annotated[int, "Most bytes to show", Between(1, 1_000_000)] = 30_000,
    wait: Annotated[float, "Seconds to wait for its end; 0 looks once", Between(0, 600)] = 0.0,
) -> Result:
    """Show how a job of any kind stands, and its output from an offset."""
    know_kinds(ctx)
    record = await ctx.jobs.wait(job, timeout=wait)
    data = await ctx.jobs.output(job, offset=offset, size=size)
    tasks = await ctx.use(store)
    said = None
    with told():
        known = await asyncio.to_thread(tasks.find_run, job, ctx.conversation)
        if known is not None and record.status in _FINAL:
            said = await settle(ctx, tasks, known)
    return _shown(record, _how(record, said), run_=known, data=data, offset=offset)


@output.signature
def _(job: str, **_: Any) -> Signature:
    return of_jobs()


@pack.tool(
    effects={"host_state"},
    idempotent="yes",
    concurrency="shared",
    requires=_JOBS,
    timeout=3630.0,
)
async def wait(
    ctx: Context,
    jobs: Annotated[list[str], "Ids of jobs", Length(1, 32)],
    *,
    timeout: Annotated[float, "Seconds; 0 looks once", Between(0, 3600)] = 60.0,
    all: Annotated[bool, "Wait for all of them, not only for the first"] = False,  # noqa: A002
) -> Result:
    """Wait until one of several jobs, or all of them, ended."""
    know_kinds(ctx)
    records = [await ctx.jobs.get(job) for job in jobs]
    running = [r.id for r in records if r.status not in _FINAL]
    enough = not running if all else len(running) < len(records)
    if not enough and timeout:
        waits = [asyncio.ensure_future(ctx.jobs.wait(job, timeout=timeout)) for job in running]
        when = asyncio.ALL_COMPLETED if all else asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait(waits, timeout=timeout, return_when=when)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        records = [await ctx.jobs.get(job) for job in jobs]
    lines = [_how(record, None) for record in records]
    return Result(
        summary=f"{sum(r.status in _FINAL for r in records)} of {len(records)} ended",
        content=[Text("\n".join(lines))],
        structured={"jobs": [_facts(record) for record in records]},
    )


@wait.signature
def _(jobs: list[str], **_: Any) -> Signature:
    return of_jobs()


@pack.tool(effects={"host_state"}, idempotent="yes", requires=_JOBS)
async def stop(ctx: Context, job: _JOB) -> Result:
    """Stop a job with everything that it started."""
    know_kinds(ctx)
    before = await ctx.jobs.get(job)
    record = await ctx.jobs.stop(job)
    note = " It had ended before." if before.status in _FINAL else ""
    return _shown(record, _how(record, None) + note)


@stop.signature
def _(job: str) -> Signature:
    return of_jobs()


@pack.tool(
    effects={"host_state"},
    idempotent="yes",
    concurrency="shared",
    requires=_JOBS,
)
async def jobs(
    ctx: Context, *, running: Annotated[bool, "Only those that still run"] = False
) -> Result:
    """List this conversation's jobs, oldest first, those of an earlier run included."""
    know_kinds(ctx)
    found = [r for r in await ctx.jobs.list() if not running or r.status not in _FINAL]
    lines = [_how(record, None) for record in found] or ["no jobs"]
    return Result(
        summary=counted(len(found), "job"),
        content=[Text("\n".join(lines))],
        structured={"jobs": [_facts(record) for record in found]},
    )


@jobs.signature
def _(**_: Any) -> Signature:
    return of_jobs()


def _how(record: Any, said: str | None) -> str:
    words = f"{record.id} ({record.kind}) is {record.status}"
    if record.error:
        words += f": {record.error}"
    return f"{words}; {said}".rstrip(".") + "." if said else f"{words.rstrip('.')}."


def _facts(record: Any) -> dict[str, Any]:
    return {
        name: getattr(record, name)
        for name in (
            *("id", "kind", "status", "size", "kept_from", "result", "error"),
            *("started", "ended"),
        )
    }


def _shown(
    record: Any, summary: str, *, run_: Run | None = None, data: bytes = b"", offset: int = 0
) -> Result:
    start = max(offset, record.kept_from)
    blocks = [Text(summary)]
    if start > offset:
        blocks.append(Text(f"{start - offset} bytes before that were dropped"))
    if record.result is not None:
        answer = record.result
        text = answer.get("text") if isinstance(answer, dict) else None
        blocks.append(Text(text if isinstance(text, str) else f"result: {answer}"))
    if data:
        blocks.append(Text(f"output from byte {start}:\n{data.decode('utf-8', 'replace')}"))
    facts: dict[str, Any] = {**_facts(record), "offset": start, "next": start + len(data)}
    if run_ is not None:
        facts["agent"] = {
            "type": run_.type,
            "root": run_.root,
            "resumed_from": run_.resumed_from,
            "depth": run_.depth,
            "worktree": run_.worktree,
            "branch": run_.branch,
        }
    return Result(summary=summary, content=blocks, structured=facts)
