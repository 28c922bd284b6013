"""The judgement of one call: everything that decides, in its fixed order.

1. the signature is no wider than the tool declares
2. containment, and what is toolcrib's own: never writable
3. a rule that denies any part; labels that may not meet
4. the ceiling of the mode *plan*
5. a person who says no to this call
6. a rule that asks about any part, or a deny that might mean an *any* part: only a
   person's grant that covers the call and answered it, or their answer now, lets it run
7. rules that allow, and other grants, part by part; for what is left, the mode
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcrib.outcome import Refusal
from toolcrib.question import Deny, Grant
from toolcrib.vocabulary import Access, Effect, Mode

from . import modes, refusals
from .bound import BoundRule, Strike
from .covering import covering, standing
from .grants import lapse
from .part import Part
from .parts import Parts, parts_of


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.question import Decision
    from toolcrib.signature import Signature

    from .context import AuthorityContext


__all__ = ["Judgement", "judge"]

_FS_READ, _READ, _PLAN = Effect.FS_READ, Access.READ, Mode.PLAN


class Judgement:
    """What was decided on one call, and on what grounds.

    Attributes:
        parts: The call taken apart; None if its signature was refused.
        refusal: Why it may not run, whatever a person says.
        asks: ``(rule, part)`` of rules that ask.
        doubts: ``(text, part)`` of what no rule can pre-answer: a deny that might mean
            the part, or a folder that holds files of toolcrib's own.
        covered: ``(part, by)`` for parts that a rule, grant or the mode lets run.
        open: Parts that nothing lets run.
        decided_by: Who or what let the call run, in order.
        grant_id: The grant that is used up by running it.
    """

    __slots__ = (
        "admitted",
        "answer",
        "asks",
        "context",
        "covered",
        "decided_by",
        "doubts",
        "grant_id",
        "known",
        "looked_at",
        "open",
        "parts",
        "refusal",
    )

    def __init__(
        self,
        admitted: AdmittedCall,
        context: AuthorityContext,
        answer: Decision | Grant | None = None,
    ) -> None:
        self.admitted = admitted
        self.context = context
        self.answer = answer
        self.known = context.rules.for_tool(admitted.tool)
        self.looked_at: Sequence[Part] = ()
        self.parts: Parts | None = None
        self.refusal: Refusal | None = None
        self.asks: tuple[tuple[BoundRule, Part], ...] = ()
        self.doubts: tuple[tuple[str, Part], ...] = ()
        self.covered: Sequence[tuple[Part, str]] = ()
        self.open: Sequence[Part] = ()
        self.decided_by: tuple[str, ...] = ()
        self.grant_id: str | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """Texts of what an approval answers: rules that ask, and doubts."""
        texts = [bound.rule.text for bound, _ in self.asks]
        return tuple(dict.fromkeys([*texts, *(text for text, _ in self.doubts)]))


def judge(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    answer: Decision | Grant | None = None,
) -> Judgement:
    """Judge one call, and what it must pass above a sub-agent; the stricter one counts."""
    judgement = _judge(admitted, signature, context, answer)
    above = context.above() if context.parent is not None else None
    if above is None or judgement.refusal is not None:
        return judgement
    # Paths start in the child's workspace, also where the parent works in another one.
    parts = judgement.parts
    said = signature if parts is None or parts.vague else parts.signature
    other = judge(admitted, said, above, answer)
    if other.refusal is not None:
        judgement.refusal = other.refusal
        judgement.decided_by = ()
        return judgement
    judgement.asks += other.asks
    judgement.doubts += other.doubts
    if not other.decided_by:
        judgement.decided_by, judgement.grant_id = (), None
        known = {str(part) for part in judgement.open}
        judgement.open = [*judgement.open, *(p for p in other.open if str(p) not in known)]
    elif judgement.decided_by:
        both = dict.fromkeys(
            [*judgement.decided_by, *(f"above: {b}" for b in other.decided_by)]
        )
        judgement.decided_by = tuple(both)
        judgement.grant_id = judgement.grant_id or other.grant_id
    return judgement


def _judge(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    answer: Decision | Grant | None = None,
) -> Judgement:
    """Judge one call by one context; see the module's text for the order."""
    judgement = Judgement(admitted, context, answer)
    known = judgement.known
    arguments = admitted.arguments if known.places else None
    parts = parts_of(admitted.tool, signature, arguments, known.places, context)
    if isinstance(parts, Refusal):
        judgement.refusal = parts
        return judgement
    judgement.parts = parts
    # A tool without effects has no parts; rules without fields still speak of it.
    judgement.looked_at = parts.all or (Part(None),)
    refusal = None
    if context.containment is not None or context.protected.paths:
        refusal = _limits(judgement)
    if refusal is None and not known.deny.empty:
        refusal = _denied(judgement)
    if refusal is None:
        refusal = _ceilings(judgement)
    if refusal is not None:
        judgement.refusal = refusal
        return judgement
    if not known.ask.empty:
        for part in judgement.looked_at:
            met = known.ask.strikes(part, context.facts)
            judgement.asks += tuple((bound, part) for _, bound in met)
    _decide(judgement)
    return judgement


def _limits(judgement: Judgement) -> Refusal | None:
    """Look at containment and at what is toolcrib's own."""
    context = judgement.context
    for part in judgement.looked_at:
        if part.type != "path" or part.value is None:
            continue
        if (
            context.containment is not None
            and not part.own
            and not context.contains(part.value)
        ):
            return refusals.outside(judgement.admitted, part, context)
        # An effect that is not a read changes what it names.
        if part.effect is _FS_READ or (part.effect is None and part.access is _READ):
            continue
        if context.protected.holds(part.value, part.spelling):
            return refusals.protected(judgement.admitted, part)
        if context.protected.lies_in(part.value, part.spelling):
            text = f"{part.value} holds files of toolcrib's own"
            judgement.doubts = (*judgement.doubts, (text, part))
    return None


def _denied(judgement: Judgement) -> Refusal | None:
    found: list[tuple[BoundRule, Part]] = []
    for part in judgement.looked_at:
        strike, bound = judgement.known.deny.strike(part, judgement.context.facts)
        if bound is None:
            continue
        if strike is Strike.YES:
            found.append((bound, part))
        else:
            judgement.doubts = (*judgement.doubts, (bound.rule.text, part))
    if not found:
        return None
    bound, part = min(found, key=lambda pair: pair[0].order)
    return refusals.denied(judgement.admitted, bound.rule, part)


def _ceilings(judgement: Judgement) -> Refusal | None:
    context, tool = judgement.context, judgement.admitted.tool
    for combination in context.forbid_labels:
        if combination & tool.labels and combination <= context.labels_seen | tool.labels:
            return refusals.labels(judgement.admitted, combination, context)
    if context.mode is _PLAN:
        for part in judgement.looked_at:
            if not modes.permits(part, context):
                return refusals.mode(judgement.admitted, part, context)
    if isinstance(judgement.answer, Deny):
        return refusals.person(judgement.admitted, judgement.answer)
    return None


def _decide(judgement: Judgement) -> None:
    if judgement.answer is not None:
        _answered(judgement, judgement.answer)
        return
    if judgement.asks or judgement.doubts:
        grant = standing(
            judgement.admitted,
            judgement.answers,
            judgement.context,
            judgement.looked_at,
            by_rule=not judgement.doubts,
        )
        if grant is None:
            _cover(judgement)
            judgement.grant_id = None
            return
        judgement.grant_id = grant.id
        judgement.decided_by = (f"grant {grant.id}",)
        judgement.covered = [(part, f"grant {grant.id}") for part in judgement.looked_at]
        return
    _cover(judgement)
    if not judgement.open:
        by = [by for _, by in judgement.covered]
        judgement.decided_by = tuple(by) if len(by) == 1 else tuple(dict.fromkeys(by))


def _answered(judgement: Judgement, answer: Decision | Grant) -> None:
    """Let the call run on a person's answer to this very call."""
    if isinstance(answer, Grant):
        by = f"person {answer.approver}"
        why = lapse(answer, judgement.admitted, judgement.context)
        if why is None and answer.arguments_digest is None:
            why = "it does not name this very call"
        if why is not None:
            judgement.refusal = refusals.lapsed(judgement.admitted, answer, why)
            return
        judgement.grant_id = answer.id
    else:
        by = f"person {answer.by}"
    judgement.decided_by = (by,)
    judgement.covered = [(part, by) for part in judgement.looked_at]


def _cover(judgement: Judgement) -> None:
    """Find what lets each part run: a rule, a grant, the mode."""
    allow, context = judgement.known.allow, judgement.context
    vague = judgement.parts is not None and judgement.parts.vague
    covered: list[tuple[Part, str]] = []
    waiting: list[Part] = []
    for part in judgement.looked_at:
        bound = None if allow.empty else allow.cover(part, context.facts)
        if bound is not None:
            covered.append((part, bound.rule.name))
        elif part.effect is None and part.type is None:
            covered.append((part, "no effects"))
        elif not vague and modes.runs(part, context):
            covered.append((part, context.by_mode))
        else:
            waiting.append(part)
    if waiting and context.grants:
        grant = covering(judgement.admitted, context, waiting)
        if grant is not None:
            judgement.grant_id = grant.id
            covered += [(part, f"grant {grant.id}") for part in waiting]
            waiting = []
    judgement.covered, judgement.open = covered, waiting
