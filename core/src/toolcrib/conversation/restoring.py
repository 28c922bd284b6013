"""Restore a batch whose questions were left open, in any process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import permission
from toolcrib.call import Call, Repair, Sent
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal

from . import running, submission
from .batch import Batch
from .item import Item


if TYPE_CHECKING:
    from .session import Session
    from .view import View


__all__ = ["restore"]


async def restore(session: Session, batch_id: str) -> Batch:
    """Return a saved batch as it stands now.

    Calls that ended have their recorded outcome; calls that were judged and not begun
    are judged again; questions keep their answers, and those that have none are asked
    only if nothing else decides by now.

    Raises:
        KeyError: no such batch of this conversation and principal.
    """
    saved = session.toolbox.ledger.load_batch(batch_id)
    if (
        saved is None
        or saved.conversation != session.conversation
        or saved.principal != session.principal
    ):
        # A foreign batch answers like an unknown one.
        text = f"conversation {session.conversation!r} has no batch {batch_id!r}"
        raise KeyError(text)
    payload = saved.payload
    view = _view(session, payload)
    items = [await _item(session, view, call, batch_id) for call in payload["calls"]]
    return Batch(session, batch_id, view, items)


def _view(session: Session, payload: Mapping[str, Any]) -> View:
    """Project the very tools that the model was shown, as they are now."""
    from toolcrib.crib import TOOLS  # noqa: PLC0415 - only batches that were left need it

    shown = session.shown
    entries = session.toolbox.catalog.tools
    core = {tool.id: tool for tool in TOOLS}
    tools = [
        core[id_] if id_ in core else entries[id_].tool
        for id_ in payload["shown"]
        if id_ in core or id_ in entries
    ]
    dialect = shown.dialect(payload["dialect"])
    return shown.project(tools, dialect, strict=payload["strict"])


async def _item(session: Session, view: View, saved: Mapping[str, Any], batch_id: str) -> Item:
    call = Call(
        id=saved["id"],
        wire_name=saved["wire_name"],
        tool_id=saved["tool_id"],
        provider_id=saved["provider_id"],
        position=saved["position"],
        response_digest=saved["response_digest"],
        arguments=saved["arguments"],
        sent=_sent(saved.get("sent")),
    )
    if saved["admitted"] is None or saved["question"] is None:
        return await submission.submit(session, view, call, batch_id)
    item = Item(call, batch_id=batch_id)
    recorded = submission.recorded(session, call)
    if recorded is not None and not submission.resumes(view, item, recorded):
        submission.take(session, item, recorded)
        return item
    # The admitted text is the tool's own form, so no provider's rewrite is undone again.
    plain = attrs.evolve(call, arguments=saved["admitted"])
    refusal = await submission.readmit(session, view, item, plain)
    if item.admitted is not None:
        repairs = tuple(Repair(*each) for each in saved.get("repairs", ()))
        item.admitted = attrs.evolve(item.admitted, repairs=repairs)
    changed = item.admitted is None or (
        item.admitted.tool.definition_digest != saved["definition"]
    )
    inquiry = session.toolbox.ledger.inquiry(saved["question"])
    if refusal is None and (changed or inquiry is None):
        text = "The tool changed since the question was asked. Nothing ran. Call it again."
        refusal = refuse("answer.stale", item.tool_id, text)
    if refusal is not None or inquiry is None:
        if refusal is not None:
            submission.end(session, item, refusal)
        return item
    if inquiry.decision is None and _decided_meanwhile(session, item):
        return item
    item.question = item.asked = inquiry.question
    if inquiry.decision is not None:
        await running.apply(session, view, item, inquiry.decision)
    return item


def _sent(saved: Mapping[str, Any] | None) -> Sent | None:
    if saved is None:
        return None
    return Sent(**{**saved, "repairs": tuple(Repair(**each) for each in saved["repairs"])})


def _decided_meanwhile(session: Session, item: Item) -> bool:
    """Tell whether rules, grants or mode as they are now decide without a person."""
    if item.admitted is None:  # pragma: no cover - a question is about an admitted call
        return False
    admitted, signature = item.admitted, item.signature
    verdict = session.directions.refuses(admitted, signature) or permission.authorize(
        admitted, signature, session.authority.context()
    )
    if isinstance(verdict, permission.Asked):
        return False
    if isinstance(verdict, Refusal):
        submission.end(session, item, verdict)
    else:
        item.authorized = verdict
    return True
