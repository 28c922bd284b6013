"""Stage **authorize**: from an admitted call to one that may run, a question, or a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from toolcrib.call import AdmittedCall, AuthorizedCall, _authorized
from toolcrib.errors import StageError
from toolcrib.outcome import Refusal
from toolcrib.signature import Resource, Signature

from .context import AuthorityContext
from .judgement import Judgement, judge
from .part import Part
from .parts import parts_of


if TYPE_CHECKING:
    from toolcrib.question import Decision, Grant


__all__ = ["Asked", "authorize", "touched"]

_NOTHING = Signature()
_NO_EFFECTS = ("no effects",)


@attrs.frozen(kw_only=True)
class Asked:
    """A call that only a person can let run; the session makes the question of it.

    Attributes:
        reasons: Why it is asked, a sentence each.
        parts: What nothing lets run, or what is asked about.
        resources: What the whole call touches.
        group: Questions of one group may be shown together.
        answers: Texts of what an approval answers.
        preanswerable: Whether a rule could have let it run.
        signature: Effects and resources, with paths resolved.
    """

    reasons: tuple[str, ...]
    parts: tuple[Part, ...] = attrs.field(eq=False)
    resources: tuple[Resource, ...]
    group: str
    answers: tuple[str, ...]
    preanswerable: bool
    signature: Signature


def authorize(
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    *,
    answer: Decision | Grant | None = None,
) -> AuthorizedCall | Asked | Refusal:
    """Judge a call by rules, grants and mode.

    Args:
        admitted: The call.
        signature: What its pack says that it touches; None if it said nothing.
        context: What it is judged by.
        answer: A person's decision on this very call, whose binding holds, or the
            grant of scope ``once`` that was stored for it.
    """
    if not isinstance(admitted, AdmittedCall):
        text = f"authorize takes an AdmittedCall, not a {type(admitted).__name__}"
        raise StageError(text)
    if answer is None and not signature and _touches_nothing(admitted, context):
        return _authorized(
            admitted,
            signature=_NOTHING,
            decided_by=_NO_EFFECTS,
            idempotency_key=admitted.call.id,
        )
    judgement = judge(admitted, signature, context, answer)
    if judgement.refusal is not None:
        return judgement.refusal
    if not judgement.decided_by:
        return _asked(admitted, judgement, context)
    parts = judgement.parts
    return _authorized(
        admitted,
        signature=parts.signature if parts is not None else _NOTHING,
        decided_by=judgement.decided_by,
        grant_id=judgement.grant_id,
        idempotency_key=admitted.call.id,
    )


def _touches_nothing(admitted: AdmittedCall, context: AuthorityContext) -> bool:
    """Tell whether a call needs no judgement: no effects, and no rule that speaks of it."""
    tool = admitted.tool
    if tool.effects or context.parent is not None or context.forbid_labels:
        return False
    known = context.rules.for_tool(tool)
    return known.empty and not known.places


def touched(
    admitted: AdmittedCall, signature: Signature | None, context: AuthorityContext
) -> Signature:
    """Return what a call would touch, whether or not it may: paths resolved, defaults in."""
    known = context.rules.for_tool(admitted.tool)
    arguments = admitted.arguments if known.places else None
    parts = parts_of(admitted.tool, signature, arguments, known.places, context)
    if isinstance(parts, Refusal):
        # It is wider than the tool declares: then what the pack said is what was refused.
        return signature or Signature()
    return parts.signature


def _asked(admitted: AdmittedCall, judgement: Judgement, context: AuthorityContext) -> Asked:
    parts = judgement.parts
    if parts is None:  # pragma: no cover - without parts there is a refusal
        raise AssertionError
    waiting = [part for _, part in judgement.asks] + [part for _, part in judgement.doubts]
    waiting += judgement.open
    return Asked(
        reasons=reasons_of(judgement, context),
        parts=tuple(dict.fromkeys(waiting)),
        resources=parts.signature.resources,
        group=admitted.tool.id,
        answers=judgement.answers,
        preanswerable=not judgement.asks and not judgement.doubts,
        signature=parts.signature,
    )


def reasons_of(judgement: Judgement, context: AuthorityContext) -> tuple[str, ...]:
    """Return why a call is asked, a sentence each."""
    found = [f"{bound.rule.name} asks ({part})" for bound, part in judgement.asks]
    found += [
        f"'{text}' may concern it ({part}), so no rule can let it run"
        for text, part in judgement.doubts
    ]
    if judgement.parts is not None and judgement.parts.vague and judgement.open:
        found.append("the tool does not say what this call touches")
    found += [
        f"no rule or grant covers {part}, and mode {context.mode} does not run it"
        for part in judgement.open
    ]
    return tuple(dict.fromkeys(found))
