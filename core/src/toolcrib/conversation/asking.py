"""What a person is asked about a call, and shown of it."""

from __future__ import annotations

import inspect

from typing import TYPE_CHECKING

from toolcrib import permission
from toolcrib.errors import AnsweredError, ToolFailure
from toolcrib.events import Event
from toolcrib.outcome import Refusal
from toolcrib.question import Allow, AllowRule, Deny, Question


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall

    from .batch import Batch
    from .item import Item
    from .runnable import RunnablePack
    from .session import Approver, Session
    from .view import View


__all__ = ["approve", "preview_of", "question_of"]


async def approve(session: Session, batch: Batch, approver: Approver | None) -> None:
    """Have an approver answer the questions of a batch; without one they stay open."""
    for question in batch.questions if approver is not None else ():
        decision = approver(question) if approver is not None else None
        if inspect.isawaitable(decision):
            decision = await decision
        if decision is not None and not isinstance(decision, Allow | AllowRule | Deny):
            # Only an explicit, well-formed yes is a yes.
            got = f"the approver answered a {type(decision).__name__}, not a Decision"
            decision = Deny(by="toolcrib", reason=got)
        if decision is not None:
            try:
                await batch.decide(question.id, decision)
            except AnsweredError as error:
                _contested(session, question, error)


def _contested(session: Session, question: Question, error: AnsweredError) -> None:
    """Tell the news and observers that an approver's answer came too late."""
    data = {"question": question.id, "held": error.first.by, "late": error.second.by}
    event = Event(
        name="question.contested",
        conversation=session.conversation,
        call_id=question.call_id,
        tool_id=question.tool_id,
        time=session.toolbox.clock.time(),
        data=data | {"text": str(error)},
    )
    session.toolbox.tell(event)


async def question_of(
    session: Session, view: View, item: Item, asked: permission.Asked
) -> Question:
    """Make the durable question of a call that only a person can let run."""
    admitted = item.admitted
    if admitted is None:  # pragma: no cover - admitted before it is asked
        raise AssertionError
    pack = await session.toolbox.activate_for(admitted.tool)
    preview = (
        await preview_of(session, admitted, pack) if not isinstance(pack, Refusal) else None
    )
    return Question(
        id="q_" + item.call.id.removeprefix("call_"),
        conversation=session.conversation,
        batch_id=item.batch_id,
        call_id=item.call.id,
        tool_id=admitted.tool.id,
        title=f"{admitted.tool.title}: {admitted.tool.description.summary}",
        preview=preview,
        arguments=admitted.arguments,
        resources=tuple(map(str, asked.resources)),
        reasons=asked.reasons,
        answers=asked.answers,
        rule_offered=await _rule_offered(session, item, pack),
        group=asked.group,
        binding=permission.binding(
            admitted, preview=preview, view=view.digest, principal=session.principal
        ),
        created=session.toolbox.clock.time(),
    )


async def _rule_offered(
    session: Session, item: Item, pack: RunnablePack | Refusal
) -> str | None:
    """Return the rule that "always" would store, or None for the exact call."""
    admitted = item.admitted
    if admitted is None or isinstance(pack, Refusal):  # pragma: no cover - as above
        return None
    implementation = pack.implementations[admitted.tool.id]
    try:
        wide = await pack.companion(
            implementation, "generalize", admitted.arguments, host=session.host_of(pack.id)
        )
    except ToolFailure:
        return None
    if wide is None:
        return None
    return permission.offer(wide, admitted, item.signature, session.authority.context())


async def preview_of(
    session: Session, admitted: AdmittedCall, pack: RunnablePack
) -> str | None:
    """Return the tool's own description of what would happen, or None."""
    implementation = pack.implementations[admitted.tool.id]
    if implementation.companions.preview is None:
        return None
    try:
        text = await pack.companion(
            implementation, "preview", admitted.arguments, host=session.host_of(pack.id)
        )
    except ToolFailure as failure:
        return f"(the tool cannot show it: {failure.text})"
    return None if text is None else str(text)
