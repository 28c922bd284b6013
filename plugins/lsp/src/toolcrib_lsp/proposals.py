"""What a server proposes to write: asked for with every file open, so nothing is guessed."""

from __future__ import annotations

import asyncio
import os
import time

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import attrs

from toolcrib import Access, Failed, Refused, ToolFailure

from .asking import Desk, Target, registered
from .client import Client, Unsupported
from .documents import Opened
from .edits import Plan, files_of, plan_of, touched
from .places import inside, uri_of
from .positions import units_of
from .server import Server
from .spots import Spot, find_spot


__all__ = [
    "Proposal",
    "by_all",
    "by_first",
    "formatted",
    "lines_span",
    "permitted",
    "planned",
    "spot_of",
    "with_open_files",
]

T = TypeVar("T")
_ROUNDS = 4


@attrs.frozen
class Proposal:
    """A plan, and whose it is."""

    plan: Plan
    server: str
    title: str = ""


async def by_first(
    desk: Desk, method: str, work: Callable[[Client], Awaitable[T]], servers: Sequence[Server]
) -> T:
    """Return what the first server that supports a method gives.

    Raises:
        ToolFailure: nobody supports it, or the one that does cannot answer.
    """

    async def asked(client: Client) -> T:
        await registered(client, method, desk)
        return await work(client)

    for server in servers:
        try:
            return await desk.ask(server, asked)
        except Unsupported:
            continue
    raise desk.unsupported(method)


async def by_all(
    desk: Desk, method: str, work: Callable[[Server, Client], Awaitable[T]]
) -> tuple[list[T], list[ToolFailure]]:
    """Return what each server that supports a method gives, and why others cannot.

    Raises:
        ToolFailure: nobody supports it.
    """

    async def of(server: Server) -> T:
        async def asked(client: Client) -> T:
            await registered(client, method, desk)
            return await work(server, client)

        return await desk.ask(server, asked)

    results = await asyncio.gather(*map(of, desk.servers), return_exceptions=True)
    given: list[T] = []
    failures: list[ToolFailure] = []
    for each in results:
        if not isinstance(each, BaseException):
            given.append(each)
        elif isinstance(each, ToolFailure):
            failures.append(each)
        elif not isinstance(each, Unsupported):
            raise each
    if not given and not failures:
        raise desk.unsupported(method)
    return given, failures


def planned(desk: Desk, client: Client, edit: Any) -> Plan:
    """Return what an edit of a server would write."""
    bench = desk.bench
    return plan_of(bench.root, edit, bench.texts, client.documents, client.encoding)


def permitted(desk: Desk, paths: Iterable[str]) -> None:
    """Refuse a change of files that a rule keeps from the call.

    Its signature names them, unless the server was too slow to say which they are.

    Raises:
        Refused: some are; they are not named.
    """
    kept = sum(1 for path in paths if desk.barred(path, Access.WRITE))
    if kept:
        count = "a file" if kept == 1 else f"{kept} files"
        text = (
            f"The change would reach {count} that a rule keeps from this call. Nothing was "
            "changed. Do something else, or ask the user to do it."
        )
        raise Refused(text, code="lsp.withheld")


async def with_open_files(desk: Desk, client: Client, ask: Callable[[], Awaitable[Any]]) -> Any:
    """Return an edit that changes open files only, so that it is known what was seen.

    A file that is not open is opened, and the server is asked again.
    """
    for _ in range(_ROUNDS):
        edit = await ask()
        try:
            paths = {os.path.realpath(path) for path in files_of(edit)}
            reached = touched(edit)
        except (KeyError, TypeError, AttributeError):
            return edit  # planning says what is wrong with it
        # First, for what else is refused is named.
        permitted(desk, reached)
        closed = sorted(
            path
            for path in paths
            if client.documents.get(path) is None and inside(desk.bench.root, path)
        )
        closed = [path for path in closed if os.path.isfile(path)]
        if not closed:
            return edit
        client.documents.make_room(len(paths) + 1)
        for path in closed:
            client.documents.open(path, now=time.monotonic())
    text = f"{client.name} answers with other files each time. Nothing was changed."
    raise Failed(text, code="lsp.unsteady")


def spot_of(desk: Desk, opened: Opened, target: Target) -> Spot:
    """Return the one place that a call names."""
    return find_spot(
        opened.snapshot,
        desk.place.shown,
        line=target.line,
        name=target.name,
        column=target.column,
        exact=True,
    )


async def formatted(desk: Desk, first: int | None, last: int | None) -> Proposal:
    """Return what formatting a file, or some lines of it, would write.

    Raises:
        ToolFailure: no server can.
    """
    whole = first is None and last is None
    method = "textDocument/formatting" if whole else "textDocument/rangeFormatting"

    async def work(client: Client) -> Proposal:
        opened = desk.opened(client)
        document = {"uri": uri_of(opened.snapshot.path)}
        params: dict[str, Any] = {"textDocument": document, "options": _style(opened)}
        if not whole:
            params["range"] = lines_span(client, opened, first or 1, last)
        edits = await client.request(method, params, until=desk.until)
        plan = planned(desk, client, {"changes": {document["uri"]: edits or []}})
        return Proposal(plan, client.name)

    # A linter that formats is a formatter by trade; others do it besides.
    servers = sorted(desk.servers, key=lambda server: server.program.spec.slot != "lint")
    return await by_first(desk, method, work, servers)


def _style(opened: Opened) -> dict[str, Any]:
    """Return how a file is indented, as it is now."""
    indents = [line for line in opened.snapshot.lines[:2000] if line[:1] in (" ", "\t")]
    tabs = sum(1 for line in indents if line[0] == "\t")
    widths = [len(line) - len(line.lstrip(" ")) for line in indents if line[0] == " "]
    width = min((w for w in widths if w > 1), default=4)
    return {
        "tabSize": width,
        "insertSpaces": tabs * 2 <= len(indents),
        "trimTrailingWhitespace": True,
        "insertFinalNewline": True,
    }


def lines_span(client: Client, opened: Opened, first: int, last: int | None) -> dict[str, Any]:
    """Return the range of some lines, from 1; to the end of the file if there is no last."""
    lines = opened.snapshot.lines
    begin = min(first, len(lines)) - 1
    end = min(last if last is not None else len(lines), len(lines)) - 1
    end = max(begin, end)
    units = units_of(lines[end], len(lines[end]), client.encoding)
    return {
        "start": {"line": begin, "character": 0},
        "end": {"line": end, "character": units},
    }
