"""The tools that change files: rename, code actions, formatting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from toolcrib import AtLeast, Context, Length, PackHost, Result, Signature, Text, resources

from . import actions as offers
from .asking import Target, desk_of
from .carrying import Job, carry_out, previewed, signed
from .definition import pack
from .outputs import ActionFound, Actions, Changes, plain
from .parameters import Column, File, Line, Name, Wait
from .proposals import formatted
from .reads import READING, reading
from .renaming import renamed


__all__ = ["code_action", "code_actions", "format_", "rename"]

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


def _beside(tool: Any, job_of: Callable[..., Job], *, judged_by_plan: bool = True) -> None:
    """Give a tool its preview, and a signature that names what its plan writes.

    Args:
        tool: The tool.
        job_of: Makes the job of the tool's arguments.
        judged_by_plan: Whether other files than the call's own may be written.
    """

    async def preview(host: PackHost, /, **arguments: Any) -> str:
        return await previewed(host, job_of(**arguments))

    async def signature(host: PackHost, /, **arguments: Any) -> Signature:
        return await signed(host, job_of(**arguments))

    tool.preview(preview)
    tool.signature(signature if judged_by_plan else _one_file)


def _one_file(path: Path, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)], writes=[resources.Path(path)])


def _renaming(
    path: Path,
    new_name: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> Job:
    target = Target(line=line, name=name, column=column)
    key = repr(("rename", str(path), new_name, target))
    return Job(path, key, lambda desk: renamed(desk, target, new_name))


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
    job = _renaming(path, new_name, name=name, line=line, column=column)
    return await carry_out(ctx, job)


_beside(rename, _renaming)


def _formatting(
    path: Path, *, first_line: int | None = None, last_line: int | None = None
) -> Job:
    key = repr(("format", str(path), first_line, last_line))
    return Job(path, key, lambda desk: formatted(desk, first_line, last_line))


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
    job = _formatting(path, first_line=first_line, last_line=last_line)
    return await carry_out(ctx, job)


_beside(format_, _formatting, judged_by_plan=False)


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
    offered = await offers.actions(desk, target, last_line, kind)
    found = [_found(each) for each in offered if not each.barred]
    kept = len(offered) - len(found)
    lines = [_action_line(each) for each in found]
    other = "else " if kept else ""
    lines = lines or [f"Nothing {other}is offered there by {desk.names}."]
    if kept:
        count = "1 action is" if kept == 1 else f"{kept} actions are"
        lines.append(f"{count} left out: a rule keeps this call from files they would change.")
    return Result(
        summary=f"{len(found)} actions",
        content=[Text("\n".join(lines))],
        structured=plain(Actions(actions=tuple(found))),
        notes=["withheld"] if kept else [],
    )


code_actions.signature(reading)


def _found(action: offers.Action) -> ActionFound:
    return ActionFound(
        title=action.title,
        kind=str(action.raw.get("kind") or ""),
        server=action.server.name,
        preferred=bool(action.raw.get("isPreferred")),
        usable=not action.reason,
        reason=action.reason,
    )


def _action_line(action: ActionFound) -> str:
    kind = f" [{action.kind}]" if action.kind else ""
    why = f" (cannot be done: {action.reason})" if not action.usable else ""
    preferred = " (preferred)" if action.preferred else ""
    return f"{action.title}{kind} {action.server}{preferred}{why}"


def _acting(
    path: Path,
    action: str,
    *,
    name: str | None = None,
    line: int | None = None,
    column: int | None = None,
    last_line: int | None = None,
    kind: str | None = None,
) -> Job:
    target = Target(line=line, name=name, column=column)
    key = repr(("code_action", str(path), action, target, last_line, kind))
    return Job(path, key, lambda desk: offers.chosen(desk, target, last_line, kind, action))


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
    place: Any = {"name": name, "line": line, "column": column, "last_line": last_line}
    return await carry_out(ctx, _acting(path, action, kind=kind, **place))


_beside(code_action, _acting)
