"""The tools that ask about one place: definition, references and their kin, hover."""

from __future__ import annotations

import contextlib

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import attrs

from toolcrib import Context, Failed, Result, Signature, Text, resources

from .answers import hover_text, is_nothing
from .asking import Answer, Desk, Target, desk_of, position
from .client import Client, Unsupported
from .definition import pack
from .documents import Opened
from .outputs import Hover, Hovers, Location, Locations, plain
from .paging import page
from .parameters import Column, Cursor, File, Limit, Line, Name, Wait
from .peer import RemoteError
from .spots import Spot


__all__ = [
    "READING",
    "USAGE",
    "about_a_place",
    "at_spot",
    "definition",
    "hover",
    "implementation",
    "line_of",
    "listed",
    "reading",
    "references",
    "type_definition",
    "what_of",
    "withheld",
]

READING: Any = {
    "effects": {"fs_read"},
    "idempotent": "yes",
    "concurrency": "shared",
    "labels": {"reads_private", "returns_untrusted"},
}
USAGE = "Name the place by its line and what stands there; columns need not be counted."
_PLACE = {"path": "src/app.py", "line": 12, "name": "load"}


def about_a_place(
    answer: Callable[..., Awaitable[Result]], says: str, **kind: Any
) -> Callable[..., Awaitable[Result]]:
    """Return the handler of a tool that is asked about one place, and answers with a list.

    Args:
        answer: ``answer(ctx, path, target, wait, limit, cursor, **kind)`` does the work.
        says: Describes the tool.
        kind: What tells the tool from others with the same work.
    """

    async def ask(
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
        target = Target(line=line, name=name, column=column)
        return await answer(ctx, path, target, wait, limit, cursor, **kind)

    ask.__doc__ = says
    return ask


async def _places(
    ctx: Context,
    path: Path,
    target: Target,
    wait: int,
    limit: int,
    cursor: str | None,
    *,
    method: str,
    **more: Any,
) -> Result:
    desk = await desk_of(ctx, path, wait=wait)
    answer = await desk.first(
        method,
        lambda client, opened, spot: {**at_spot(client, opened, spot), **more},
        target=target,
        across=method in {"textDocument/references", "textDocument/implementation"},
    )
    found = answer.reader.locations(answer.result)
    if not found and not is_nothing(answer.result) and not answer.reader.withheld:
        text = f"{answer.client.name} answered with places that cannot be read."
        raise Failed(text, code="lsp.bad_answer")
    shown, after = page(found, limit, cursor, repr)
    value = Locations(
        locations=tuple(shown), total=len(found), server=answer.client.name, cursor=after
    )
    what = method.rpartition("/")[2]
    what = {"typeDefinition": "type definition"}.get(what, what)
    if not found:
        other = "other " if answer.reader.withheld else ""
        said = f"{answer.client.name} knows no {other}{what} of {what_of(desk, answer)}."
        said += f" It says: {answer.said}" if answer.said else ""
        return listed(answer, said, [said], value)
    count = "1 place" if len(found) == 1 else f"{len(found)} places"
    summary = f"{count}: {what} of {what_of(desk, answer)}"
    return listed(answer, summary, [line_of(each) for each in shown], value)


def _reading(path: Path, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path)])


reading: Callable[..., Signature] = _reading
"""Says what a question about a file touches."""

_FINDING: Any = {**READING, "output_schema": Locations, "usage": [USAGE]}

definition = pack.tool(
    name="definition",
    examples=[("where the function called on line 12 is defined", _PLACE)],
    **_FINDING,
)(about_a_place(_places, "Find where something is defined.", method="textDocument/definition"))
implementation = pack.tool(name="implementation", **_FINDING)(
    about_a_place(
        _places,
        "Find what implements an interface or overrides a method.",
        method="textDocument/implementation",
    )
)
type_definition = pack.tool(name="type_definition", **_FINDING)(
    about_a_place(
        _places,
        "Find where the type of something is defined.",
        method="textDocument/typeDefinition",
    )
)
definition.signature(reading)
implementation.signature(reading)
type_definition.signature(reading)


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
        target,
        wait,
        limit,
        cursor,
        method="textDocument/references",
        context={"includeDeclaration": declaration},
    )


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
    question = _WithItsOrigin(desk)
    answer = await desk.first(
        "textDocument/hover", question.at, target=target, also=question.follow
    )
    text = hover_text(answer.result)
    if not text:
        said = f"{answer.client.name} says nothing about {what_of(desk, answer)}."
        return Result(summary=said, content=[Text(said)], structured=plain(Hovers(hovers=())))
    answer.reader.locations(question.origin)
    if answer.reader.withheld:
        said = (
            f"What {what_of(desk, answer)} is, is said where it is defined, and a rule keeps "
            "this call from that file."
        )
        value = Hovers(hovers=())
        return Result(said, [Text(said)], plain(value), notes=[*answer.notes, "withheld"])
    value = Hovers(hovers=(Hover(server=answer.client.name, text=text),))
    return Result(
        summary=_first_line(text),
        content=[Text(text)],
        structured=plain(value),
        notes=answer.notes,
    )


@attrs.define
class _WithItsOrigin:
    """A question what something is, and from which files the answer may quote.

    Signature and documentation stand where it is defined, which may be a file that rules
    keep from the call.
    """

    desk: Desk
    origin: Any = None
    _at: Mapping[str, Any] = attrs.field(factory=dict)

    def at(self, client: Client, opened: Opened, spot: Spot | None) -> Mapping[str, Any]:
        """Return the parameters, and keep them."""
        self._at = at_spot(client, opened, spot)
        return self._at

    async def follow(self, client: Client, said: Any) -> Any:
        """Ask the one who said something where that is defined; return what it said."""
        method, desk = "textDocument/definition", self.desk
        # Where no rule could keep the call from any file, nothing need be asked.
        if is_nothing(said) or not desk.barred(""):
            return said
        if not client.features.supports(method, desk.place.path, desk.language):
            return said
        with contextlib.suppress(RemoteError, Unsupported):  # it is defined nowhere then
            self.origin = await client.request(method, self._at, until=desk.until)
        return said


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if not line.startswith("```")]
    return next((line[:120] for line in lines if line), "")


def at_spot(client: Client, opened: Opened, spot: Spot | None) -> dict[str, Any]:
    """Return the parameters of a question about the place that a call names."""
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


def listed(answer: Answer, summary: str, lines: list[str], value: Any, *notes: str) -> Result:
    """Return a page of what was found: its lines, and whether and where it goes on."""
    more = ["partial"] if value.cursor is not None else []
    more += ["withheld"] if answer.reader.withheld else []
    return Result(
        summary=summary,
        content=[Text("\n".join([*lines, *_more_lines(answer, value.cursor)]))],
        structured=plain(value),
        notes=[*answer.notes, *notes, *more],
    )


def line_of(location: Location) -> str:
    """Return a place as a line for the model."""
    at = f"{location.path}:{location.line}:{location.column}"
    return f"{at}: {location.text}" if location.text else at


def withheld(count: int) -> str:
    """Say how many places were left out because rules keep the call from their files."""
    places = "1 place is" if count == 1 else f"{count} places are"
    return f"{places} left out: a rule keeps this call from the files."


def _more_lines(answer: Answer, after: str | None) -> list[str]:
    """Return what else the model should know of an answer."""
    lines = []
    if after is not None:
        lines.append(f"More follow: call again with cursor={after!r}.")
    if answer.reader.withheld:
        lines.append(withheld(answer.reader.withheld))
    if "indexing" in answer.notes:
        said = answer.client.progress.said()
        lines.append(f"{answer.client.name} is still indexing ({said}): there may be more.")
    if answer.spot is not None and answer.spot.others:
        columns = ", ".join(map(str, answer.spot.others))
        lines.append(
            f"The name also stands at column {columns} of that line; the first was meant."
        )
    return lines


references.signature(reading)
hover.signature(reading)
