"""The tools that change files: rename, code actions, formatting."""

from __future__ import annotations

import asyncio

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import attrs

from toolcrib import (
    Access,
    AtLeast,
    Context,
    Failed,
    Length,
    PackHost,
    Refused,
    Result,
    Signature,
    Text,
    ToolFailure,
    Unavailable,
    resources,
)

from . import proposals
from .applying import apply
from .asking import Desk, Target, desk_at, desk_of, language_for
from .bench import Bench
from .definition import bench_of, pack
from .edits import FileChange, Plan
from .outputs import ActionFound, Actions, ChangedFile, Changes, plain
from .parameters import Column, File, Line, Name, Wait
from .places import locate, shown
from .proposals import Proposal
from .reads import READING, reading
from .texts import digest_of


__all__ = ["code_action", "code_actions", "format_", "rename"]

# A signature has two seconds; a server that is not ready by then is not waited for.
_SIGNING = 1.5
_MOST_DIFF = 8000
_PATIENCE = 40
_OPTIONS: Any = {
    "effects": {"fs_read", "fs_write"},
    "labels": {"reads_private", "returns_untrusted"},
    "output_schema": Changes,
    # Also how long a preview may take: it may have to start a server.
    "timeout": 90,
}
LastLine: TypeAlias = Annotated[int | None, "Last line, from 1", AtLeast(1)]
Kind: TypeAlias = Annotated[
    str | None, "Only this kind, such as quickfix, refactor or source.organizeImports"
]
_Make = Callable[[Desk], Awaitable[Proposal]]


@attrs.frozen
class _Job:
    """A call that writes: which it is, and how its plan is made.

    ``key`` tells it from calls with other arguments.
    """

    path: Path
    key: str
    make: _Make


def _renaming(
    path: Path, new_name: str, name: str | None, line: int | None, column: int | None
) -> _Job:
    target = Target(line=line, name=name, column=column)
    key = repr(("rename", str(path), new_name, target))
    return _Job(path, key, lambda desk: proposals.renamed(desk, target, new_name))


@pack.tool(
    **_OPTIONS,
    usage=[
        "Name the place by its line and what stands there.",
        "All files change, or none; what a person approves is exactly what is written.",
    ],
    examples=[
        (
            "rename the function defined on line 12 everywhere",
            {"path": "src/app.py", "line": 12, "name": "load", "new_name": "load_config"},
        )
    ],
)
async def rename(
    ctx: Context,
    path: File,
    new_name: Annotated[str, "The new name", Length(1, 200)],
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
) -> Result:
    """Rename something in all files that use it."""
    return await _carry_out(ctx, _renaming(path, new_name, name, line, column))


@rename.signature
async def _(
    host: PackHost,
    /,
    path: Path,
    new_name: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> Signature:
    return await _signed(host, _renaming(path, new_name, name, line, column))


@rename.preview
async def _(
    host: PackHost,
    /,
    path: Path,
    new_name: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> str | None:
    return await _shown(host, _renaming(path, new_name, name, line, column))


def _formatting(path: Path, first_line: int | None, last_line: int | None) -> _Job:
    key = repr(("format", str(path), first_line, last_line))
    return _Job(path, key, lambda desk: proposals.formatted(desk, first_line, last_line))


@pack.tool(
    **_OPTIONS,
    name="format",
    examples=[("format a whole file", {"path": "src/app.py"})],
)
async def format_(
    ctx: Context,
    path: File,
    *,
    first_line: Annotated[int | None, "First line, from 1; all if left out", AtLeast(1)] = None,
    last_line: LastLine = None,
) -> Result:
    """Format a file, or some lines of it."""
    return await _carry_out(ctx, _formatting(path, first_line, last_line))


@format_.signature
def _(path: Path, *, first_line: int | None = None, last_line: int | None = None) -> Signature:
    return Signature(reads=[resources.Path(path)], writes=[resources.Path(path)])


@format_.preview
async def _(
    host: PackHost,
    /,
    path: Path,
    *,
    first_line: int | None = None,
    last_line: int | None = None,
) -> str | None:
    return await _shown(host, _formatting(path, first_line, last_line))


@pack.tool(
    **{**READING, "output_schema": Actions},
    usage=["Without a line the whole file is meant. lsp.code_action does one of them."],
)
async def code_actions(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    last_line: LastLine = None,
    kind: Kind = None,
    wait: Wait = 10,
) -> Result:
    """List the fixes and refactorings that servers offer for a place."""
    desk = await desk_of(ctx, path, wait=wait)
    target = Target(line=line, name=name, column=column)
    found = [_found(each) for each in await proposals.actions(desk, target, last_line, kind)]
    lines = [_action_line(each) for each in found]
    lines = lines or [f"Nothing is offered there by {desk.names}."]
    return Result(
        summary=f"{len(found)} actions",
        content=[Text("\n".join(lines))],
        structured=plain(Actions(actions=tuple(found))),
    )


code_actions.signature(reading)


def _found(action: proposals.Action) -> ActionFound:
    disabled = action.raw.get("disabled")
    reason = str(disabled.get("reason", "")) if isinstance(disabled, dict) else ""
    usable = not isinstance(disabled, dict)
    if (
        action.is_command
        and action.raw["command"] not in action.server.program.spec.edit_commands
    ):
        usable, reason = False, f"it runs the command {action.raw['command']}"
    return ActionFound(
        title=action.title,
        kind=str(action.raw.get("kind") or ""),
        server=action.server.name,
        preferred=bool(action.raw.get("isPreferred")),
        usable=usable,
        reason=reason,
    )


def _action_line(action: ActionFound) -> str:
    kind = f" [{action.kind}]" if action.kind else ""
    why = f" (cannot be done: {action.reason})" if not action.usable else ""
    preferred = " (preferred)" if action.preferred else ""
    return f"{action.title}{kind} {action.server}{preferred}{why}"


def _acting(
    path: Path, action: str, target: Target, last_line: int | None, kind: str | None
) -> _Job:
    key = repr(("code_action", str(path), action, target, last_line, kind))
    return _Job(path, key, lambda desk: proposals.chosen(desk, target, last_line, kind, action))


@pack.tool(
    **_OPTIONS,
    usage=["Take the title from lsp.code_actions, for the same place."],
    examples=[
        (
            "sort the imports of a file",
            {"path": "src/app.py", "action": "Organize imports", "kind": "source"},
        )
    ],
)
async def code_action(
    ctx: Context,
    path: File,
    action: Annotated[str, "Its title, or the start of it", Length(1, 300)],
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    last_line: LastLine = None,
    kind: Kind = None,
) -> Result:
    """Do one of the fixes or refactorings that servers offer for a place."""
    target = Target(line=line, name=name, column=column)
    return await _carry_out(ctx, _acting(path, action, target, last_line, kind))


@code_action.signature
async def _(
    host: PackHost,
    /,
    path: Path,
    action: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
    last_line: int | None = None,
    kind: str | None = None,
) -> Signature:
    target = Target(line=line, name=name, column=column)
    return await _signed(host, _acting(path, action, target, last_line, kind))


@code_action.preview
async def _(
    host: PackHost,
    /,
    path: Path,
    action: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
    last_line: int | None = None,
    kind: str | None = None,
) -> str | None:
    target = Target(line=line, name=name, column=column)
    return await _shown(host, _acting(path, action, target, last_line, kind))


async def _proposed(bench: Bench, job: _Job) -> Proposal:
    """Make a plan without a call: for signatures and previews."""
    place = locate(bench.root, job.path, None)
    desk = await desk_at(bench, place, language_for(bench, place), wait=_PATIENCE)
    return await job.make(desk)


async def _signed(host: PackHost, job: _Job) -> Signature:
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


async def _shown(host: PackHost, job: _Job) -> str:
    """Show what a call would write, and remember what was shown."""
    bench = await bench_of(host)
    bench.remember_shown(job.key, None)
    proposal = await _proposed(bench, job)
    bench.remember_shown(job.key, proposal.plan.digest)
    if not proposal.plan.files:
        return f"{proposal.server} has nothing to change."
    title = f"{proposal.title}\n" if proposal.title else ""
    return title + proposal.plan.diff()


async def _carry_out(ctx: Context, job: _Job) -> Result:
    desk = await desk_of(ctx, job.path, wait=_PATIENCE)
    bench = desk.bench
    proposal = await job.make(desk)
    plan = proposal.plan
    _same_as_shown(bench, job, plan)
    _judged(getattr(ctx, "signature", None), plan)
    if not plan.files:
        said = f"{desk.place.shown}: {proposal.server} has nothing to change."
        empty = Changes(files=(), server=proposal.server)
        return Result(said, [Text(said)], plain(empty))
    ctx.cancellation.check()
    await _written(plan, ctx)
    bench.refresh()
    return _told(proposal)


def _same_as_shown(bench: Bench, job: _Job, plan: Plan) -> None:
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
