"""What a server proposes to write: asked for with every file open, so nothing is guessed."""

from __future__ import annotations

import asyncio
import os
import time

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from toolcrib import Failed, NotFound, ToolFailure, Unavailable

from . import pulling
from .asking import Desk, Target, position, registered, settled, with_users
from .client import Client, Unsupported
from .documents import Opened
from .edits import Plan, files_of, miscounted, plan_of
from .peer import RemoteError
from .places import inside, shown, uri_of
from .positions import units_of
from .server import Server
from .spots import Spot, find_spot


__all__ = ["Action", "Proposal", "actions", "chosen", "formatted", "renamed"]

_ROUNDS = 4
_MOST_ACTIONS = 200


@attrs.frozen
class Proposal:
    """A plan, and whose it is."""

    plan: Plan
    server: str
    title: str = ""


@attrs.frozen
class Action:
    """A code action as one server offers it."""

    raw: Mapping[str, Any]
    server: Server

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.raw.get("title", ""))[:300]

    @property
    def is_command(self) -> bool:
        """Whether it is nothing but a command."""
        return isinstance(self.raw.get("command"), str)


async def _first(
    desk: Desk, method: str, work: Callable[[Client], Awaitable[Any]], servers: Sequence[Server]
) -> Any:
    """Return what the first server that supports a method gives."""

    async def asked(client: Client) -> Any:
        await registered(client, method, desk)
        return await work(client)

    for server in servers:
        try:
            return await desk.ask(server, asked)
        except Unsupported:
            continue
    raise desk.unsupported(method)


def _planned(desk: Desk, client: Client, edit: Any) -> Plan:
    bench = desk.bench
    return plan_of(bench.root, edit, bench.texts, client.documents, client.encoding)


async def _with_open_files(
    desk: Desk, client: Client, ask: Callable[[], Awaitable[Any]]
) -> Any:
    """Return an edit that changes open files only, so that it is known what was seen.

    A file that is not open is opened, and the server is asked again.
    """
    for _ in range(_ROUNDS):
        edit = await ask()
        try:
            paths = {os.path.realpath(path) for path in files_of(edit)}
        except (KeyError, TypeError, AttributeError):
            return edit  # planning says what is wrong with it
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


async def renamed(desk: Desk, target: Target, new_name: str) -> Proposal:
    """Return what renaming something would write.

    Raises:
        ToolFailure: it cannot be renamed, or no server can.
    """

    async def work(client: Client) -> Proposal:
        end = asyncio.get_running_loop().time() + desk.wait
        desk.opened(client)
        await settled(client, end)
        what = ""

        async def ask() -> Any:
            nonlocal what
            opened = desk.opened(client)
            spot = _spot(desk, opened, target)
            what = spot.name
            await with_users(desk, client, what, end)
            desk.bench.refresh()
            at = position(client, opened, spot)
            options = client.features.options(
                "textDocument/rename", desk.place.path, desk.language
            )
            if isinstance(options, Mapping) and options.get("prepareProvider"):
                await _prepared(desk, client, at, what)
            params = {**at, "newName": new_name}
            return await client.request("textDocument/rename", params, until=desk.until)

        edit = await _with_open_files(desk, client, ask)
        plan = _planned(desk, client, edit)
        if stray := miscounted(edit, what, client.documents, client.encoding):
            text = (
                f"{client.name} would change something else than {what!r} in "
                f"{shown(desk.bench.root, stray)}: it counts columns otherwise than it says. "
                "Nothing was changed. Ask a person to use another server."
            )
            raise Failed(text, code="lsp.miscounted")
        if not plan.files:
            busy = client.progress.busy
            text = f"Nothing was renamed: {client.name} found no place of {what!r} to change."
            if busy:
                text += f" It is still working ({client.progress.said()}); call again."
                raise Unavailable(text, code="lsp.indexing")
            raise Failed(text, code="lsp.nothing_renamed")
        return Proposal(plan, client.name)

    proposal: Proposal = await _first(desk, "textDocument/rename", work, desk.servers)
    return proposal


async def _prepared(desk: Desk, client: Client, at: Mapping[str, Any], what: str) -> None:
    try:
        answer = await client.request("textDocument/prepareRename", at, until=desk.until)
    except RemoteError as error:
        text = f"{client.name} cannot rename {what!r}: {error.message}"
        raise Failed(text, code="lsp.not_renamable") from error
    except Unsupported:
        # It said so and does not know it; the question itself will tell.
        return
    if answer is None:
        text = f"{client.name} cannot rename {what!r} in {desk.place.shown}."
        raise Failed(text, code="lsp.not_renamable")


def _spot(desk: Desk, opened: Opened, target: Target) -> Spot:
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
            params["range"] = _lines(client, opened, first or 1, last)
        edits = await client.request(method, params, until=desk.until)
        plan = _planned(desk, client, {"changes": {document["uri"]: edits or []}})
        return Proposal(plan, client.name)

    # A linter that formats is a formatter by trade; others do it besides.
    servers = sorted(desk.servers, key=lambda server: server.program.spec.slot != "lint")
    proposal: Proposal = await _first(desk, method, work, servers)
    return proposal


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


def _lines(client: Client, opened: Opened, first: int, last: int | None) -> dict[str, Any]:
    lines = opened.snapshot.lines
    begin = min(first, len(lines)) - 1
    end = min(last if last is not None else len(lines), len(lines)) - 1
    end = max(begin, end)
    units = units_of(lines[end], len(lines[end]), client.encoding)
    return {
        "start": {"line": begin, "character": 0},
        "end": {"line": end, "character": units},
    }


async def actions(
    desk: Desk, target: Target, last: int | None, kind: str | None
) -> list[Action]:
    """Return what all servers of a file offer for a place.

    Raises:
        ToolFailure: no server can be asked.
    """

    async def of(server: Server) -> list[Action]:
        async def work(client: Client) -> Any:
            await registered(client, "textDocument/codeAction", desk)
            return await _offered(desk, client, target, last, kind)

        return [Action(raw, server) for raw in await desk.ask(server, work)]

    results = await asyncio.gather(*map(of, desk.servers), return_exceptions=True)
    found: list[Action] = []
    failures = [each for each in results if isinstance(each, BaseException)]
    for each in results:
        if not isinstance(each, BaseException):
            found += each
    serious = [each for each in failures if not isinstance(each, Unsupported)]
    if len(failures) == len(results):
        raise serious[0] if serious else desk.unsupported("textDocument/codeAction")
    for each in serious:
        if not isinstance(each, ToolFailure):
            raise each
    return found[:_MOST_ACTIONS]


async def _offered(
    desk: Desk, client: Client, target: Target, last: int | None, kind: str | None
) -> list[Mapping[str, Any]]:
    try:
        known = await pulling.question(desk)(client)
        problems = list(known.items)
    except (Unavailable, Unsupported):
        problems = []
    opened = desk.opened(client)
    span = _span(desk, client, opened, target, last)
    context: dict[str, Any] = {
        "diagnostics": [each for each in problems if _touches(each.get("range"), span)],
        "triggerKind": 1,
    }
    if kind is not None:
        context["only"] = [kind]
    params = {
        "textDocument": {"uri": uri_of(opened.snapshot.path)},
        "range": span,
        "context": context,
    }
    result = await client.request("textDocument/codeAction", params, until=desk.until)
    return [each for each in result or () if isinstance(each, Mapping) and each.get("title")]


def _span(
    desk: Desk, client: Client, opened: Opened, target: Target, last: int | None
) -> dict[str, Any]:
    if target.line is None and target.name is None:
        return _lines(client, opened, 1, None)
    if target.name is None and target.column is None and target.line is not None:
        return _lines(client, opened, target.line, last if last is not None else target.line)
    spot = _spot(desk, opened, target)
    line = opened.snapshot.lines[spot.line]
    end = spot.column + len(spot.name.rpartition(".")[2])
    span = {
        "start": {"line": spot.line, "character": units_of(line, spot.column, client.encoding)},
        "end": {"line": spot.line, "character": units_of(line, end, client.encoding)},
    }
    if last is not None and last > spot.line + 1:
        span["end"] = _lines(client, opened, spot.line + 1, last)["end"]
    return span


def _touches(span: Any, other: Mapping[str, Any]) -> bool:
    try:
        start, end = _pair(span["start"]), _pair(span["end"])
    except (TypeError, KeyError):
        return False
    return start <= _pair(other["end"]) and end >= _pair(other["start"])


def _pair(position: Mapping[str, Any]) -> tuple[int, int]:
    return position["line"], position["character"]


async def chosen(
    desk: Desk, target: Target, last: int | None, kind: str | None, title: str
) -> Proposal:
    """Return what one of the offered actions would write.

    Raises:
        ToolFailure: there is no such action, or it cannot be previewed.
    """
    action = _pick(await actions(desk, target, last, kind), title, desk)

    async def work(client: Client) -> Proposal:
        current = action

        async def ask() -> Any:
            nonlocal current
            offered = await _offered(desk, client, target, last, kind)
            mine = [Action(raw, action.server) for raw in offered]
            current = _pick(mine, action.title, desk)
            return await _edit_of(desk, client, current.raw)

        plan = _planned(desk, client, await _with_open_files(desk, client, ask))
        if not plan.files:
            text = f"{action.title!r} changes nothing, says {client.name}."
            raise Failed(text, code="lsp.nothing_changed")
        return Proposal(plan, client.name, action.title)

    return await desk.ask(action.server, work)


def _pick(found: Sequence[Action], title: str, desk: Desk) -> Action:
    same = [each for each in found if each.title == title]
    wanted = title.lower()
    near = [each for each in found if each.title.lower().startswith(wanted)]
    hits = same or near
    titles = "\n".join(f"  {each.title}" for each in found[:30])
    if not hits:
        text = f"No server offers {title!r} there."
        text += f" These are offered:\n{titles}" if titles else " Nothing is offered there."
        raise NotFound(text, code="lsp.no_action")
    if len({each.title for each in hits}) > 1:
        text = f"{title!r} fits several actions; give the whole title:\n{titles}"
        raise NotFound(text, code="lsp.ambiguous")
    disabled = hits[0].raw.get("disabled")
    if isinstance(disabled, Mapping):
        text = f"{hits[0].title!r} cannot be done: {disabled.get('reason')}"
        raise Failed(text, code="lsp.disabled")
    return hits[0]


async def _edit_of(desk: Desk, client: Client, raw: Mapping[str, Any]) -> Any:
    """Return the edit of an action: in it, resolved, or proposed by its command."""
    action = raw
    if "edit" not in raw and not isinstance(raw.get("command"), str):
        options = client.features.options(
            "textDocument/codeAction", desk.place.path, desk.language
        )
        if isinstance(options, Mapping) and options.get("resolveProvider"):
            action = await client.request("codeAction/resolve", dict(raw), until=desk.until)
    edit = action.get("edit") if isinstance(action, Mapping) else None
    if edit:
        return edit
    command = action.get("command") if isinstance(action, Mapping) else None
    if isinstance(command, str):
        command = action
    if not isinstance(command, Mapping):
        text = f"{raw.get('title')!r} holds neither an edit nor a command."
        raise Failed(text, code="lsp.nothing_changed")
    return await _by_command(desk, client, command)


async def _by_command(desk: Desk, client: Client, command: Mapping[str, Any]) -> Any:
    """Run a command that is known to do nothing but propose an edit, and keep the edit."""
    name = str(command.get("command"))
    if name not in client.spec.edit_commands:
        text = (
            f"This action runs the command {name!r} in {client.name}, which may do more than "
            "edit. Only commands that are known to propose an edit are run; a person can add "
            f"it to [pack.lsp.servers.{client.name}] edit_commands. Nothing was changed."
        )
        raise Unavailable(text, code="lsp.command_not_run")
    params = {"command": name, "arguments": command.get("arguments") or []}
    async with client.commanding:
        client.proposed = []
        try:
            await client.request("workspace/executeCommand", params, until=desk.until)
        except RemoteError:
            if not client.proposed:
                raise
        finally:
            proposed, client.proposed = client.proposed, None
    if len(proposed) == 1:
        return proposed[0]
    changes = [each for edit in proposed for each in edit.get("documentChanges") or ()]
    return {"documentChanges": changes}
