"""The tools that ask about one place: definition, references and their kin, hover."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from toolcrib import Context, Failed, Result, Signature, Text, resources

from .answers import hover_text, is_nothing
from .asking import Answer, Desk, Target, desk_of, position
from .client import Client, Unsupported
from .definition import pack
from .documents import Opened
from .outputs import Hover, Hovers, Location, Locations, plain
from .paging import page
from .parameters import Column, Cursor, File, Limit, Line, Name, Wait
from .spots import Spot


__all__ = [
    "READING",
    "USAGE",
    "definition",
    "hover",
    "implementation",
    "line_of",
    "more_lines",
    "reading",
    "references",
    "type_definition",
    "what_of",
]

READING: Any = {
    "effects": {"fs_read"},
    "idempotent": "yes",
    "concurrency": "shared",
    "labels": {"reads_private", "returns_untrusted"},
}
USAGE = "Name the place by its line and what stands there; columns need not be counted."
_PLACE = {"path": "src/app.py", "line": 12, "name": "load"}


@pack.tool(
    **READING,
    output_schema=Locations,
    usage=[USAGE],
    examples=[("where the function called on line 12 is defined", _PLACE)],
)
async def definition(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """Find where something is defined."""
    target = Target(line=line, name=name, column=column)
    return await _places(ctx, path, "textDocument/definition", target, wait, limit, cursor)


@pack.tool(
    **READING,
    output_schema=Locations,
    usage=[USAGE, "A text search finds names; this finds uses of this very thing."],
    examples=[("who uses the function defined on line 12", _PLACE)],
)
async def references(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    declaration: Annotated[bool, "Whether the declaration counts too"] = True,
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """Find every use of something in the workspace."""
    target = Target(line=line, name=name, column=column)
    return await _places(
        ctx,
        path,
        "textDocument/references",
        target,
        wait,
        limit,
        cursor,
        context={"includeDeclaration": declaration},
    )


@pack.tool(**READING, output_schema=Locations, usage=[USAGE])
async def implementation(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """Find what implements an interface or overrides a method."""
    target = Target(line=line, name=name, column=column)
    return await _places(ctx, path, "textDocument/implementation", target, wait, limit, cursor)


@pack.tool(**READING, output_schema=Locations, usage=[USAGE])
async def type_definition(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """Find where the type of something is defined."""
    target = Target(line=line, name=name, column=column)
    return await _places(ctx, path, "textDocument/typeDefinition", target, wait, limit, cursor)


@pack.tool(**READING, output_schema=Hovers, usage=[USAGE])
async def hover(
    ctx: Context,
    path: File,
    *,
    name: Name = None,
    line: Line = None,
    column: Column = None,
    wait: Wait = 10,
) -> Result:
    """Say what something is: its type, signature and documentation."""
    desk = await desk_of(ctx, path, wait=wait)
    target = Target(line=line, name=name, column=column)
    answer = await desk.first("textDocument/hover", _at, target=target)
    text = hover_text(answer.result)
    if not text:
        said = f"{answer.client.name} says nothing about {what_of(desk, answer)}."
        return Result(summary=said, content=[Text(said)], structured=plain(Hovers(hovers=())))
    value = Hovers(hovers=(Hover(server=answer.client.name, text=text),))
    return Result(
        summary=_first_line(text),
        content=[Text(text)],
        structured=plain(value),
        notes=answer.notes,
    )


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not line.startswith("```")]
    return next((line[:120] for line in lines if line), "")


def _at(client: Client, opened: Opened, spot: Spot | None) -> dict[str, Any]:
    if spot is None:  # pragma: no cover - a target is always given
        raise Unsupported("a question without a place", client.name)
    return position(client, opened, spot)


def what_of(desk: Desk, answer: Answer) -> str:
    """Return what was asked about, in words."""
    spot = answer.spot
    if spot is None:
        return desk.place.shown
    name = f"{spot.name!r} at " if spot.name else ""
    return f"{name}{desk.place.shown}:{spot.line + 1}:{spot.column + 1}"


async def _places(
    ctx: Context,
    path: Path,
    method: str,
    target: Target,
    wait: int,
    limit: int,
    cursor: str | None,
    **more: Any,
) -> Result:
    desk = await desk_of(ctx, path, wait=wait)
    answer = await desk.first(
        method,
        lambda client, opened, spot: {**_at(client, opened, spot), **more},
        target=target,
        across=method in {"textDocument/references", "textDocument/implementation"},
    )
    found = answer.reader.locations(answer.result)
    if not found and not is_nothing(answer.result):
        text = f"{answer.client.name} answered with places that cannot be read."
        raise Failed(text, code="lsp.bad_answer")
    shown, after = page(found, limit, cursor, repr)
    value = Locations(
        locations=tuple(shown), total=len(found), server=answer.client.name, cursor=after
    )
    what = method.rpartition("/")[2]
    what = {"typeDefinition": "type definition"}.get(what, what)
    if not found:
        said = f"{answer.client.name} knows no {what} of {what_of(desk, answer)}."
        said += f" It says: {answer.said}" if answer.said else ""
        return Result(said, [Text(said)], plain(value), notes=answer.notes)
    lines = [line_of(each) for each in shown]
    lines += more_lines(answer, after)
    count = "1 place" if len(found) == 1 else f"{len(found)} places"
    return Result(
        summary=f"{count}: {what} of {what_of(desk, answer)}",
        content=[Text("\n".join(lines))],
        structured=plain(value),
        notes=[*answer.notes, *(["partial"] if after else [])],
    )


def line_of(location: Location) -> str:
    """Return a place as a line for the model."""
    at = f"{location.path}:{location.line}:{location.column}"
    return f"{at}: {location.text}" if location.text else at


def more_lines(answer: Answer, after: str | None) -> list[str]:
    """Return what else the model should know of an answer."""
    lines = []
    if after is not None:
        lines.append(f"More follow: call again with cursor={after!r}.")
    if "indexing" in answer.notes:
        said = answer.client.progress.said()
        lines.append(f"{answer.client.name} is still indexing ({said}): there may be more.")
    if answer.spot is not None and answer.spot.others:
        columns = ", ".join(map(str, answer.spot.others))
        lines.append(
            f"The name also stands at column {columns} of that line; the first was meant."
        )
    return lines


def _reading(path: Path, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


reading: Callable[..., Signature] = _reading
"""Says what a question about a file touches."""


definition.signature(reading)
references.signature(reading)
implementation.signature(reading)
type_definition.signature(reading)
hover.signature(reading)
