"""Take one judged call to its outcome: decisions, the last look, execution, record."""

from __future__ import annotations

import asyncio

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import admission, execution, permission, record
from toolcrib.codes import refuse
from toolcrib.errors import AnsweredError
from toolcrib.events import Event
from toolcrib.host import RunContext, _Diagnostics
from toolcrib.outcome import Outcome, Refusal
from toolcrib.question import Allow, AllowRule, Deny

from . import concluding, submission


if TYPE_CHECKING:
    from toolcrib.call import AuthorizedCall
    from toolcrib.context import PackHost
    from toolcrib.execution import CancelToken, Terms
    from toolcrib.question import Decision

    from .item import Item
    from .runnable import RunnablePack
    from .session import Session
    from .view import View


__all__ = ["apply", "check_answer", "close_questions", "decide", "not_started", "run"]

Sink = Callable[[Event], None]
Report = Callable[[str, float | None, float | None], None]


async def decide(session: Session, view: View, item: Item, decision: Decision) -> None:
    """Write a person's answer down and apply it; of two answers the first holds.

    Raises:
        AnsweredError: somebody else answered first, and otherwise; theirs is applied.
    """
    if not isinstance(decision, Allow | AllowRule | Deny):
        text = f"a decision is Allow, AllowRule or Deny, not {type(decision).__name__}"
        raise TypeError(text)
    if item.question is None:  # pragma: no cover - only open ones get here
        raise AssertionError
    question_id = item.question.id
    held = session.toolbox.ledger.decision(question_id, decision)
    # Whoever answered first may have run the call meanwhile.
    known = None if held is decision else submission.recorded(session, item.call)
    if known is None or submission.resumes(view, item, known):
        await apply(session, view, item, held)
    else:
        item.decision = held
        submission.take(session, item, known)
    check_answer(question_id, held, decision)


def check_answer(question_id: str, first: Decision, second: Decision) -> None:
    """Tell whoever answered second if the first answer says something else.

    Raises:
        AnsweredError: it does.
    """
    if isinstance(first, Deny) and isinstance(second, Deny):
        return
    if type(first) is not type(second) or attrs.evolve(second, by=first.by) != first:
        raise AnsweredError(question_id, first, second)


async def apply(session: Session, view: View, item: Item, decision: Decision) -> None:
    """Apply an answer to a call: it may run now, or it ends."""
    admitted, question = item.admitted, item.question
    if admitted is None or question is None:  # pragma: no cover - as above
        raise AssertionError
    item.decision = decision
    item.decided_by = (f"person {decision.by}",)
    session.emit("question.decided", item, question=question.id, by=decision.by)
    refusal = await submission.stale(session, view, item)
    verdict = refusal or permission.decide(
        question, decision, admitted, item.signature, session.authority.context()
    )
    if isinstance(verdict, Refusal):
        submission.end(session, item, verdict)
        return
    item.authorized, lasting = verdict
    item.question = None
    if lasting is not None:
        session.authority.keep(lasting)


async def run(session: Session, view: View, item: Item, sink: Sink | None) -> None:
    """Run one authorised call and write down how it ended.

    Raises:
        CancelledError: the task was cancelled; the outcome is written down all the same.
    """
    authorized = item.authorized
    if authorized is None or item.outcome is not None:
        return
    if session.underway.closed:
        text = "The session was closed before the call started. Nothing ran."
        submission.end(session, item, refuse("call.cancelled", item.tool_id, text))
        _finished_event(session, item, sink)
    elif item.token is not None:
        await _run(session, view, item, authorized, sink)
        item.token.honour()
    else:
        item.token = session.underway.enter()
        try:
            await _run(session, view, item, authorized, sink)
        finally:
            session.underway.leave(item.token)
        item.token.honour()


async def _run(
    session: Session, view: View, item: Item, authorized: AuthorizedCall, sink: Sink | None
) -> None:
    toolbox = session.toolbox
    refusal = await _too_late(session, view, item, authorized)
    if refusal is not None:
        submission.end(session, item, refusal)
        _finished_event(session, item, sink)
        return
    entry = toolbox.catalog.tools.get(authorized.admitted.tool.id)
    known = record.begin(
        toolbox.ledger,
        authorized,
        conversation=session.conversation,
        principal=session.principal,
        provenance=entry.provenance if entry is not None else None,
        batch_id=item.batch_id,
        again=item.again,
    )
    if known is not None:
        _not_begun(session, item, known)
        _finished_event(session, item, sink)
        return
    heard = sink is not None or bool(toolbox.hearing)
    if heard:
        _tell(session, item, sink, "call.started")
    item.outcome = await _executed(session, item, authorized, item.pack, sink)
    tool = authorized.admitted.tool
    if authorized.grant_id is not None:
        session.authority.used(authorized.grant_id)
    session.authority.ran(tool)
    if heard:
        _finished_event(session, item, sink)
        session.emit("call.finished", item, **_ending(item))
    if "deliver" in tool.companions:
        session.lifecycle.deliver(tool, item.outcome)


async def _too_late(
    session: Session, view: View, item: Item, authorized: AuthorizedCall
) -> Refusal | None:
    """Return why a call that was let run may not any more: the world went on meanwhile."""
    if item.asked is not None:
        refusal = await submission.stale(session, view, item)
        if refusal is not None:
            return refusal
    if item.place is not session.workspace:
        text = "The workspace changed after the call was judged. Nothing ran. Call it again."
        return refuse("answer.stale", authorized.tool.id, text)
    if not session.directions.limits:
        return None
    return session.directions.refuses(authorized.admitted, item.signature)


def _not_begun(session: Session, item: Item, known: Refusal | record.Replay) -> None:
    """End a call that the ledger does not let run."""
    item.authorized = None
    if isinstance(known, Refusal) and known.code == "ledger.unwritable":
        # There is nowhere to write this down.
        item.outcome = Outcome.from_refusal(known, call_id=item.call.id, tool_id=item.tool_id)
        return
    submission.take(session, item, known)


async def _executed(
    session: Session,
    item: Item,
    authorized: AuthorizedCall,
    pack: RunnablePack,
    sink: Sink | None,
) -> Outcome:
    toolbox = session.toolbox
    tool = authorized.admitted.tool
    implementation = pack.implementations[tool.id]
    # A renamed or overriding tool runs the code of the tool that its pack declared.
    if implementation.tool is not tool:
        implementation = attrs.evolve(implementation, tool=tool)
    diagnostics = _Diagnostics()
    notes: list[str] = []
    host = session.host_of(pack.id)
    report = _reporter(session, item, sink) if sink is not None or toolbox.hearing else None
    outcome = await execution.execute(
        authorized,
        implementation=implementation,
        make_context=partial(_context, session, authorized, (host, diagnostics, notes, report)),
        runtime=toolbox.runtime,
        terms=_terms(session, item, pack, sink),
        token=item.token,
    )
    return await concluding.concluded(
        session, item, outcome, diagnostics=diagnostics, notes=notes
    )


def _context(
    session: Session,
    authorized: AuthorizedCall,
    own: tuple[PackHost, _Diagnostics, list[str], Report | None],
    attempt: int,
    token: CancelToken,
) -> RunContext:
    """Make the context of one attempt; ``own`` is what all attempts of a call share."""
    host, diagnostics, notes, report = own
    admitted = authorized.admitted
    return RunContext(
        session,
        host,
        tool_id=admitted.tool.id,
        invocation_id=admitted.call.id,
        attempt=attempt,
        deadline=token.deadline,
        idempotency_key=authorized.idempotency_key,
        cancellation=token,
        diagnostics=diagnostics,
        notes=notes,
        progress=report,
        loop=asyncio.get_running_loop(),
        signature=authorized.signature,
    )


def _terms(session: Session, item: Item, pack: RunnablePack, sink: Sink | None) -> Terms:
    """Return the terms of a call; those that nobody listens to are made once a tool."""
    authorized = item.authorized
    if authorized is None:  # pragma: no cover - it runs
        raise AssertionError
    tool = authorized.tool
    terms = session.terms.get(tool.id)
    if terms is None:
        toolbox = session.toolbox
        policy = toolbox.policy

        async def pack_retry(failure: BaseException, attempt: int) -> bool | float:
            return await pack.retry(tool, failure, attempt)

        def check_schema(value: Any) -> Any:
            return admission.check_output(tool, value, toolbox.validators)

        async def verify(function: Callable[[], Any]) -> None:
            await pack.verify(tool.id, "check_output", function)

        def late(outcome: Outcome) -> None:
            toolbox.ledger.late(concluding.without_secrets(toolbox, outcome))

        terms = session.terms[tool.id] = execution.Terms(
            session=session.id,
            timeout=tool.timeout if tool.timeout is not None else policy.timeout,
            retry=policy.retry,
            pack_retry=pack_retry if pack.has("toolcrib_retry") else None,
            check_schema=check_schema if tool.output_schema is not None else None,
            verify=verify,
            guard=session.loop_guard,
            on_late=late,
            asynchronous=policy.allow_async,
        )
    if sink is None:
        return terms

    def on_progress(facts: Mapping[str, Any]) -> None:
        name = facts.get("event", "progress")
        if name != "started":  # said before the first attempt already
            rest = {key: value for key, value in facts.items() if key != "event"}
            _tell(session, item, sink, f"call.{name}", **rest)

    return attrs.evolve(terms, on_progress=on_progress)


def _reporter(session: Session, item: Item, sink: Sink | None) -> Report:
    def report(message: str, progress: float | None, total: float | None) -> None:
        _tell(
            session,
            item,
            sink,
            "call.progress",
            message=concluding.scrubbed(session.toolbox, message),
            progress=progress,
            total=total,
        )

    return report


def _ending(item: Item) -> dict[str, Any]:
    outcome = item.outcome
    return {} if outcome is None else {"status": outcome.status, "code": outcome.code}


def _finished_event(session: Session, item: Item, sink: Sink | None) -> None:
    """Tell whoever iterates over the run; observers hear of refusals from their writer."""
    if sink is not None:
        sink(session.event("call.finished", item, _ending(item)))


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
