"""Ask the guards that policy names about a call; what one rewrites is admitted again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from toolcrib.call import AdmittedCall
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal

from .admitting import admit
from .item import Item


if TYPE_CHECKING:
    from .runnable import RunnablePack
    from .session import Session


__all__ = ["guarded"]


async def guarded(
    session: Session, admitted: AdmittedCall, pack: RunnablePack
) -> AdmittedCall | Refusal:
    """Ask every guard in policy's order; start again after a rewrite."""
    guards = session.toolbox.policy.guards
    rewrote: set[str] = set()
    position = 0
    while position < len(guards):
        name = guards[position]
        guard = await session.toolbox.activate(name)
        if isinstance(guard, Refusal):
            return _broken(name, admitted, guard.text)
        answer = await guard.guard(admitted)
        if isinstance(answer, Refusal):
            return answer
        if answer is None:
            position += 1
            continue
        if name in rewrote:
            return _broken(name, admitted, "it rewrote the same call twice")
        rewrote.add(name)
        again = await _rewritten(session, admitted, answer, pack)
        if isinstance(again, Refusal):
            return _broken(name, admitted, f"it rewrote the arguments wrongly: {again.text}")
        session.emit("guard.rewrote", Item(again.call), guard=name, digest=again.digest)
        admitted = again
        position = 0
    return admitted


async def _rewritten(
    session: Session, admitted: AdmittedCall, answer: Mapping[str, object], pack: RunnablePack
) -> AdmittedCall | Refusal:
    call = attrs.evolve(admitted.call, arguments=dict(answer))
    again = await admit(session, None, call, admitted.tool, pack)
    if isinstance(again, Refusal):
        return again
    # The receipt keeps the model's own words; the digest is that of what may run.
    more = again.repairs[len(call.repairs) :]
    return (
        attrs.evolve(again, repairs=(*admitted.repairs, *more)) if admitted.repairs else again
    )


def _broken(guard: str, admitted: AdmittedCall, why: str) -> Refusal:
    text = f"Guard {guard!r} did not answer properly ({why}), so nothing ran."
    return refuse("guard.broken", admitted.tool.id, text, guard=guard)
