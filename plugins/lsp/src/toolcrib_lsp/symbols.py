"""The tools that list symbols: of one file, and by name in the whole workspace."""

from __future__ import annotations

import asyncio

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from toolcrib import (
    Context,
    Length,
    Result,
    Signature,
    ToolFailure,
    Unavailable,
    resources,
)

from .answers import Reader, flattened
from .asking import Answer, Desk, desk_of
from .bench import Bench
from .client import Client
from .definition import pack, workbench
from .documents import Opened
from .outputs import Symbol, Symbols
from .paging import page
from .parameters import Cursor, File, Limit, Wait
from .places import uri_of
from .reads import READING, listed, reading, withheld
from .spots import Spot
from .words import symbol_kind


__all__ = ["symbols", "workspace_symbols"]

_MOST_LANGUAGES = 3


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
    other: bool = False,
) -> Result:
    shown, after = page(found, limit, cursor, repr)
    name = answer.client.name
    value = Symbols(symbols=tuple(shown), total=len(found), server=name, cursor=after)
    lines = [_line(each, outline=outline) for each in shown]
    if not found:
        no = "no other" if other or answer.reader.withheld else "no"
        lines.append(f"{name} knows {no} symbol in {what}.")
    summary = f"{len(found)} symbols in {what}" if found else lines[0]
    return listed(answer, summary, [*lines, *said], value, *notes)


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
    more = sum(answer.reader.withheld for answer, _ in answers[1:])
    said += [withheld(more)] if more else []
    said += [f"Not asked: {each}" for each in failures]
    notes = ("incomplete",) if failures else ()
    what = f"the workspace for {query!r}"
    return _listed(
        answers[0][0],
        inner,
        limit,
        cursor,
        what,
        outline=False,
        notes=notes,
        said=tuple(said),
        other=more > 0,
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
