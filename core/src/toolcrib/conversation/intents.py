"""Selecting instead of running: intents that a model may choose, and named delegates.

Selecting an intent runs nothing. Its arguments are admitted like those of any call, and
the tool's ``resolve`` function, synchronous and before any effect, gives the value that
is handed back to the app; if it raises, the selection is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.codes import refuse
from toolcrib.names import closest
from toolcrib.outcome import Outcome, Refusal

from . import submission
from .item import Item


if TYPE_CHECKING:
    from toolcrib.call import Call

    from .session import Approver, Session
    from .view import View


__all__ = ["Delegate", "Intent", "Selection", "delegate", "intents", "select"]


@attrs.frozen(kw_only=True)
class Intent:
    """A tool that a model may select.

    Attributes:
        tool_id, title, summary: What it is.
        serves: Goal ids that it serves.
        wire_name: The name that the model selects it by.
        declaration: What goes into the request, in the provider's form.
    """

    tool_id: str
    title: str
    summary: str
    serves: tuple[str, ...]
    wire_name: str
    declaration: Mapping[str, Any] = attrs.field(repr=False, hash=False)


@attrs.frozen(kw_only=True)
class Selection:
    """What a model selected.

    Attributes:
        tool_id: The intent.
        arguments: Its arguments: valid, defaults filled in.
        value: What the tool's ``resolve`` gave; None for a tool that has none.
        call: The call as the model made it.
    """

    tool_id: str
    arguments: Mapping[str, Any] = attrs.field(hash=False)
    value: Any = attrs.field(hash=False)
    call: Call = attrs.field(repr=False)


class Delegate:
    """The tool that answers a delegate id; calling it takes it through all stages."""

    def __init__(self, session: Session, id_: str, tool_id: str) -> None:
        self._session = session
        self.id = id_
        self.tool_id = tool_id

    def __repr__(self) -> str:
        return f"<delegate {self.id}: {self.tool_id}>"

    async def __call__(
        self, arguments: Any = None, *, approver: Approver | None = None
    ) -> Outcome:
        """Run the tool.

        Args:
            arguments: A JSON object, or its text.
            approver: Answers the question, if there is one.
        """
        return await self._session.call(self.tool_id, arguments, approver=approver)


def intents(view: View) -> tuple[Intent, ...]:
    """Return the intents that a view shows."""
    return tuple(
        Intent(
            tool_id=tool.id,
            title=tool.title,
            summary=tool.description.summary,
            serves=tool.serves,
            wire_name=entry.wire_name,
            declaration=entry.declaration,
        )
        for entry in view.projected.entries
        if (tool := view.tools[entry.tool_id]).intent
    )


async def select(
    session: Session, reply: Any, view: View, stage_id: str
) -> tuple[Selection | Refusal, ...]:
    """Resolve what a reply selected; one value for each, in the model's order."""
    return tuple([await _selected(session, view, call, stage_id) for call in view.calls(reply)])


async def _selected(
    session: Session, view: View, call: Call, stage_id: str
) -> Selection | Refusal:
    tool = view.tools.get(call.tool_id or "")
    if call.problem is None and (tool is None or not tool.intent):
        known = [intent.wire_name for intent in intents(view)]
        like = closest(call.wire_name, known)
        hint = f" Did you mean {' or '.join(like)}?" if like else ""
        text = f"{call.wire_name!r} is no intent that can be selected.{hint}"
        return refuse("intent.unknown", call.wire_name, text, closest=like)
    item = Item(call, stage_id=stage_id)
    refusal = call.problem or await submission.readmit(session, view, item, call)
    if refusal is not None or item.admitted is None:
        return refusal or refuse("call.malformed", call.wire_name, "It is no call.")
    session.emit("intent.selected", item, stage_id=stage_id)
    return Selection(
        tool_id=item.admitted.tool.id,
        arguments=item.admitted.arguments,
        value=item.resolved,
        call=call,
    )


def delegate(session: Session, id_: str) -> Delegate | Refusal:
    """Return the tool that answers a delegate id, or why there is none."""
    catalog = session.toolbox.catalog
    found = catalog.delegates.get(id_)
    if isinstance(found, Refusal):
        return found
    entry = catalog.tools.get(found) if found is not None else None
    if entry is None or not session.may_use(entry.tool):
        like = closest(id_, catalog.delegates)
        hint = f" Did you mean {' or '.join(like)}?" if like else ""
        return refuse("delegate.unknown", id_, f"No tool answers the delegate {id_!r}.{hint}")
    return Delegate(session, id_, entry.tool.id)
