"""The tools that list symbols, and who calls whom."""

from __future__ import annotations

import asyncio

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from toolcrib import (
    Context,
    Invalid,
    Length,
    Result,
    Signature,
    Text,
    ToolFailure,
    Unavailable,
    resources,
)

from .answers import Reader, flattened, order
from .asking import Answer, Desk, Target, desk_of, position
from .bench import Bench
from .client import Client, Unsupported
from .definition import pack, workbench
from .documents import Opened
from .outputs import Call, Calls, Symbol, Symbols, plain
from .paging import page
from .parameters import Column, Cursor, File, Limit, Line, Name, Wait
from .places import path_of, uri_of
from .reads import READING, USAGE, line_of, more_lines, reading, what_of
from .spots import Spot
from .words import symbol_kind


__all__ = ["incoming_calls", "outgoing_calls", "symbols", "workspace_symbols"]

_MOST_LANGUAGES = 3
_MOST_ITEMS = 20


@pack.tool(
    **READING,
    output_schema=Symbols,
    examples=[("the outline of a file", {"path": "src/app.py"})],
)
async def symbols(
    ctx: Context, path: File, *, wait: Wait = 10, limit: Limit = 200, cursor: Cursor = None
) -> Result:
    """List what a file defines, with kinds and lines."""
    desk = await desk_of(ctx, path, wait=wait)
    answer = await desk.first("textDocument/documentSymbol", _document)
    found = [
        symbol
        for item, depth, container in flattened(answer.result)
        if (symbol := _of_document(answer.reader, desk, item, depth, container)) is not None
    ]
    return _listed(answer, found, limit, cursor, desk.place.shown, outline=True)


symbols.signature(reading)


def _document(client: Client, opened: Opened, spot: Spot | None) -> dict[str, Any]:
    return {"textDocument": {"uri": uri_of(opened.snapshot.path)}}


def _of_document(
    reader: Reader, desk: Desk, item: Mapping[str, Any], depth: int, container: str
) -> Symbol | None:
    span = item.get("selectionRange")
    if span is None:
        return _symbol(reader, item)
    location = reader.place(desk.place.path, span)
    if location is None:
        return None
    return Symbol(
        name=str(item.get("name", ""))[:200],
        kind=symbol_kind(item.get("kind")),
        location=location,
        container=container[:200],
        detail=str(item.get("detail") or "")[:300],
        depth=depth,
    )


def _symbol(reader: Reader, item: Mapping[str, Any]) -> Symbol | None:
    location = reader.location(item.get("location"))
    if location is None:
        return None
    return Symbol(
        name=str(item.get("name", ""))[:200],
        kind=symbol_kind(item.get("kind")),
        location=location,
        container=str(item.get("containerName") or "")[:200],
    )


def _listed(
    answer: Answer,
    found: list[Symbol],
    limit: int,
    cursor: str | None,
    what: str,
    *,
    outline: bool,
    notes: tuple[str, ...] = (),
    said: tuple[str, ...] = (),
) -> Result:
    shown, after = page(found, limit, cursor, repr)
    name = answer.client.name
    value = Symbols(symbols=tuple(shown), total=len(found), server=name, cursor=after)
    lines = [_line(each, outline=outline) for each in shown]
    if not found:
        lines.append(f"{name} knows no symbol in {what}.")
    lines += [*said, *more_lines(answer, after)]
    return Result(
        summary=f"{len(found)} symbols in {what}" if found else lines[0],
        content=[Text("\n".join(lines))],
        structured=plain(value),
        notes=[*answer.notes, *notes, *(["partial"] if after else [])],
    )


def _line(symbol: Symbol, *, outline: bool) -> str:
    detail = f" {symbol.detail}" if symbol.detail and "\n" not in symbol.detail else ""
    if outline:
        indent = "  " * symbol.depth
        return f"{symbol.location.line:>6}: {indent}{symbol.kind} {symbol.name}{detail}"
    inner = f" in {symbol.container}" if symbol.container else ""
    at = f"{symbol.location.path}:{symbol.location.line}:{symbol.location.column}"
    return f"{at}: {symbol.kind} {symbol.name}{inner}{detail}"


@pack.tool(
    **READING,
    output_schema=Symbols,
    usage=["Servers match loosely; the best hits come from a whole name."],
    examples=[("where something called Session is", {"query": "Session"})],
)
async def workspace_symbols(
    ctx: Context,
    query: Annotated[str, "Name, or part of one", Length(1, 200)],
    *,
    path: Annotated[Path | None, "Any file in the language that is meant"] = None,
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """Find symbols in the whole workspace by name."""
    bench: Bench = (await ctx.use(workbench)).of(ctx.host)
    await bench.watch()
    # A file of each language stands for it; nothing of it is shown.
    samples = [Path(each) for each in bench.samples(_MOST_LANGUAGES)]
    paths = samples if path is None else [path]
    if not paths:
        text = "The workspace holds no file in a language that a server is installed for."
        raise Unavailable(text, code="lsp.no_server")

    async def asked(at: Path) -> tuple[Answer, list[Symbol]]:
        desk = await desk_of(ctx, at, wait=wait, judged=path is not None)
        params = {"query": query}
        answer = await desk.first("workspace/symbol", lambda *_: params, across=True)
        items = answer.result if isinstance(answer.result, list) else []
        made = (_symbol(answer.reader, item) for item in items if isinstance(item, Mapping))
        return answer, [symbol for symbol in made if symbol is not None]

    results = await asyncio.gather(*(asked(at) for at in paths), return_exceptions=True)
    answers = [each for each in results if not isinstance(each, BaseException)]
    failures = [each for each in results if isinstance(each, BaseException)]
    if not answers:
        raise failures[0]
    if any(not isinstance(each, ToolFailure) for each in failures):
        raise next(each for each in failures if not isinstance(each, ToolFailure))
    found = list(dict.fromkeys(symbol for _, symbols in answers for symbol in symbols))
    # Who does not do this at all has left nothing out.
    failures = [f for f in failures if getattr(f, "code", "") != "lsp.unsupported"]
    inner = sorted((s for s in found if not s.location.outside), key=_rank(query))
    said = []
    if len(found) > len(inner):
        said.append(f"{len(found) - len(inner)} hits outside of the workspace are left out.")
    said += [f"Not asked: {each}" for each in failures]
    notes = ("incomplete",) if failures else ()
    what = f"the workspace for {query!r}"
    return _listed(
        answers[0][0], inner, limit, cursor, what, outline=False, notes=notes, said=tuple(said)
    )


def _rank(query: str) -> Any:
    wanted = query.lower()

    def key(symbol: Symbol) -> tuple[int, str, int, int]:
        name = symbol.name.lower()
        rank = 0 if name == wanted else 1 if name.startswith(wanted) else 2
        place = symbol.location
        return rank, place.path, place.line, place.column

    return key


@workspace_symbols.signature
def _(query: str, *, path: Path | None = None, **_: Any) -> Signature:
    return Signature(reads=[resources.Path(path if path is not None else Path())])


@pack.tool(**READING, output_schema=Calls, usage=[USAGE])
async def incoming_calls(
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
    """Find the functions that call a function."""
    target = Target(line=line, name=name, column=column)
    return await _calls(ctx, path, target, "incoming", wait, limit, cursor)


@pack.tool(**READING, output_schema=Calls, usage=[USAGE])
async def outgoing_calls(
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
    """Find the functions that a function calls."""
    target = Target(line=line, name=name, column=column)
    return await _calls(ctx, path, target, "outgoing", wait, limit, cursor)


incoming_calls.signature(reading)
outgoing_calls.signature(reading)


async def _calls(
    ctx: Context,
    path: Path,
    target: Target,
    way: str,
    wait: int,
    limit: int,
    cursor: str | None,
) -> Result:
    desk = await desk_of(ctx, path, wait=wait)

    def at(client: Client, opened: Opened, spot: Spot | None) -> dict[str, Any]:
        if spot is None:  # pragma: no cover - a target is always given
            raise Unsupported("a question without a place", client.name)
        return position(client, opened, spot)

    async def follow(client: Client, items: Any) -> Any:
        found = []
        for item in items[:_MOST_ITEMS] if isinstance(items, list) else ():
            method = f"callHierarchy/{way}Calls"
            calls = await client.request(method, {"item": item}, until=desk.until)
            found += [(item, call) for call in calls or () if isinstance(call, Mapping)]
        return {"contents": True, "items": items, "calls": found}

    answer = await desk.first(
        "textDocument/prepareCallHierarchy", at, target=target, across=True, also=follow
    )
    if not isinstance(answer.result, Mapping) or not answer.result.get("items"):
        text = (
            f"{answer.client.name} sees no function in {what_of(desk, answer)}. Name the place "
            "where one is defined or called."
        )
        raise Invalid("/name", text, code="lsp.no_function")
    made = (_call(answer.reader, item, call, way) for item, call in answer.result["calls"])
    found = sorted((c for c in made if c is not None), key=lambda c: order(c.location))
    shown, after = page(found, limit, cursor, repr)
    value = Calls(calls=tuple(shown), total=len(found), server=answer.client.name, cursor=after)
    said = "Nothing calls" if way == "incoming" else "No call in"
    lines = [text for each in shown for text in _call_lines(each)]
    lines = lines or [f"{said} {what_of(desk, answer)}, says {answer.client.name}."]
    summary = f"{len(found)} {way} calls of {what_of(desk, answer)}" if found else lines[0]
    return Result(
        summary=summary,
        content=[Text("\n".join([*lines, *more_lines(answer, after)]))],
        structured=plain(value),
        notes=[*answer.notes, *(["partial"] if after else [])],
    )


def _call(
    reader: Reader, item: Mapping[str, Any], call: Mapping[str, Any], way: str
) -> Call | None:
    other = call.get("from" if way == "incoming" else "to")
    if not isinstance(other, Mapping):
        return None
    span = other.get("selectionRange") or other.get("range")
    location = reader.location({"uri": other.get("uri"), "range": span})
    # The places of the calls are in the file of who calls.
    caller = path_of((other if way == "incoming" else item).get("uri"))
    spans = call.get("fromRanges") or ()
    places = [reader.place(caller, each) for each in spans] if caller else []
    if location is None:
        return None
    return Call(
        name=str(other.get("name", ""))[:200],
        kind=symbol_kind(other.get("kind")),
        location=location,
        calls=tuple(sorted((p for p in places if p is not None), key=order)),
    )


def _call_lines(call: Call) -> list[str]:
    at = f"{call.location.path}:{call.location.line}:{call.location.column}"
    first = f"{at}: {call.kind} {call.name}"
    return [first, *(f"    calls at {line_of(place)}" for place in call.calls)]
