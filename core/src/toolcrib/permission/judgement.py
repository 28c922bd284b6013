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

from typing import TYPE_CHECKING

from toolcrib.outcome import Refusal
from toolcrib.question import Deny, Grant
from toolcrib.vocabulary import Access, Effect, Mode

from . import modes, refusals
from .bound import BoundRule, Strike
from .covering import covering, standing
from .grants import lapse
from .parts import Part, Parts, parts_of


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
        "asks",
        "covered",
        "decided_by",
        "doubts",
        "grant_id",
        "open",
        "parts",
        "refusal",
    )

    def __init__(self) -> None:
        self.parts: Parts | None = None
        self.refusal: Refusal | None = None
        self.asks: list[tuple[BoundRule, Part]] = []
        self.doubts: list[tuple[str, Part]] = []
        self.covered: list[tuple[Part, str]] = []
        self.open: list[Part] = []
        self.decided_by: tuple[str, ...] = ()
        self.grant_id: str | None = None

    @property
    def runs(self) -> bool:
        """Whether the call may run."""
        return self.refusal is None and bool(self.decided_by)

    @property
    def answers(self) -> tuple[str, ...]:
        """Texts of what an approval answers: rules that ask, and doubts."""
        texts = [bound.rule.text for bound, _ in self.asks]
        return tuple(dict.fromkeys([*texts, *(text for text, _ in self.doubts)]))


class _Case:
    """One call, and what it is judged by."""

    __slots__ = ("admitted", "answer", "context", "facts", "known", "parts")

    def __init__(
        self,
        admitted: AdmittedCall,
        context: AuthorityContext,
        answer: Decision | Grant | None,
    ) -> None:
        self.admitted = admitted
        self.context = context
        self.answer = answer
        self.known = context.rules.for_tool(admitted.tool)
        self.facts = context.facts
        self.parts: list[Part] = []


def judge(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    answer: Decision | Grant | None = None,
) -> Judgement:
    """Judge one call; see the module's text for the order."""
    judgement = Judgement()
    case = _Case(admitted, context, answer)
    known = case.known
    arguments = admitted.arguments if known.places else None
    parts = parts_of(admitted.tool, signature, arguments, known.places, context)
    if isinstance(parts, Refusal):
        judgement.refusal = parts
        return judgement
    judgement.parts = parts
    # A tool without effects has no parts; rules without fields still speak of it.
    case.parts = parts.all or [Part(None)]
    if context.containment is not None or context.protected.paths:
        judgement.refusal = _limits(case, judgement)
    if judgement.refusal is None and not known.deny.empty:
        judgement.refusal = _denied(case, judgement)
    if judgement.refusal is None:
        judgement.refusal = _ceilings(case)
    if judgement.refusal is not None:
        return judgement
    if not known.ask.empty:
        for part in case.parts:
            judgement.asks += [(b, part) for _, b in known.ask.strikes(part, case.facts)]
    _decide(case, judgement)
    return judgement


def _limits(case: _Case, judgement: Judgement) -> Refusal | None:
    """Look at containment and at what is toolcrib's own."""
    context = case.context
    for part in case.parts:
        if part.type != "path" or part.value is None:
            continue
        if (
            context.containment is not None
            and not part.own
            and not context.contains(part.value)
        ):
            return refusals.outside(case.admitted, part, context)
        # An effect that is not a read changes what it names.
        if part.effect is _FS_READ or (part.effect is None and part.access is _READ):
            continue
        if context.protected.holds(part.value, part.spelling):
            return refusals.protected(case.admitted, part)
        if context.protected.lies_in(part.value, part.spelling):
            judgement.doubts.append((f"{part.value} holds files of toolcrib's own", part))
    return None


def _denied(case: _Case, judgement: Judgement) -> Refusal | None:
    found: list[tuple[BoundRule, Part]] = []
    for part in case.parts:
        strike, bound = case.known.deny.strike(part, case.facts)
        if bound is None:
            continue
        if strike is Strike.YES:
            found.append((bound, part))
        else:
            judgement.doubts.append((bound.rule.text, part))
    if not found:
        return None
    bound, part = min(found, key=lambda pair: pair[0].order)
    return refusals.denied(case.admitted, bound.rule, part)


def _ceilings(case: _Case) -> Refusal | None:
    context, tool = case.context, case.admitted.tool
    for combination in context.forbid_labels:
        if combination & tool.labels and combination <= context.labels_seen | tool.labels:
            return refusals.labels(case.admitted, combination, context)
    if context.mode is _PLAN:
        for part in case.parts:
            if not modes.permits(part, context):
                return refusals.mode(case.admitted, part, context)
    if isinstance(case.answer, Deny):
        return refusals.person(case.admitted, case.answer)
    return None


def _decide(case: _Case, judgement: Judgement) -> None:
    if case.answer is not None:
        _answered(case, judgement, case.answer)
        return
    if judgement.asks or judgement.doubts:
        grant = standing(
            case.admitted,
            judgement.answers,
            case.context,
            case.parts,
            by_rule=not judgement.doubts,
        )
        if grant is None:
            _cover(case, judgement)
            judgement.grant_id = None
            return
        judgement.grant_id = grant.id
        judgement.decided_by = (f"grant {grant.id}",)
        judgement.covered = [(part, f"grant {grant.id}") for part in case.parts]
        return
    _cover(case, judgement)
    if not judgement.open:
        judgement.decided_by = tuple(dict.fromkeys([by for _, by in judgement.covered]))


def _answered(case: _Case, judgement: Judgement, answer: Decision | Grant) -> None:
    """Let the call run on a person's answer to this very call."""
    if isinstance(answer, Grant):
        by = f"person {answer.approver}"
        why = lapse(answer, case.admitted, case.context)
        if why is None and answer.arguments_digest is None:
            why = "it does not name this very call"
        if why is not None:
            judgement.refusal = refusals.lapsed(case.admitted, answer, why)
            return
        judgement.grant_id = answer.id
    else:
        by = f"person {answer.by}"
    judgement.decided_by = (by,)
    judgement.covered = [(part, by) for part in case.parts]


def _cover(case: _Case, judgement: Judgement) -> None:
    """Find what lets each part run: a rule, a grant, the mode."""
    allow, context = case.known.allow, case.context
    vague = judgement.parts is not None and judgement.parts.vague
    waiting: list[Part] = []
    for part in case.parts:
        bound = None if allow.empty else allow.cover(part, case.facts)
        if bound is not None:
            judgement.covered.append((part, bound.rule.name))
        elif part.effect is None and part.type is None:
            judgement.covered.append((part, "no effects"))
        elif not vague and modes.runs(part, context):
            judgement.covered.append((part, context.by_mode))
        else:
            waiting.append(part)
    if waiting and context.grants:
        grant = covering(case.admitted, context, waiting)
        if grant is not None:
            judgement.grant_id = grant.id
            judgement.covered += [(part, f"grant {grant.id}") for part in waiting]
            waiting = []
    judgement.open = waiting
