"""The stage: run an authorised call and return exactly one outcome, whatever happens."""

from __future__ import annotations

import asyncio

from collections.abc import Callable

from toolcrib import canonical
from toolcrib.call import AuthorizedCall
from toolcrib.codes import refuse
from toolcrib.context import Context
from toolcrib.errors import StageError
from toolcrib.implementation import Implementation
from toolcrib.outcome import Outcome, Refusal

from .cancellation import CancelToken
from .failures import interrupted
from .locks import Claim, claims_of
from .running import Run
from .scheduler import QueueFullError, Turn
from .terms import Runtime, Terms


__all__ = ["execute"]


async def execute(
    authorized: AuthorizedCall,
    *,
    implementation: Implementation,
    make_context: Callable[[int, CancelToken], Context],
    runtime: Runtime,
    terms: Terms,
    token: CancelToken | None = None,
) -> Outcome:
    """Run an authorised call.

    The outcome is returned even if the task is cancelled; write it down, then call
    :meth:`CancelToken.honour`. Only ``KeyboardInterrupt`` passes through.

    Args:
        authorized: What *permission.authorize* made; its digests are compared again.
        implementation: The tool's code.
        make_context: Makes the context of an attempt, from its number and the token.
        runtime: What all calls share.
        terms: On what terms this one runs.
        token: Cancels this call and no other.

    Raises:
        StageError: the value does not come from *permission.authorize*.
    """
    if not isinstance(authorized, AuthorizedCall):
        text = f"execute accepts an AuthorizedCall only, not {type(authorized).__name__}"
        raise StageError(text)
    refusal = _stale(authorized, implementation) or _looping(authorized, terms)
    tool = authorized.admitted.tool
    if refusal is not None:
        call_id = authorized.admitted.call.id
        return Outcome.from_refusal(refusal, call_id=call_id, tool_id=tool.id)
    if token is None:
        token = CancelToken()
    token.attach(asyncio.current_task(), runtime.deadlines, runtime.grace)
    run = Run(
        authorized, implementation, make_context, runtime=runtime, terms=terms, token=token
    )
    scheduler = runtime.scheduler
    try:
        claims = claims_of(tool, authorized.signature)
        turn = scheduler.enter(terms.session, tool.pack, claims)
        if turn is None or token.requested:
            outcome = await _later(run, turn, claims)
        else:
            try:
                outcome = await run.to_end(turn)
            finally:
                scheduler.leave(turn)
    finally:
        if token.requested or token.owes:
            await token.settle()
        else:
            token.release()
    if terms.guard is not None:
        terms.guard.note(authorized.arguments_digest, outcome)
    return outcome


def _stale(authorized: AuthorizedCall, implementation: Implementation) -> Refusal | None:
    """Refuse a call that is not, to the letter, the one that was authorised."""
    admitted = authorized.admitted
    now = canonical.digest_bytes(admitted.text.encode())
    if now == authorized.arguments_digest and (
        implementation.tool.definition_digest == authorized.definition_digest
    ):
        return None
    what = "arguments" if now != authorized.arguments_digest else "definition"
    text = (
        f"The {what} of {admitted.tool.id} changed after the call was approved. Nothing "
        "ran. Ask for the tools again and make a new call."
    )
    return refuse("answer.stale", admitted.tool.id, text, changed=what)


def _looping(authorized: AuthorizedCall, terms: Terms) -> Refusal | None:
    if terms.guard is None:
        return None
    tool_id = authorized.admitted.tool.id
    failures = terms.guard.refuses(tool_id, authorized.arguments_digest)
    if not failures:
        return None
    text = (
        f"This very call of {tool_id} failed the same way {failures} times, so it was not "
        "run again. Change the arguments, mend what it depends on, or do something else."
    )
    return refuse("call.looping", tool_id, text, failures=failures)


async def _later(run: Run, turn: Turn | None, claims: tuple[Claim, ...]) -> Outcome:
    """Run a call that was cancelled already, or has to wait for its turn."""
    scheduler = run.runtime.scheduler
    if run.token.requested:
        if turn is not None:
            scheduler.leave(turn)
        return _not_started(run)
    waited = await _queued(run, claims)
    if isinstance(waited, Outcome):
        return waited
    try:
        return await run.to_end(waited)
    finally:
        scheduler.leave(waited)


async def _queued(run: Run, claims: tuple[Claim, ...]) -> Turn | Outcome:
    """Return a turn, or the outcome of a call that did not get one."""
    terms = run.terms
    tool = run.authorized.admitted.tool
    if terms.patience is not None:
        run.token.arm(terms.patience, "waiting for a turn")
    try:
        turn = await run.runtime.scheduler.wait(
            terms.session, tool.pack, claims, lambda facts: terms.tell("queued", **facts)
        )
    except QueueFullError as error:
        text = f"{tool.id} cannot run now: {error}. Nothing ran. Make fewer calls at once."
        return Outcome.from_refusal(
            refuse("call.busy", tool.id, text),
            call_id=run.authorized.call.id,
            tool_id=tool.id,
        )
    except asyncio.CancelledError:
        run.token.delivered()
        return _not_started(run)
    run.token.disarm()
    return turn


def _not_started(run: Run) -> Outcome:
    ending = interrupted(
        run.authorized,
        cause=run.token.cause or "cancelled",
        reason=run.token.reason or "The call was cancelled.",
        running=False,
        started=False,
    )
    return run.outcome(ending)
