"""Take one judged call to its outcome: decisions, the last look, execution, record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from . import execution, permission, submission
from .codes import refuse
from .errors import RecordError
from .events import Event
from .host import RunContext
from .outcome import Outcome, Refusal
from .question import Allow, AllowRule, Deny


if TYPE_CHECKING:
    from .call import AuthorizedCall
    from .item import Item
    from .question import Decision
    from .session import Session
    from .view import View


__all__ = ["close_questions", "decide", "not_started", "run"]

Sink = Callable[[Event], None]


async def decide(session: Session, view: View, item: Item, decision: Decision) -> None:
    """Apply a person's answer to a call: it may run now, or it ends."""
    admitted, question = item.admitted, item.question
    if admitted is None or question is None:  # pragma: no cover - only open ones get here
        raise AssertionError
    if not isinstance(decision, Allow | AllowRule | Deny):
        text = f"a decision is Allow, AllowRule or Deny, not {type(decision).__name__}"
        raise TypeError(text)
    refusal = await submission.reauthorize(session, view, item)
    if refusal is not None:
        session.toolbox.ledger.decision(question, decision, valid=False)
        submission.end(session, item, refusal)
        return
    verdict = permission.decide(
        question,
        decision,
        admitted,
        item.signature,
        session.authority(admitted.tool.pack),
    )
    session.toolbox.ledger.decision(question, decision, valid=not isinstance(verdict, Refusal))
    item.decision = decision
    session.emit("question.decided", item, question=question.id, by=decision.by)
    if isinstance(verdict, Refusal):
        submission.end(session, item, verdict)
        return
    authorized, grant = verdict
    if grant is not None:
        session.keep_grant(grant)
    item.question = None
    item.authorized = authorized


async def run(session: Session, view: View, item: Item, sink: Sink | None) -> None:
    """Run one authorised call and write down how it ended."""
    authorized = item.authorized
    if authorized is None or item.outcome is not None:
        return
    refusal = await _last_look(session, view, item, authorized)
    if refusal is not None:
        submission.end(session, item, refusal)
        _tell(session, item, sink, "call.finished", status=refusal.status)
        return
    toolbox = session.toolbox
    pack = await toolbox.activate(authorized.tool.pack)
    if isinstance(pack, Refusal):
        submission.end(session, item, pack)
        return
    try:
        toolbox.ledger.intent(session.facts_of(item), authorized)
    except RecordError as error:
        text = f"{error} Nothing ran."
        item.outcome = Outcome.from_refusal(
            refuse("ledger.unwritable", item.tool_id, text),
            call_id=item.call.id,
            tool_id=item.tool_id,
        )
        return
    _tell(session, item, sink, "call.started")
    item.outcome = await execution.execute(
        authorized, **toolbox.execution_of(session, item, pack, sink)
    )
    outcome = await _reviewed(session, item)
    item.outcome = _recorded(session, item, outcome)
    _tell(
        session, item, sink, "call.finished", status=item.outcome.status, code=item.outcome.code
    )


async def _last_look(
    session: Session, view: View, item: Item, authorized: AuthorizedCall
) -> Refusal | None:
    """Check once more what may have changed between the judgement and now."""
    if item.asked is not None:
        refusal = await submission.reauthorize(session, view, item)
        if refusal is not None:
            return refusal
    if authorized.grant_id is not None and not session.use_grant(authorized.grant_id):
        text = "The approval that this call relied on was used up, revoked or has expired."
        return refuse("grant.used", item.tool_id, text + " Nothing ran. Ask again.")
    return None


async def _reviewed(session: Session, item: Item) -> Outcome:
    """Let the reviewers that policy names look at the outcome, in policy's order."""
    outcome = item.outcome
    admitted = item.admitted
    if outcome is None or admitted is None:  # pragma: no cover - set just before
        raise AssertionError
    for name in session.toolbox.policy.reviewers:
        reviewer = await session.toolbox.activate(name)
        if isinstance(reviewer, Refusal):
            continue
        answer = await reviewer.review(admitted, outcome)
        outcome = permission.reviewed(outcome, answer, reviewer=name)
    return outcome


def _recorded(session: Session, item: Item, outcome: Outcome) -> Outcome:
    """Write an outcome down; a result is never withheld because the disk is full."""
    try:
        session.toolbox.ledger.outcome(session.facts_of(item), outcome)
    except RecordError as error:
        notes = (*outcome.result.notes, f"not recorded: {error}")
        return attrs.evolve(outcome, result=attrs.evolve(outcome.result, notes=notes))
    return outcome


def _tell(session: Session, item: Item, sink: Sink | None, name: str, **data: Any) -> None:
    if sink is not None:
        sink(session.event(name, item, data))
    session.emit(name, item, **data)


def not_started(session: Session, item: Item) -> None:
    """End a call whose task was cancelled before its first step."""
    text = "The call was cancelled before it started. Nothing ran."
    submission.end(session, item, refuse("call.cancelled", item.tool_id, text))


def close_questions(session: Session, items: list[Item]) -> None:
    """End every call whose question nobody has answered."""
    for item in items:
        if item.question is not None and item.outcome is None:
            text = (
                f"{item.tool_id} needs a person's approval and nobody answered. Nothing "
                "ran. Do something else, or ask the user to approve it."
            )
            submission.end(session, item, refuse("question.open", item.tool_id, text))


def context_of(session: Session, item: Item, host: Any, **fields: Any) -> RunContext:
    """Make the context of one attempt."""
    return RunContext(
        session, host, tool_id=item.tool_id, invocation_id=item.call.id, **fields
    )
