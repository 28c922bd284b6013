"""How one call asks its servers, and when an answer is one."""

from __future__ import annotations

import asyncio
import os
import re
import time

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs

from toolcrib import Access, Context, Failed, Resource, ToolFailure, Unavailable

from .answers import Reader, is_nothing, nothing_barred
from .bench import Bench
from .client import Client, Unsupported
from .definition import workbench
from .documents import Opened
from .finding import Program
from .peer import NoAnswer, RemoteError
from .places import Place, locate, uri_of
from .positions import units_of
from .server import Server
from .servers import known_for
from .spots import Spot, find_spot


__all__ = [
    "Answer",
    "Desk",
    "Target",
    "desk_at",
    "desk_of",
    "is_settled",
    "language_for",
    "position",
    "registered",
    "settled",
    "with_users",
]

T = TypeVar("T")
_POLL = 0.15
_LONGEST_LOOK = 10.0
_READING = 1.5
_IN_ONE_FILE = frozenset({"textDocument/documentSymbol", "textDocument/hover"})
_NOT_ASKED = object()
_BY_INDEX = frozenset({"textDocument/definition", "textDocument/prepareCallHierarchy"})
_NOTHING = re.compile(
    r"(no|not an?|cannot find|could not find)\b(?! such method)", re.IGNORECASE
)
_YES = "yes"


@attrs.frozen(kw_only=True)
class Target:
    """Which place of a file a call means; see :func:`find_spot`."""

    line: int | None = None
    name: str | None = None
    column: int | None = None


@attrs.frozen(kw_only=True)
class Answer:
    """What one server answered.

    Attributes:
        result: As it gave it.
        client: Who answered.
        reader: Turns its places into ours.
        spot: Where it was asked about, if a place was named.
        notes: How far to trust it.
        said: Why it says nothing, if it says so.
    """

    result: Any
    client: Client
    reader: Reader
    spot: Spot | None = None
    notes: tuple[str, ...] = ()
    said: str = ""


@attrs.define
class Desk:
    """What one call works with.

    Attributes:
        bench: The servers of the workspace.
        place: The file that is asked about.
        language: Its language.
        servers: Who serves it, in order.
        wait: Seconds to wait for a server that starts or indexes.
        barred: Whether rules keep the call from a path that an answer names, from
            reading it or in the way that is given besides; of an empty path, whether
            they might keep it from any.
    """

    bench: Bench
    place: Place
    language: str
    servers: list[Server]
    wait: float
    _until: float
    barred: Callable[..., bool] = nothing_barred

    @property
    def names(self) -> str:
        """The servers in words."""
        return " and ".join(server.name for server in self.servers)

    async def first(
        self,
        method: str,
        params: Callable[[Client, Opened, Spot | None], Any],
        *,
        target: Target | None = None,
        across: bool = False,
        exact: bool = False,
        also: Callable[[Client, Any], Awaitable[Any]] | None = None,
    ) -> Answer:
        """Return the first answer that says something, or an empty one that is certain.

        Args:
            method: What is asked.
            params: Makes the parameters.
            target: The place that is meant, if it is one.
            across: Whether the answer needs all files of the workspace.
            exact: Whether a name that stands twice on a line is refused.
            also: Asks more about an answer.

        Raises:
            Unavailable: nobody can answer, now or at all; never an empty answer instead.
        """
        question = _Question(self, method, params, target, across, exact, also)
        empty: Answer | None = None
        failures: list[ToolFailure] = []
        for server in self.servers:
            try:
                answer = await self.ask(server, question)
            except Unsupported:
                continue
            except (Unavailable, Failed) as failure:
                failures.append(failure)
                continue
            if not is_nothing(answer.result):
                return answer
            empty = empty or answer
        if failures:
            raise failures[0]
        if empty is None:
            raise self.unsupported(method)
        return empty

    async def ask(self, server: Server, question: Callable[[Client], Awaitable[T]]) -> T:
        """Ask one server; failures of the connection become the tool's.

        Raises:
            Unsupported: it does not know the method.
            Unavailable: it cannot answer now.
            Failed: it answered with an error.
        """
        try:
            return await server.run(question, wait=self.wait)
        except NoAnswer as error:
            text = f"{server.name} did not answer: {error}. Ask again, or about less."
            raise Unavailable(text, code="lsp.no_answer") from error
        except RemoteError as error:
            text = f"{server.name} answered with an error: {error.message}"
            raise Failed(text, code="lsp.server_error") from error

    def unsupported(self, method: str) -> Unavailable:
        """Return the failure of a method that no server of the file knows."""
        others = [
            spec.name
            for spec in known_for(self.language)
            if spec.name not in {server.name for server in self.servers}
        ]
        more = f" Other servers for {self.language}: {', '.join(others)}." if others else ""
        text = f"{_said(method)} is not supported by {self.names}.{more}"
        return Unavailable(text, code="lsp.unsupported")

    def opened(self, client: Client) -> Opened:
        """Bring a server in step with the disk and return the file as it sees it."""
        self.bench.refresh(self.place.path)
        return client.documents.open(self.place.path, now=time.monotonic())

    @property
    def until(self) -> float:
        """When to give up, on the loop's clock."""
        return self._until

    def reader(self, client: Client) -> Reader:
        """Return what turns a server's places into ours."""
        seen = client.documents.snapshot
        return Reader(self.bench.root, self.bench.texts, client.encoding, seen, self.barred)


@attrs.frozen
class _Question:
    """A question to any server, asked until its answer can be believed."""

    desk: Desk
    method: str
    params: Callable[[Client, Opened, Spot | None], Any]
    target: Target | None
    across: bool
    exact: bool
    also: Callable[[Client, Any], Awaitable[Any]] | None

    async def __call__(self, client: Client) -> Answer:
        desk = self.desk
        if not client.features.supports(self.method, desk.place.path, desk.language):
            # It may register the ability a moment after its start.
            await registered(client, self.method, desk)
        end = asyncio.get_running_loop().time() + desk.wait
        across = self.across or (client.spec.indexes and self.method in _BY_INDEX)
        if across and not is_settled(client):
            # Some servers look for files only once one is open.
            desk.opened(client)
            await settled(client, end)
        before: Any = _NOT_ASKED
        while True:
            # What counts is when it was asked: it may have finished while it answered.
            busy, seen = client.progress.busy, client.progress.seen
            result, opened, spot, said = await self._once(client, end)
            busy = busy or client.progress.busy
            working = busy or seen != client.progress.seen
            first = working and not client.calm and self.method not in _IN_ONE_FILE
            # The work may be that very question: two answers alike are enough.
            first = first and (client.progress.busy or result != before)
            before = result
            nothing = is_nothing(result)
            if not first and not (nothing and (busy or _is_doubtful(client, opened))):
                break
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                if nothing:
                    raise _indexing(client)
                break
            await client.progress.changed(min(_POLL, left))
        # While it reads the workspace for the first time, even an answer may be a guess.
        client.calm = client.calm or not client.progress.busy
        notes = ("indexing",) if busy and (across or first) else ()
        if self.also is not None:
            result = await self.also(client, result)
        if spot is not None and spot.others:
            notes = (*notes, "name_stands_twice")
        return Answer(
            result=result,
            client=client,
            reader=desk.reader(client),
            spot=spot,
            notes=notes,
            said=said,
        )

    async def _once(self, client: Client, end: float) -> tuple[Any, Opened, Spot | None, str]:
        desk = self.desk
        opened = desk.opened(client)
        spot = None
        if self.target is not None:
            spot = find_spot(
                opened.snapshot,
                desk.place.shown,
                line=self.target.line,
                name=self.target.name,
                column=self.target.column,
                exact=self.exact,
            )
        if self.across and spot is not None:
            await with_users(desk, client, spot.name, end)
        params = self.params(client, opened, spot)
        try:
            result = await client.request(self.method, params, until=desk.until)
        except RemoteError as error:
            if not _NOTHING.match(error.message):
                raise
            # Some servers say by an error that there is nothing.
            return None, opened, spot, error.message
        return result, opened, spot, ""


async def registered(client: Client, method: str, desk: Desk) -> None:
    """Wait a moment for an ability that a server registers after its start.

    Raises:
        Unsupported: it does not.
    """
    while not client.features.supports(method, desk.place.path, desk.language):
        left = client.started + min(client.spec.settle, 1.0) - time.monotonic()
        if left <= 0:
            raise Unsupported(method, client.name)
        await asyncio.sleep(min(0.02, left))


async def with_users(desk: Desk, client: Client, name: str, end: float) -> None:
    """Open what mentions a name, and give the server a moment to read what it did not know."""
    new = desk.bench.open_users(client, name)
    if not new:
        return
    if not client.features.supports("textDocument/diagnostic", new[0], desk.language):
        # A server that pushes what it thinks of a file has then read it.
        loop = asyncio.get_running_loop()
        end = min(end, loop.time() + _READING)
        while loop.time() < end and any(client.published.get(path) is None for path in new):
            client.check()
            await client.published.news(min(0.1, end - loop.time()))
    desk.bench.refresh()


def _is_doubtful(client: Client, opened: Opened) -> bool:
    """Tell whether an empty answer may only mean that the server is not ready."""
    settled = max(client.started + client.spec.settle, opened.opened + client.spec.opening)
    return client.progress.busy or time.monotonic() < settled


def is_settled(client: Client) -> bool:
    """Tell whether a server has had time to look at all files, as far as it says."""
    rest = client.started + client.spec.settle - time.monotonic()
    if rest < -_LONGEST_LOOK:
        return True  # It says so otherwise than it did, or never.
    return client.looked and rest <= 0 and not client.progress.busy


async def settled(client: Client, end: float) -> None:
    """Wait until a server is settled."""
    loop = asyncio.get_running_loop()
    while loop.time() < end and not is_settled(client):
        rest = client.started + client.spec.settle - time.monotonic()
        step = min(_POLL, rest) if rest > 0 else _POLL / 3
        await client.progress.changed(max(min(step, end - loop.time()), 0.001))


def _indexing(client: Client) -> Unavailable:
    said = client.progress.said()
    doing = f"is still working ({said})" if said else "has only just seen the file"
    text = (
        f"{client.name} {doing}, so an empty answer would not mean that there is nothing. "
        "Ask again, or with a longer wait."
    )
    return Unavailable(text, code="lsp.indexing")


_WORDS = {
    "textDocument/typeDefinition": "type_definition",
    "textDocument/documentSymbol": "symbols",
    "workspace/symbol": "workspace_symbols",
    "textDocument/prepareCallHierarchy": "the call hierarchy",
    "textDocument/codeAction": "code_action",
    "textDocument/formatting": "format",
    "textDocument/rangeFormatting": "format of some lines",
    "textDocument/diagnostic": "diagnostics",
}


def _said(method: str) -> str:
    """Return a method in the words of our tools."""
    return _WORDS.get(method) or method.rpartition("/")[2]


async def desk_of(ctx: Context, path: Path, *, wait: float, judged: bool = True) -> Desk:
    """Return what a call about a file works with; asks for trust where that is needed.

    Args:
        ctx: Of the call.
        path: The file.
        wait: Seconds to wait for a server that is not ready.
        judged: Whether the path is the call's own, which its signature names.

    Raises:
        ToolFailure: the path is none that may be asked about, or nobody serves it.
    """
    bench: Bench = (await ctx.use(workbench)).of(ctx.host)
    signature = getattr(ctx, "signature", None) if judged else None
    place = locate(bench.root, path, signature)
    language = language_for(bench, place)
    programs = bench.programs(language)
    for program in programs:
        if bench.needs_trust(program):
            await _ask_trust(ctx, bench, program)
    desk = await desk_at(bench, place, language, programs, wait=wait)
    desk.barred = lambda path, access=Access.READ: ctx.bars(Resource("path", path, access))
    return desk


async def desk_at(
    bench: Bench, place: Place, language: str, programs: Sequence[Program], *, wait: float
) -> Desk:
    """Return the desk of a place that has been judged.

    Raises:
        Unavailable: nobody serves it.
    """
    servers = bench.servers(place, programs)
    await bench.watch()
    until = asyncio.get_running_loop().time() + wait + bench.settings.request
    return Desk(bench, place, language, servers, wait, until)


def language_for(bench: Bench, place: Place) -> str:
    """Return a file's language.

    Raises:
        Unavailable: there is none that any server knows.
    """
    language = bench.language(place.path)
    if language is None:
        end = os.path.splitext(place.path)[1] or os.path.basename(place.path)
        text = (
            f"No language is known for {end!r} files, so no server can be asked about "
            f"{place.shown}. Ask a person to name one in [pack.lsp.extensions] of the policy."
        )
        raise Unavailable(text, code="lsp.no_language")
    return language


async def _ask_trust(ctx: Context, bench: Bench, program: Program) -> None:
    """Ask a person whether a server may run the workspace's code, once."""
    name = program.spec.name
    text = (
        f"Start the language server {name} in {bench.root}? {program.trust.capitalize()}, so "
        "only start it if you trust what is in this folder."
    )
    answer = await ctx.ask.question(text, options=(_YES, "no"), default="no")
    if answer == _YES:
        bench.allowed.add(name)


def position(client: Client, opened: Opened, spot: Spot) -> dict[str, Any]:
    """Return a place as the parameters of a question about it."""
    line = opened.snapshot.lines[spot.line]
    units = units_of(line, spot.column, client.encoding)
    return {
        "textDocument": {"uri": uri_of(opened.snapshot.path)},
        "position": {"line": spot.line, "character": units},
    }
