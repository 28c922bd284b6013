"""How a call that writes is judged, shown and carried out: by one plan, made anew each time.

What a person was shown is remembered by its digest, and nothing else is written.
"""

from __future__ import annotations

import asyncio

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import attrs

from toolcrib import (
    Access,
    Context,
    Failed,
    PackHost,
    Refused,
    Result,
    Signature,
    Text,
    ToolFailure,
    Unavailable,
    resources,
)

from .applying import apply
from .asking import Desk, desk_at, desk_of, language_for
from .bench import Bench
from .definition import bench_of
from .edits import FileChange, Plan
from .outputs import ChangedFile, Changes, plain
from .places import locate, shown
from .proposals import Proposal, permitted
from .texts import digest_of


__all__ = ["Job", "carry_out", "previewed", "signed"]

# A signature has two seconds; a server that is not ready by then is not waited for.
_SIGNING = 1.5
_MOST_DIFF = 8000
_PATIENCE = 40


@attrs.frozen
class Job:
    """A call that writes.

    Attributes:
        path: The file that it is about.
        key: What tells it from calls with other arguments.
        make: Makes its plan.
    """

    path: Path
    key: str
    make: Callable[[Desk], Awaitable[Proposal]]


async def _proposed(bench: Bench, job: Job) -> Proposal:
    """Make a plan without a call: for signatures and previews."""
    place = locate(bench.root, job.path, None)
    language = language_for(bench, place)
    programs = bench.programs(language)
    desk = await desk_at(bench, place, language, programs, wait=_PATIENCE)
    return await job.make(desk)


async def signed(host: PackHost, job: Job) -> Signature:
    """Say which files a call would write, if its server can tell in time."""
    bench = await bench_of(host)
    bench.shown.pop(job.key, None)
    reads = [resources.Path(job.path)]
    making = asyncio.ensure_future(_proposed(bench, job))
    try:
        proposal = await asyncio.wait_for(asyncio.shield(making), _SIGNING)
    except (TimeoutError, Unavailable):
        # It goes on: the preview needs the same server, and will find it started.
        making.add_done_callback(lambda done: done.cancelled() or done.exception())
        return Signature(reads=reads, writes=[resources.Any("path")])
    except ToolFailure:
        # There is nothing to write; a plan that differs later is not what was judged.
        return Signature(reads=reads, writes=[resources.Path(job.path)])
    except BaseException:
        making.cancel()
        raise
    writes = [resources.Path(each.path) for each in proposal.plan.files]
    return Signature(reads=reads, writes=writes or [resources.Path(job.path)])


async def previewed(host: PackHost, job: Job) -> str:
    """Show what a call would write, and remember what was shown."""
    bench = await bench_of(host)
    bench.remember_shown(job.key, None)
    proposal = await _proposed(bench, job)
    bench.remember_shown(job.key, proposal.plan.digest)
    if not proposal.plan.files:
        return f"{proposal.server} has nothing to change."
    title = f"{proposal.title}\n" if proposal.title else ""
    return title + proposal.plan.diff()


async def carry_out(ctx: Context, job: Job) -> Result:
    """Do what a call asks for: all of it, or nothing.

    Raises:
        ToolFailure: nothing was changed; Uncertain: something could not be put back.
    """
    desk = await desk_of(ctx, job.path, wait=_PATIENCE)
    bench = desk.bench
    proposal = await job.make(desk)
    plan = proposal.plan
    _same_as_shown(bench, job, plan)
    permitted(desk, (each.path for each in plan.files))
    _judged(getattr(ctx, "signature", None), plan)
    if not plan.files:
        said = f"{desk.place.shown}: {proposal.server} has nothing to change."
        empty = Changes(files=(), server=proposal.server)
        return Result(said, [Text(said)], plain(empty))
    ctx.cancellation.check()
    await _written(plan, ctx)
    bench.refresh()
    return _told(proposal)


def _same_as_shown(bench: Bench, job: Job, plan: Plan) -> None:
    """Refuse to write anything else than what a person was shown."""
    if job.key not in bench.shown:
        return  # Nobody was asked.
    digest = bench.shown.pop(job.key)
    if digest is None:
        text = "What would be written could not be shown. Nothing was changed. Call again."
        raise Failed(text, code="lsp.not_shown")
    if digest != plan.digest:
        text = (
            "What would be written is no longer what was shown. Nothing was changed. Look at "
            "the files and call again."
        )
        raise Failed(text, code="lsp.changed")


def _judged(signature: Signature | None, plan: Plan) -> None:
    """Refuse files that the call was not authorised for."""
    if signature is None:
        return
    writes = [r for r in signature.resources if r.type == "path" and r.access is Access.WRITE]
    allowed = {r.value for r in writes}
    if not writes or "" in allowed:
        return
    stray = [each.path for each in plan.files if each.path not in allowed]
    if stray:
        names = ", ".join(shown(plan.root, path) for path in stray[:10])
        text = (
            f"The change would reach further than the call was judged for: {names}. Nothing "
            "was changed. Call again."
        )
        raise Refused(text, code="lsp.path_changed")


async def _written(plan: Plan, ctx: Context) -> None:
    """Write off the event loop, to the end even if the call is cancelled meanwhile."""
    writing = asyncio.ensure_future(asyncio.to_thread(apply, plan, ctx.host.state))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        raise


def _told(proposal: Proposal) -> Result:
    plan = proposal.plan
    moved = {each.came_from: each.path for each in plan.files}
    files = tuple(_changed(plan, each, moved) for each in plan.files if each.came_from is None)
    lines = [_change_line(each) for each in files]
    diff = plan.diff()
    if len(diff) <= _MOST_DIFF:
        lines.append(diff)
    places = sum(each.edits for each in files)
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return Result(
        summary=f"{count} changed at {places} places",
        content=[Text("\n".join(lines))],
        structured=plain(Changes(files=files, server=proposal.server)),
    )


def _changed(plan: Plan, each: FileChange, moved: Mapping[str | None, str]) -> ChangedFile:
    target = moved.get(each.path)
    after, edits = each.after, each.edits
    if target is not None:
        there = next(f for f in plan.files if f.path == target)
        after, edits = there.after, there.edits
    return ChangedFile(
        path=shown(plan.root, each.path),
        change="moved" if target is not None else each.kind,
        moved_to=shown(plan.root, target) if target is not None else None,
        edits=edits,
        digest=digest_of(after) if after is not None else None,
    )


def _change_line(each: ChangedFile) -> str:
    moved = f" -> {each.moved_to}" if each.moved_to else ""
    places = f" ({each.edits} places)" if each.edits else ""
    return f"{each.change} {each.path}{moved}{places}"
