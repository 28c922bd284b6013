"""Find the one grant that lets a call run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcrib.question import Grant

from .grants import answered_by
from .part import Part


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall

    from .context import AuthorityContext


__all__ = ["covering", "standing"]


def standing(
    admitted: AdmittedCall,
    answers: tuple[str, ...],
    context: AuthorityContext,
    parts: Sequence[Part],
    *,
    by_rule: bool,
) -> Grant | None:
    """Return a grant that covers the whole call and answered all that asks.

    ``by_rule`` is False where no rule can answer, the rule of a grant included.
    """
    if not context.grants:
        return None
    for grant in context.grants.exact(admitted, context):
        if answered_by(grant, answers):
            return grant
    if not by_rule:
        return None
    return _ruled(admitted, context, parts, answers=answers)


def covering(
    admitted: AdmittedCall,
    context: AuthorityContext,
    waiting: Sequence[Part],
) -> Grant | None:
    """Return one grant that covers parts; a call never uses up two."""
    exact = context.grants.exact(admitted, context)
    if exact:
        return exact[0]
    return _ruled(admitted, context, waiting, answers=())


def _ruled(
    admitted: AdmittedCall,
    context: AuthorityContext,
    parts: Sequence[Part],
    *,
    answers: tuple[str, ...],
) -> Grant | None:
    """Return the oldest grant whose rule covers every part and that answered all asks."""
    common: dict[str, Grant] | None = None
    for part in parts:
        found = {g.id: g for g in context.grants.ruled(admitted, context, part)}
        common = found if common is None else {i: g for i, g in common.items() if i in found}
        if not common:
            return None
    fitting = [g for g in (common or {}).values() if answered_by(g, answers)]
    return min(fitting, key=lambda g: (g.created, g.id)) if fitting else None
