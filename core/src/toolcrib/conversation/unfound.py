"""Why a call names no tool of its view, and what the model can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import canonical, names
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal


if TYPE_CHECKING:
    from toolcrib.call import Call
    from toolcrib.tool import Tool

    from .session import Session
    from .view import View


__all__ = ["not_shown", "withdrawn"]

_SCHEMA = 8_000


def withdrawn(session: Session, tool: Tool) -> Refusal:
    """Say why a tool that was shown may not be called any more."""
    if session.toolbox.rules.denies_all_of(tool):
        text = f"A rule denies every call of {tool.id}. Nothing ran."
        return refuse("rule.denied", tool.id, text)
    text = f"{tool.id} was withdrawn since it was shown. Nothing ran."
    return refuse("tool.hidden", tool.id, text)


def not_shown(session: Session, view: View, call: Call) -> Refusal:
    """Say why a name is none of the view's; never guess what was meant."""
    name = call.wire_name
    for tool in view.hidden.values():
        if name in {tool.id, names.wire_name(tool.id)} and session.shown.may(tool):
            session.shown.load([tool.id])
            schema = canonical.dumps(tool.input_schema)
            fitting = f": {schema}" if len(schema) <= _SCHEMA else ", which is declared now"
            text = (
                f"{name} had not been loaded, so its parameters were unknown to you. "
                f"It is loaded now. Nothing ran. Call it again to fit its schema{fitting}"
            )
            return refuse("tool.not_loaded", tool.id, text, schema=dict(tool.input_schema))
    toolbox = session.toolbox
    found = toolbox.catalog.find(name)
    if isinstance(found, Refusal) and "." not in name and "_" in name:
        found = toolbox.catalog.find(name.replace("_", ".", 1))
    if isinstance(found, Refusal):
        if found.code != "tool.unknown":
            text = f"{name!r} is not available: {found.text} Nothing ran."
            return refuse(found.code, name, text) if found.code == "pack.disabled" else found
    elif session.may_use(found.tool) and not session.shown.may(found.tool):
        return _forbidden(session, found.tool)
    for source in toolbox.sources.pending:
        if name.startswith((source + ".", source.replace(".", "__") + "__")):
            text = f"The source {source} of {name!r} has not been read yet. Try again."
            return refuse("source.pending", name, text, sources=[source])
    return _unknown(session, view, name)


def _forbidden(session: Session, tool: Tool) -> Refusal:
    if session.toolbox.rules.denies_all_of(tool):
        return withdrawn(session, tool)
    effects = ", ".join(sorted(tool.effects))
    text = f"Mode plan permits no call of {tool.id} ({effects}). Nothing ran."
    return refuse("mode.denied", tool.id, text)


def _unknown(session: Session, view: View, name: str) -> Refusal:
    known = [*view.projected.by_wire_name, *map(names.wire_name, view.hidden)]
    if not known:
        # An app that calls by id is told ids.
        ids = session.shown.ids
        known = ids if "." in name else list(map(names.wire_name, ids))
    like = names.closest(name, known)
    hint = f" Did you mean {' or '.join(like)}?" if like else ""
    disabled = _disabled(session, name)
    text = f"There is no tool {name!r}. Nothing ran.{disabled or hint}"
    return refuse("tool.unknown", name, text, closest=like)


def _disabled(session: Session, name: str) -> str:
    """Say which installed pack would have the tool, and the line that enables it."""
    pack = name.partition(".")[0] if "." in name else name.partition("_")[0]
    for item in session.toolbox.catalog.available:
        if item.pack_id == pack:
            return f" The pack {pack!r} is installed and not enabled: {item.how}."
    return ""
