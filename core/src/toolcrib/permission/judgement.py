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

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..outcome import Refusal
from ..question import Deny, Grant
from ..vocabulary import Effect
from . import modes, refusals
from .bound import BoundRule, Facts, Strike
from .covering import covering, standing
from .grants import lapse
from .parts import Part, Parts, parts_of


if TYPE_CHECKING:
    from ..call import AdmittedCall
    from ..question import Decision
    from ..signature import Signature
    from .context import AuthorityContext
    from .ruleset import ToolRules


__all__ = ["Judgement", "judge"]


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


def judge(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    answer: Decision | Grant | None = None,
) -> Judgement:
    """Judge one call; see the module's text for the order."""
    judgement = Judgement()
    tool = admitted.tool
    known = context.rules.for_tool(tool)
    arguments: Mapping[str, Any] | None = admitted.arguments if known.places else None
    parts = parts_of(tool, signature, arguments, known.places, context)
    if isinstance(parts, Refusal):
        judgement.refusal = parts
        return judgement
    judgement.parts = parts
    # A tool without effects has no parts; rules without fields still speak of it.
    looked_at = parts.all or [Part(None)]
    facts = Facts(context.mode, context.agent, context.principal)
    judgement.refusal = _limits(admitted, looked_at, judgement, context) or (
        None if known.deny.empty else _denied(admitted, looked_at, judgement, known, facts)
    )
    if judgement.refusal is None:
        judgement.refusal = _ceilings(admitted, looked_at, context, answer)
    if judgement.refusal is not None:
        return judgement
    if not known.ask.empty:
        _collect_asks(looked_at, judgement, known, facts)
    _decide(admitted, judgement, known, context, facts, answer)
    return judgement


def _limits(
    admitted: AdmittedCall, parts: list[Part], judgement: Judgement, context: AuthorityContext
) -> Refusal | None:
    """Look at containment and at what is toolcrib's own."""
    for part in parts:
        if part.type != "path" or part.value is None:
            continue
        if context.containment is not None and not (
            part.own
            or any(map(part.value.startswith, _folders(context)))
            or part.value in context.containment
        ):
            return refusals.outside(admitted, part, context)
        # An effect that is not a read changes what it names.
        if part.effect is Effect.FS_READ or (part.effect is None and part.access == "read"):
            continue
        if context.protected.holds(part.value, part.spelling):
            return refusals.protected(admitted, part)
        if context.protected.lies_in(part.value, part.spelling):
            judgement.doubts.append((f"{part.value} holds files of toolcrib's own", part))
    return None


def _folders(context: AuthorityContext) -> list[str]:
    return [folder.rstrip("/") + "/" for folder in context.containment or ()]


def _denied(
    admitted: AdmittedCall,
    parts: list[Part],
    judgement: Judgement,
    known: ToolRules,
    facts: Facts,
) -> Refusal | None:
    found: list[tuple[BoundRule, Part]] = []
    for part in parts:
        strike, bound = known.deny.strike(part, facts)
        if bound is None:
            continue
        if strike is Strike.YES:
            found.append((bound, part))
        else:
            judgement.doubts.append((bound.rule.text, part))
    if not found:
        return None
    bound, part = min(found, key=lambda pair: pair[0].order)
    return refusals.denied(admitted, bound.rule, part)


def _ceilings(
    admitted: AdmittedCall,
    parts: list[Part],
    context: AuthorityContext,
    answer: Decision | Grant | None,
) -> Refusal | None:
    tool = admitted.tool
    for combination in context.forbid_labels:
        if combination & tool.labels and combination <= context.labels_seen | tool.labels:
            return refusals.labels(admitted, combination, context)
    for part in parts:
        if not modes.permits(part, context):
            return refusals.mode(admitted, part, context)
    if isinstance(answer, Deny):
        return refusals.person(admitted, answer)
    return None


def _collect_asks(
    parts: list[Part], judgement: Judgement, known: ToolRules, facts: Facts
) -> None:
    for part in parts:
        judgement.asks += [(bound, part) for _, bound in known.ask.strikes(part, facts)]


def _decide(  # noqa: PLR0913 - the whole of what decides
    admitted: AdmittedCall,
    judgement: Judgement,
    known: ToolRules,
    context: AuthorityContext,
    facts: Facts,
    answer: Decision | Grant | None,
) -> None:
    parts = judgement.parts.all if judgement.parts is not None else []
    if answer is not None:
        _answered(admitted, judgement, context, answer)
        return
    if judgement.asks or judgement.doubts:
        grant = standing(
            admitted,
            judgement.answers,
            context,
            facts,
            parts or [Part(None)],
            by_rule=not judgement.doubts,
        )
        if grant is None:
            _cover(admitted, judgement, known, context, facts, parts)
            judgement.grant_id = None
            return
        judgement.grant_id = grant.id
        judgement.decided_by = (f"grant {grant.id}",)
        judgement.covered = [(part, f"grant {grant.id}") for part in parts]
        return
    _cover(admitted, judgement, known, context, facts, parts)
    if not judgement.open:
        by = dict.fromkeys(by for _, by in judgement.covered)
        judgement.decided_by = tuple(by) or ("no effects",)


def _answered(
    admitted: AdmittedCall,
    judgement: Judgement,
    context: AuthorityContext,
    answer: Decision | Grant,
) -> None:
    """Let the call run on a person's answer to this very call."""
    by = f"person {answer.approver if isinstance(answer, Grant) else answer.by}"
    if isinstance(answer, Grant):
        why = lapse(answer, admitted, context)
        if why is None and answer.arguments_digest is None:
            why = "it does not name this very call"
        if why is not None:
            judgement.refusal = refusals.lapsed(admitted, answer, why)
            return
        judgement.grant_id = answer.id
    judgement.decided_by = (by,)
    judgement.covered = [(p, by) for p in (judgement.parts.all if judgement.parts else ())]


def _cover(  # noqa: PLR0913 - as above
    admitted: AdmittedCall,
    judgement: Judgement,
    known: ToolRules,
    context: AuthorityContext,
    facts: Facts,
    parts: list[Part],
) -> None:
    """Find what lets each part run: a rule, a grant, the mode."""
    vague = judgement.parts is not None and judgement.parts.vague
    waiting: list[Part] = []
    for part in parts:
        bound = None if known.allow.empty else known.allow.cover(part, facts)
        if bound is not None:
            judgement.covered.append((part, bound.rule.name))
        elif not vague and modes.runs(part, context):
            judgement.covered.append((part, f"mode {context.mode}"))
        else:
            waiting.append(part)
    if waiting and context.grants:
        grant = covering(admitted, context, facts, waiting)
        if grant is not None:
            judgement.grant_id = grant.id
            judgement.covered += [(part, f"grant {grant.id}") for part in waiting]
            waiting = []
    judgement.open = waiting
