"""What happens to an outcome between its handler and the ledger."""

from __future__ import annotations

import asyncio

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import permission, record
from toolcrib.activation.activepack import ActivePack
from toolcrib.outcome import Result
from toolcrib.undisturbed import settled

from . import keeping


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.host import _Diagnostics
    from toolcrib.outcome import Outcome
    from toolcrib.toolbox import Toolbox

    from .item import Item
    from .session import Session


__all__ = ["concluded", "scrubbed", "without_secrets"]


async def concluded(
    session: Session,
    item: Item,
    outcome: Outcome,
    *,
    diagnostics: _Diagnostics,
    notes: Sequence[str],
) -> Outcome:
    """Finish an outcome and write it down, even if this task is cancelled meanwhile.

    The handler ran; a call whose end is not written down would be unknown for ever. That
    the task was cancelled stays noted on the call's token.
    """
    if notes:
        result = attrs.evolve(outcome.result, notes=(*outcome.result.notes, *notes))
        outcome = attrs.evolve(outcome, result=result)
    if not session.toolbox.policy.reviewers:
        outcome = _obeyed(session, item, outcome)
        if keeping.is_short(outcome.result):
            return _written(session.toolbox, outcome, diagnostics)
    task = asyncio.ensure_future(_kept(session, item, outcome, diagnostics))
    if await settled(task) and item.token is not None:
        item.token.above = True
    return task.result()


async def _kept(
    session: Session, item: Item, outcome: Outcome, diagnostics: _Diagnostics
) -> Outcome:
    """Let reviewers look at an outcome, keep the whole of what is too long, write it down."""
    try:
        if session.toolbox.policy.reviewers:
            reviewed = await _reviewed(session, item, outcome)
            finished = _obeyed(session, item, reviewed)
        else:
            finished = outcome
        if not keeping.is_short(finished.result):
            finished = await keeping.bounded(session, _admitted(item).tool, finished)
    except BaseException:
        # The loop ends, or a fault of ours: the effect must not be lost with the result.
        note = "its result could not be kept: the host ended, or failed, meanwhile"
        bare = attrs.evolve(outcome, result=Result(notes=(note,)))
        _written(session.toolbox, bare, diagnostics)
        raise
    return _written(session.toolbox, finished, diagnostics)


async def _reviewed(session: Session, item: Item, outcome: Outcome) -> Outcome:
    toolbox, admitted = session.toolbox, _admitted(item)
    for name in toolbox.policy.reviewers:
        reviewer = await toolbox.activate(name)
        if isinstance(reviewer, ActivePack):
            answer = await reviewer.review(admitted, outcome)
            outcome = permission.reviewed(outcome, answer, reviewer=name)
    return outcome


def _obeyed(session: Session, item: Item, outcome: Outcome) -> Outcome:
    """Take out secrets, and obey directives."""
    if session.toolbox.policy.secrets:
        outcome = without_secrets(session.toolbox, outcome)
    if outcome.result.directives:
        outcome = session.directions.take(_admitted(item).tool, item.pack.id, outcome)
    return outcome


def _admitted(item: Item) -> AdmittedCall:
    if item.admitted is None:  # pragma: no cover - it ran
        raise AssertionError
    return item.admitted


def _written(toolbox: Toolbox, outcome: Outcome, diagnostics: _Diagnostics) -> Outcome:
    facts: Any = scrubbed(toolbox, diagnostics.facts) if diagnostics.facts else None
    if record.end(toolbox.ledger, outcome, diagnostics=facts):
        return outcome
    notes = (*outcome.result.notes, "not recorded: the ledger could not be written")
    return attrs.evolve(outcome, result=attrs.evolve(outcome.result, notes=notes))


def without_secrets(toolbox: Toolbox, outcome: Outcome) -> Outcome:
    """Return an outcome without the secrets that were given out."""
    secrets = toolbox.secrets
    return outcome if secrets is None else secrets.scrubber.outcome(outcome)


def scrubbed(toolbox: Toolbox, value: Any) -> Any:
    """Return a value that a handler said without the secrets that were given out."""
    secrets = toolbox.secrets
    return value if secrets is None else secrets.scrubber.value(value)
