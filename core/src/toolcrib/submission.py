"""Take one call from the model's words to a judgement: run, ask, or refuse.

The order is fixed: find the tool, look for a recorded outcome, admit, guards in
policy's order (a rewrite goes back to admit), signature, rules and grants. Nothing here
has an effect on the world; every ending is written down before the next stage starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import admission, permission
from .call import AdmittedCall, Call
from .codes import refuse
from .errors import ToolFailure
from .item import Item
from .outcome import Outcome, Refusal
from .question import Question


if TYPE_CHECKING:
    from .activation import ActivePack
    from .session import Session
    from .signature import Signature
    from .tool import Tool
    from .view import View


__all__ = ["preview_of", "reauthorize", "submit"]


async def submit(session: Session, view: View, call: Call, batch_id: str) -> Item:
    """Judge one call; the item says whether it may run, is asked, or ended."""
    item = Item(call)
    refusal = await _judge(session, view, item, batch_id)
    if refusal is not None:
        end(session, item, refusal)
    return item


def end(session: Session, item: Item, refusal: Refusal) -> None:
    """End a call that did not run, and write it down."""
    item.question = None
    item.authorized = None
    item.outcome = Outcome.from_refusal(
        refusal, call_id=item.call.id, tool_id=item.tool_id
    )
    session.toolbox.ledger.refusal(session.facts_of(item), item.outcome)
    session.emit("call.finished", item, status=item.outcome.status, code=item.outcome.code)


async def _judge(session: Session, view: View, item: Item, batch_id: str) -> Refusal | None:
    call = item.call
    recorded = session.recorded(call)
    if isinstance(recorded, Outcome):
        item.outcome = recorded
        return None
    if recorded is not None:
        return recorded
    if call.problem is not None:
        return call.problem
    tool = session.dispatchable(view, call)
    if isinstance(tool, Refusal):
        return tool
    pack = await session.toolbox.activate(tool.pack)
    if isinstance(pack, Refusal):
        return pack
    admitted = admit(session, view, call, tool, pack)
    if isinstance(admitted, Refusal):
        return admitted
    admitted = await _guarded(session, view, admitted, pack)
    if isinstance(admitted, Refusal):
        return admitted
    item.admitted = admitted
    item.signature = await pack.signature(tool, admitted.arguments)
    return await _authorized(session, view, item, pack, batch_id)


def admit(
    session: Session, view: View, call: Call, tool: Tool, pack: ActivePack
) -> AdmittedCall | Refusal:
    """Admit a call as the view showed its tool."""
    projection = view.projection(call.wire_name)
    implementation = pack.implementations.get(tool.id)
    return admission.admit(
        call,
        tool,
        validators=session.toolbox.validators,
        inverse=projection.inverse if projection else None,
        check=implementation.companions.check if implementation else None,
    )


async def _guarded(
    session: Session, view: View, admitted: AdmittedCall, pack: ActivePack
) -> AdmittedCall | Refusal:
    """Ask every guard in policy's order; start again after a rewrite."""
    rewrote: set[str] = set()
    guards = session.toolbox.policy.guards
    position = 0
    while position < len(guards):
        guard = guards[position]
        active = await session.toolbox.activate(guard)
        if isinstance(active, Refusal):
            return _broken(guard, admitted, active.text)
        answer = await active.guard(admitted)
        if answer is None:
            position += 1
            continue
        if isinstance(answer, Refusal):
            return answer
        if not isinstance(answer, Mapping):
            return _broken(guard, admitted, f"it answered a {type(answer).__name__}")
        if guard in rewrote:
            return _broken(guard, admitted, "it rewrote the same call twice")
        rewrote.add(guard)
        session.emit_guard(guard, admitted)
        again = admit(session, view, _rewritten(admitted.call, answer), admitted.tool, pack)
        if isinstance(again, Refusal):
            return _broken(guard, admitted, f"it rewrote the arguments to: {again.text}")
        admitted = again
        position = 0
    return admitted


def _rewritten(call: Call, arguments: Mapping[str, Any]) -> Call:
    import attrs  # noqa: PLC0415 - only guards that rewrite pay for it

    # The rewritten arguments are the tool's own: no provider's rewrite is undone twice.
    return attrs.evolve(call, arguments=dict(arguments), wire_name="")


def _broken(guard: str, admitted: AdmittedCall, why: str) -> Refusal:
    text = f"guard {guard!r} did not answer properly ({why}), so nothing ran."
    return refuse("guard.broken", admitted.tool.id, text, guard=guard)


async def _authorized(
    session: Session, view: View, item: Item, pack: ActivePack, batch_id: str
) -> Refusal | None:
    admitted = item.admitted
    if admitted is None:  # pragma: no cover - a call is admitted before it is authorised
        raise AssertionError
    verdict = permission.authorize(
        admitted, item.signature, session.authority(admitted.tool.pack)
    )
    if isinstance(verdict, Refusal):
        return verdict
    if not isinstance(verdict, permission.Asked):
        item.authorized = verdict
        return None
    question = await _question(session, view, item, verdict, pack, batch_id)
    item.question = item.asked = question
    session.toolbox.ledger.question(question)
    session.emit("question.asked", item, question=question.id)
    return None


async def _question(
    session: Session,
    view: View,
    item: Item,
    asked: permission.Asked,
    pack: ActivePack,
    batch_id: str,
) -> Question:
    admitted = item.admitted
    if admitted is None:  # pragma: no cover - as above
        raise AssertionError
    preview = await preview_of(admitted, pack)
    rule = await permission.rule_offered(
        admitted, item.signature, pack.implementations[admitted.tool.id]
    )
    return Question(
        id="q_" + item.call.id.removeprefix("call_"),
        conversation=session.conversation,
        batch_id=batch_id,
        call_id=item.call.id,
        tool_id=admitted.tool.id,
        title=f"{admitted.tool.title}: {admitted.tool.description.summary}",
        preview=preview,
        arguments=admitted.arguments,
        resources=tuple(str(r) for r in asked.resources),
        reasons=asked.reasons,
        rule_offered=rule,
        group=asked.group,
        binding=permission.binding(
            admitted, preview=preview, view=view.digest, principal=session.principal
        ),
        created=session.toolbox.clock.time(),
    )


async def preview_of(admitted: AdmittedCall, pack: ActivePack) -> str | None:
    """Return the tool's own description of what would happen, or None."""
    implementation = pack.implementations[admitted.tool.id]
    if implementation.companions.preview is None:
        return None
    try:
        text = await pack.companion(implementation, "preview", admitted.arguments)
    except ToolFailure as failure:
        return f"(the tool cannot show it: {failure.text})"
    return None if text is None else str(text)


async def reauthorize(session: Session, view: View, item: Item) -> Refusal | None:
    """Check that an approved call is still what the person was shown.

    Returns:
        ``answer.stale`` if arguments, definition, preview, view or principal changed.
    """
    admitted, question = item.admitted, item.asked
    if admitted is None or question is None:
        return None
    pack = await session.toolbox.activate(admitted.tool.pack)
    if isinstance(pack, Refusal):
        return pack
    current = session.toolbox.catalog.tools.get(admitted.tool.id)
    preview = await preview_of(admitted, pack)
    binding = permission.binding(
        admitted, preview=preview, view=view.digest, principal=session.principal
    )
    same_tool = (
        current is not None
        and current.tool.definition_digest == admitted.tool.definition_digest
    )
    if binding == question.binding and same_tool:
        return None
    what = "its preview" if same_tool else "the tool's definition"
    return refuse(
        "answer.stale",
        admitted.tool.id,
        f"What was approved is no longer what would happen: {what} changed. Nothing "
        "ran. Look at the present state and make the call again.",
    )
