"""Code actions: what servers offer for a place, and what one of them would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from toolcrib import Failed, NotFound, Unavailable

from . import pulling
from .asking import Desk, Target
from .client import Client, Unsupported
from .documents import Opened
from .edits import touched
from .peer import RemoteError
from .places import uri_of
from .positions import units_of
from .proposals import Proposal, by_all, lines_span, planned, spot_of, with_open_files
from .server import Server


__all__ = ["Action", "actions", "chosen"]


@attrs.frozen
class Action:
    """A code action as one server offers it.

    Attributes:
        raw: As the server gave it.
        server: Who offers it.
        barred: Whether it would change a file that rules keep from the call, as far as
            the server has said what it would change.
        resolvable: Whether the server can be asked for an edit that is not there yet.
    """

    raw: Mapping[str, Any]
    server: Server
    barred: bool = False
    resolvable: bool = False

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.raw.get("title", ""))[:300]

    @property
    def command(self) -> str:
        """The command that would have to be run for its edit; empty if there is none."""
        name = self.raw.get("command")
        if isinstance(name, str):
            return name
        if not isinstance(name, Mapping) or self.raw.get("edit") or self.resolvable:
            return ""
        return str(name.get("command"))

    @property
    def reason(self) -> str:
        """Why it cannot be done, as far as that can be told before; empty if it can."""
        disabled = self.raw.get("disabled")
        if isinstance(disabled, Mapping):
            return str(disabled.get("reason") or "the server says so")
        spec = self.server.program.spec
        if not self.command or self.command in spec.edit_commands | spec.told_commands:
            return ""
        return f"it runs the command {self.command}"


async def actions(
    desk: Desk, target: Target, last: int | None, kind: str | None
) -> list[Action]:
    """Return what all servers of a file offer for a place.

    Raises:
        ToolFailure: no server can be asked.
    """

    async def work(server: Server, client: Client) -> list[Action]:
        return await _offered(desk, server, client, target, last, kind)

    given, failures = await by_all(desk, "textDocument/codeAction", work)
    if not given:
        raise failures[0]
    return [action for each in given for action in each]


def _is_barred(desk: Desk, raw: Mapping[str, Any]) -> bool:
    try:
        return any(map(desk.barred, touched(raw.get("edit"))))
    except (KeyError, TypeError, AttributeError):
        return False  # who chooses it is told what is wrong with it


async def _offered(
    desk: Desk,
    server: Server,
    client: Client,
    target: Target,
    last: int | None,
    kind: str | None,
) -> list[Action]:
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
    resolvable = _resolves(desk, client)
    return [
        Action(each, server, _is_barred(desk, each), resolvable)
        for each in result or ()
        if isinstance(each, Mapping) and each.get("title")
    ]


def _span(
    desk: Desk, client: Client, opened: Opened, target: Target, last: int | None
) -> dict[str, Any]:
    if target.line is None and target.name is None:
        return lines_span(client, opened, 1, None)
    if target.name is None and target.column is None and target.line is not None:
        return lines_span(
            client, opened, target.line, last if last is not None else target.line
        )
    spot = spot_of(desk, opened, target)
    line = opened.snapshot.lines[spot.line]
    end = spot.column + len(spot.name.rpartition(".")[2])
    span = {
        "start": {"line": spot.line, "character": units_of(line, spot.column, client.encoding)},
        "end": {"line": spot.line, "character": units_of(line, end, client.encoding)},
    }
    if last is not None and last > spot.line + 1:
        span["end"] = lines_span(client, opened, spot.line + 1, last)["end"]
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
            offered = await _offered(desk, action.server, client, target, last, kind)
            current = _pick(offered, action.title, desk)
            return await _edit_of(desk, client, current.raw)

        plan = planned(desk, client, await with_open_files(desk, client, ask))
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
    open_ = [each for each in found if not each.barred]
    titles = "\n".join(f"  {each.title}" for each in open_[:30])
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


def _resolves(desk: Desk, client: Client) -> bool:
    method = "textDocument/codeAction"
    options = client.features.options(method, desk.place.path, desk.language)
    return isinstance(options, Mapping) and bool(options.get("resolveProvider"))


async def _edit_of(desk: Desk, client: Client, raw: Mapping[str, Any]) -> Any:
    """Return the edit of an action: in it, resolved, or proposed by its command."""
    action = raw
    plain = "edit" not in raw and not isinstance(raw.get("command"), str)
    if plain and _resolves(desk, client):
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
    """Return the edit that a command bears, or that it is known to do nothing but propose."""
    name = str(command.get("command"))
    if name in client.spec.told_commands:
        return _told(client, command)
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


def _told(client: Client, command: Mapping[str, Any]) -> Any:
    """Return the edit that stands in the arguments of a command."""
    try:
        uri, version, edits = command["arguments"]
    except (KeyError, TypeError, ValueError):
        text = f"The command of {client.name} cannot be read. Nothing was changed."
        raise Failed(text, code="lsp.bad_edit") from None
    document = {"uri": uri, "version": version}
    return {"documentChanges": [{"textDocument": document, "edits": edits}]}
