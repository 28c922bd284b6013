"""Take one call from the model's words to a judgement: run, ask, or refuse.

The order is fixed: look for a recorded outcome, find the tool, admit, guards in policy's
order (a rewrite goes back to admit), signature, rules and grants. Nothing here has an
effect on the world; every ending is written down before the next stage starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from toolcrib import admission, permission
from toolcrib.call import AdmittedCall, Call
from toolcrib.codes import refuse
from toolcrib.errors import StageError, ToolFailure
from toolcrib.outcome import Outcome, Refusal
from toolcrib.vocabulary import Idempotence

from .admitting import admit, inverse_of, repairs_of
from .asking import preview_of, question_of
from .guarding import guarded
from .item import Item


if TYPE_CHECKING:
    from toolcrib.record import Replay

    from .runnable import RunnablePack
    from .session import Session
    from .view import View


__all__ = ["end", "readmit", "recorded", "resumes", "stale", "submit", "take"]


async def submit(
    session: Session,
    view: View,
    call: Call,
    batch_id: str,
    stage_id: str = "",
    *,
    fresh: bool = False,
) -> Item:
    """Judge one call; the item says whether it may run, is asked, or ended.

    Args:
        session: Whose call it is.
        view: What the model was shown.
        call: What the model wants.
        batch_id: The batch that it belongs to.
        stage_id: For the tool's ``resolve``.
        fresh: Whether its id was made a moment ago, so that nobody can know it.
    """
    item = Item(call, batch_id=batch_id, stage_id=stage_id)
    known = None
    if not fresh and session.toolbox.ledger.knows(call, conversation=session.conversation):
        item.known = True
        known = recorded(session, call)
    if known is not None and not resumes(view, item, known):
        take(session, item, known)
        return item
    refusal = await _judge(session, view, item)
    if refusal is not None:
        end(session, item, refusal)
    return item


def recorded(
    session: Session, call: Call, admitted: AdmittedCall | None = None
) -> Replay | Refusal | None:
    """Return what the ledger knows of a call already."""
    return session.toolbox.ledger.replay(
        call,
        conversation=session.conversation,
        arguments_digest=admitted.digest if admitted is not None else None,
        principal=session.principal,
    )


def resumes(view: View, item: Item, known: Replay | Refusal) -> bool:
    """Tell whether a call whose process died while it ran may simply run again."""
    if isinstance(known, Refusal) or known.state != "unknown":
        return False
    tool = view.tools.get(item.call.tool_id or "")
    # The tool is given the same key again, so that *keyed* tools are safe as well.
    item.again = (
        tool is not None
        and tool.idempotent is not Idempotence.NO
        and known.call_id == item.call.id
    )
    return item.again


def take(session: Session, item: Item, known: Replay | Refusal) -> None:
    """Take a recorded outcome; nothing runs and nothing is written."""
    item.question = item.authorized = None
    if isinstance(known, Refusal):
        end(session, item, known)
    elif known.outcome is not None:
        item.outcome = attrs.evolve(known.outcome, call_id=item.call.id, replayed=True)
    else:
        text = "This very call is running in another process. Nothing was started here."
        refusal = refuse("call.busy", item.tool_id, text)
        item.outcome = Outcome.from_refusal(refusal, call_id=item.call.id, tool_id=item.tool_id)


def end(session: Session, item: Item, refusal: Refusal) -> None:
    """End a call that did not run, and write it down."""
    item.question = None
    item.authorized = None
    item.outcome = Outcome.from_refusal(refusal, call_id=item.call.id, tool_id=item.tool_id)
    entry = session.toolbox.entry(item.tool_id)
    signature = None
    if item.admitted is not None:
        context = session.authority.context()
        signature = permission.touched(item.admitted, item.signature, context)
    try:
        session.toolbox.ledger.refusal(
            item.outcome,
            call=item.call,
            conversation=session.conversation,
            principal=session.principal,
            admitted=item.admitted,
            signature=signature,
            provenance=entry.provenance if entry is not None else None,
            decided_by=item.decided_by or _decided_by(refusal),
            batch_id=item.batch_id,
        )
    except StageError:
        # Another session or process was faster with this very call: its word holds.
        known = recorded(session, item.call)
        if known is None:
            raise
        if not isinstance(known, Refusal):
            take(session, item, known)
    session.emit("call.finished", item, status=item.outcome.status, code=item.outcome.code)


def _decided_by(refusal: Refusal) -> tuple[str, ...]:
    by = refusal.details.get("decided_by") or refusal.details.get("rule")
    return (str(by),) if by else ()


async def _judge(session: Session, view: View, item: Item) -> Refusal | None:
    refusal = item.call.problem or await readmit(session, view, item, item.call)
    if refusal is not None:
        return refusal
    admitted = item.admitted
    if admitted is None:  # pragma: no cover - there is a refusal otherwise
        raise AssertionError
    if item.known and item.call.provider_id is not None:
        known = recorded(session, item.call, admitted)
        if known is not None and not (
            item.again and not isinstance(known, Refusal) and known.state == "unknown"
        ):
            if isinstance(known, Refusal):
                return known
            take(session, item, known)
            return None
    if session.directions.limits:
        refusal = session.directions.refuses(admitted, item.signature)
        if refusal is not None:
            return refusal
    verdict = permission.authorize(admitted, item.signature, session.authority.context())
    if isinstance(verdict, Refusal):
        return verdict
    if not isinstance(verdict, permission.Asked):
        item.authorized = verdict
        return None
    item.question = item.asked = await question_of(session, view, item, verdict)
    session.emit("question.asked", item, question=item.question.id)
    return None


async def readmit(session: Session, view: View, item: Item, call: Call) -> Refusal | None:
    """Find the tool, admit the call, ask the guards, and let the pack say what it touches."""
    tool = session.shown.tool_of(view, call)
    if isinstance(tool, Refusal):
        return tool
    pack = await session.toolbox.activate_for(tool)
    if isinstance(pack, Refusal):
        return pack
    if "active" in tool.companions and not await session.lifecycle.is_active(tool):
        text = f"{tool.id} says that it is not there now. Nothing ran. Do something else."
        return refuse("tool.inactive", tool.id, text)
    inverted = call is item.call
    admitted = await admit(session, view if inverted else None, call, tool, pack)
    if isinstance(admitted, AdmittedCall) and session.toolbox.policy.guards:
        admitted = await guarded(session, admitted, pack)
    if isinstance(admitted, Refusal):
        return admitted
    item.admitted = admitted
    item.place, item.pack = session.workspace, pack
    if pack.has("toolcrib_signature"):
        try:
            item.signature = await pack.signature(
                tool, admitted.arguments, session.host_of(pack.id)
            )
        except ToolFailure as failure:
            inverse = inverse_of(view, call) if inverted else None
            repairs = repairs_of(session)
            return admission.hopeless(admitted, failure, inverse=inverse, repairs=repairs)
    return await _resolved(item, pack) if "resolve" in tool.companions else None


async def _resolved(item: Item, pack: RunnablePack) -> Refusal | None:
    """Let the tool turn its arguments into a value before anything has an effect."""
    admitted = item.admitted
    if admitted is None:  # pragma: no cover - it was admitted a moment ago
        raise AssertionError
    implementation = pack.implementations[admitted.tool.id]
    try:
        item.resolved = await pack.companion(
            implementation, "resolve", admitted.arguments, item.stage_id
        )
    except ToolFailure as failure:
        text = f"{admitted.tool.id} rejects this: {failure.text} Nothing ran."
        return refuse("resolve.refused", admitted.tool.id, text)
    return None


async def stale(session: Session, view: View, item: Item) -> Refusal | None:
    """Return why an approved call is no longer what the person was shown, or None."""
    admitted, question = item.admitted, item.asked
    if admitted is None or question is None:
        return None
    pack = await session.toolbox.activate_for(admitted.tool)
    if isinstance(pack, Refusal):
        return pack
    tool = session.shown.tool_of(view, item.call)
    if isinstance(tool, Refusal):
        return tool
    if item.place is not session.workspace:
        text = "The workspace changed after the call was approved. Nothing ran. Call it again."
        return refuse("answer.stale", admitted.tool.id, text)
    preview = await preview_of(session, admitted, pack)
    binding = permission.binding(
        admitted, preview=preview, view=view.digest, principal=session.principal
    )
    if binding == question.binding:
        return None
    what = "its preview" if preview != question.preview else "the view of the tools"
    text = (
        f"What was approved is no longer what would happen: {what} changed. Nothing ran. "
        "Look at the present state and make the call again."
    )
    return refuse("answer.stale", admitted.tool.id, text)
