"""The tools that tell how things are: diagnostics of a file, and the servers' own state."""

from __future__ import annotations

import asyncio
import time

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import attrs

from toolcrib import Context, Failed, Result, Signature, Text, Unavailable

from . import pulling
from .answers import Reader
from .asking import Desk, desk_of
from .bench import Bench
from .definition import pack, workbench
from .features import FEATURES
from .outputs import Diagnostic, Diagnostics, ServerState, Source, Status, plain
from .paging import page
from .parameters import Cursor, File, Limit, Wait
from .published import Known
from .reads import READING, reading
from .server import Server
from .words import severity as severity_word


__all__ = ["diagnostics", "status"]

_RANK = {"error": 0, "warning": 1, "information": 2, "hint": 3}


@attrs.frozen
class _Word:
    """One server's word on a file."""

    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()
    more: int = 0


@pack.tool(
    **READING,
    output_schema=Diagnostics,
    usage=["Ask after a change to see what it broke; the file is read from the disk."],
    examples=[("what is wrong with a file", {"path": "src/app.py", "severity": "warning"})],
)
async def diagnostics(
    ctx: Context,
    path: File,
    *,
    severity: Annotated[
        Literal["error", "warning", "information", "hint"], "The least that is shown"
    ] = "hint",
    wait: Wait = 10,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Result:
    """List errors and warnings of a file."""
    desk = await desk_of(ctx, path, wait=wait)
    words = await asyncio.gather(*(_word(desk, server) for server in desk.servers))
    asked = [word for word in words if word is not None]
    if not asked:
        raise desk.unsupported("textDocument/diagnostic")
    sources = tuple(word.source for word in asked)
    if all(source.state == "unknown" for source in sources):
        reasons = "; ".join(f"{source.server}: {source.reason}" for source in sources)
        text = f"Diagnostics of {desk.place.shown} are unknown. {reasons}"
        raise Unavailable(text, code="lsp.unknown")
    found = sorted(
        (
            each
            for word in asked
            for each in word.diagnostics
            if _RANK[each.severity] <= _RANK[severity]
        ),
        key=_order,
    )
    shown, after = page(found, limit, cursor, repr)
    value = Diagnostics(
        diagnostics=tuple(shown),
        total=len(found),
        known=any(source.state == "current" for source in sources),
        sources=sources,
        cursor=after,
    )
    return _told(desk, value, found, {word.source.server: word.more for word in asked})


diagnostics.signature(reading)


async def _word(desk: Desk, server: Server) -> _Word | None:
    """Return what one server says, or last said; None if it does not do this."""
    path = desk.place.path
    try:
        known = await desk.ask(server, pulling.question(desk))
    except pulling.Unsupported:
        return None
    except (Unavailable, Failed) as failure:
        last = server.published.get(path)
        if last is None:
            reason = f"unknown: {failure.text}"
            return _Word(Source(server=server.name, state="unknown", reason=reason))
        return _dated(desk, server, last, "stale", failure.text)
    return _dated(desk, server, known, "current", "")


def _dated(
    desk: Desk, server: Server, known: Known, state: Literal["current", "stale"], reason: str
) -> _Word:
    source = Source(
        server=server.name,
        state=state,
        reason=reason,
        version=known.version,
        age=round(max(time.time() - known.time, 0.0), 1),
    )
    client = server.running
    if client is None:
        # It is gone, and with it how it counted: the lines still hold.
        encoding = server.published.encoding
        texts = desk.bench.texts
        reader = Reader(desk.bench.root, texts, encoding, lambda _: None, desk.barred)
    else:
        reader = desk.reader(client)
    made = (_diagnostic(desk, reader, item) for item in known.items)
    return _Word(source, tuple(each for each in made if each is not None), known.more)


def _diagnostic(desk: Desk, reader: Any, item: Any) -> Diagnostic | None:
    location = reader.place(desk.place.path, item.get("range"))
    if location is None:
        return None
    code = item.get("code")
    return Diagnostic(
        severity=severity_word(item.get("severity")),  # type: ignore[arg-type]
        message=str(item.get("message", ""))[:1000],
        location=location,
        source=str(item.get("source") or "")[:80],
        code="" if code is None else str(code)[:80],
    )


def _order(each: Diagnostic) -> tuple[int, int, int, str]:
    place = each.location
    return place.line, place.column, _RANK[each.severity], each.message


def _told(
    desk: Desk, value: Diagnostics, found: Sequence[Diagnostic], more: Mapping[str, int]
) -> Result:
    """Return a page of what was found, with what was not kept of each server's word."""
    lines = [_line(each) for each in value.diagnostics]
    bad = [source for source in value.sources if source.state != "current"]
    good = [source.server for source in value.sources if source.state == "current"]
    if not value.diagnostics and good:
        lines.append(f"No problems in {desk.place.shown}, says {' and '.join(good)}.")
    for source in bad:
        if source.state == "stale":
            lines.append(
                f"{source.server}: what it says is of version {source.version}, "
                f"{source.age:.0f} s ago; now it is unknown: {source.reason}"
            )
        else:
            lines.append(f"{source.server}: {source.reason} There may be more.")
    lines += [
        f"{name} found {n:,} more, which are not listed." for name, n in more.items() if n
    ]
    if value.cursor is not None:
        lines.append(f"More follow: call again with cursor={value.cursor!r}.")
    incomplete = (bad and good) or any(more.values())
    notes = [*(["incomplete"] if incomplete else []), *(["stale"] if not good else [])]
    counts = _counts(found) if found else "no problems"
    summary = f"{desk.place.shown}: {counts}" + ("" if good else " (of an older text)")
    return Result(summary, [Text("\n".join(lines))], plain(value), notes=notes)


def _line(each: Diagnostic) -> str:
    code = f" [{' '.join(filter(None, (each.source, each.code)))}]"
    place = each.location
    at = f"{place.path}:{place.line}:{place.column}"
    return f"{at}: {each.severity}: {each.message}{code if code != ' []' else ''}"


def _counts(found: Iterable[Diagnostic]) -> str:
    counted: dict[str, int] = {}
    for each in found:
        counted[each.severity] = counted.get(each.severity, 0) + 1
    words = sorted(counted, key=_RANK.__getitem__)
    return ", ".join(f"{counted[w]} {w}{'s' if counted[w] > 1 else ''}" for w in words)


@pack.tool(
    effects=(),
    idempotent="yes",
    concurrency="shared",
    labels={"returns_untrusted"},
    output_schema=Status,
)
async def status(ctx: Context) -> Result:
    """List the language servers: what runs, what is installed, what is missing."""
    bench: Bench = (await ctx.use(workbench)).of(ctx.host)
    states = [_state(server) for server in bench.all_servers()]
    used = {state.name for state in states}
    for spec in bench.settings.specs.values():
        if spec.name in used:
            continue
        program = bench.program(spec.name)
        note = ""
        if program is not None and bench.needs_trust(program):
            note = f"needs a trusted workspace: {program.trust}"
        states.append(
            ServerState(
                name=spec.name,
                state="installed" if program is not None else "missing",
                languages=spec.languages,
                note=note,
                install="" if program is not None else spec.install,
            )
        )
    lines = [_state_line(state) for state in states if state.state != "missing"]
    missing = [s for s in states if s.state == "missing"]
    if missing:
        lines.append("Not installed: " + ", ".join(f"{s.name} ({s.install})" for s in missing))
    if bench.partly_watched:
        lines.append("The workspace has more files than are watched; changes may be missed.")
    running = sum(1 for s in states if s.state in {"running", "indexing"})
    return Result(
        summary=f"{running} of {len(states) - len(missing)} installed servers run",
        content=[Text("\n".join(lines))],
        structured=plain(Status(servers=tuple(states))),
    )


@status.signature
def _() -> Signature:
    return Signature()


def _state(server: Server) -> ServerState:
    client = server.running
    spec = server.program.spec
    able: tuple[str, ...] = ()
    note = server.last_death.splitlines()[0] if server.last_death else ""
    if client is not None:
        able = tuple(
            sorted(m.rpartition("/")[2] for m in FEATURES if client.features.supports(m))
        )
        note = client.progress.said() or note
    return ServerState(
        name=server.name,
        state=server.state,
        languages=spec.languages,
        folder=server.folder,
        supports=able,
        note=note[:300],
    )


def _state_line(state: ServerState) -> str:
    parts = [f"{state.name}: {state.state}", f"for {', '.join(state.languages)}"]
    if state.folder:
        parts.append(f"in {state.folder}")
    if state.note:
        parts.append(f"({state.note})")
    return " ".join(parts)
