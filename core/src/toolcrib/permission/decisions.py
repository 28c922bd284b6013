"""What a person's answer to a question leads to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from toolcrib import canonical
from toolcrib.call import AuthorizedCall
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal
from toolcrib.question import Allow, AllowRule, Decision, Deny, Grant, Question
from toolcrib.vocabulary import Scope

from . import refusals
from .grants import forced
from .part import Part
from .parts import Parts, parts_of
from .stage import Asked, authorize


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.rules import Rule
    from toolcrib.signature import Signature

    from .context import AuthorityContext


__all__ = ["apply_decision", "binding", "covers_call", "decide"]


def binding(admitted: AdmittedCall, *, preview: str | None, view: str, principal: str) -> str:
    """Return the digest that an answer holds for: what was shown, to whom.

    Args:
        admitted: The call, which has the digests of arguments and definition.
        preview: The text that the person was shown.
        view: Digest of the view that the call was made with.
        principal: For whom it runs.
    """
    return canonical.digest(
        {
            "call": admitted.call.id,
            "tool": admitted.tool.id,
            "arguments": admitted.digest,
            "definition": admitted.tool.definition_digest,
            "preview": preview,
            "view": view,
            "principal": principal,
        }
    )


def covers_call(
    rule: Rule,
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
) -> bool:
    """Tell whether a rule that allows covers every part of a call."""
    known = context.rules.for_tool(admitted.tool)
    arguments = admitted.arguments if known.places else None
    parts = parts_of(admitted.tool, signature, arguments, known.places, context)
    if not isinstance(parts, Parts) or not rule.names_tool(admitted.tool.id):
        return False
    bound = context.rules.bind(rule).for_source(admitted.tool.source)
    looked_at: Sequence[Part] = parts.all or [Part(None)]
    return bound is not None and all(bound.covers(part, context.facts) for part in looked_at)


def apply_decision(
    question: Question,
    decision: Decision,
    *,
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
    preview: str | None,
    view: str,
    answered: bool = False,
) -> tuple[Grant, ...] | Refusal:
    """Check an answer against what would happen now, and return the grants to store.

    Args:
        question: What was asked.
        decision: What the person said.
        admitted: The call as it would run now.
        signature: What it touches now.
        context: What it is judged by now.
        preview: Its preview now.
        view: Digest of the view that the call was made with.
        answered: Whether the question has been answered before.

    Returns:
        First the grant of scope ``once`` for the call itself, if it is approved: give it
        to ``authorize`` as the answer. Then the one that lasts, if one was given.
        Otherwise a refusal: ``answer.stale``, ``grant.used``, ``answer.narrow`` or
        ``person.denied``.
    """
    tool = admitted.tool.id
    if answered:
        text = f"The question about this call of {tool} was answered already. Nothing ran."
        return refuse("grant.used", tool, text, question=question.id)
    now = binding(admitted, preview=preview, view=view, principal=context.principal)
    if question.call_id != admitted.call.id or now != question.binding:
        text = (
            f"What was approved is not what this call of {tool} would do now: the call, "
            "preview, tool, view or principal changed. Nothing ran. Make the call again."
        )
        return refuse("answer.stale", tool, text, question=question.id)
    if isinstance(decision, Deny):
        return refusals.person(admitted, decision)
    lasting = _lasting(question, decision, admitted, signature, context)
    if isinstance(lasting, Refusal):
        return lasting
    once = _grant(question, decision, admitted, context, scope=Scope.ONCE, uses=1)
    return (once,) if lasting is None else (once, lasting)


def decide(
    question: Question,
    decision: Decision,
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
) -> tuple[AuthorizedCall, Grant | None] | Refusal:
    """Judge a call again with a person's answer, whose binding the caller has checked.

    Returns:
        The call that may run, and the grant that lasts beyond it, if one was given.
        Rules, mode and containment of now still decide first.
    """
    lasting: Grant | None = None
    if not isinstance(decision, Deny):
        given = _lasting(question, decision, admitted, signature, context)
        if isinstance(given, Refusal):
            return given
        lasting = given
    verdict = authorize(admitted, signature, context, answer=decision)
    return (verdict, lasting) if isinstance(verdict, AuthorizedCall) else _never(verdict)


def _never(verdict: Asked | Refusal) -> Refusal:
    if isinstance(verdict, Refusal):
        return verdict
    raise AssertionError(verdict)  # an answered call is not asked again


def _lasting(
    question: Question,
    decision: Allow | AllowRule,
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
) -> Grant | Refusal | None:
    """Return the grant that lasts beyond the call; its own run is counted already."""
    left = None if decision.uses is None else decision.uses - 1
    if decision.scope is Scope.ONCE or (left is not None and left <= 0):
        return None
    text = None
    if isinstance(decision, AllowRule):
        text = decision.rule if decision.rule is not None else question.rule_offered
    if text is None:
        return _grant(question, decision, admitted, context, scope=decision.scope, uses=left)
    rule = forced(text, admitted.tool.id)
    if rule is None or not covers_call(rule, admitted, signature, context):
        sentence = (
            f"The rule {text!r} does not cover this call of {admitted.tool.id}, so it is "
            "no answer to it. Nothing ran. Answer with a rule that covers the call."
        )
        return refuse("answer.narrow", admitted.tool.id, sentence, rule=text)
    grant = _grant(question, decision, admitted, context, scope=decision.scope, uses=left)
    return attrs.evolve(grant, arguments_digest=None, rule=rule.text)


def _grant(
    question: Question,
    decision: Allow | AllowRule,
    admitted: AdmittedCall,
    context: AuthorityContext,
    *,
    scope: Scope,
    uses: int | None,
) -> Grant:
    # The id follows from the question, so that storing an answer twice stores one grant.
    stem = question.id.removeprefix("q_")
    return Grant(
        id=f"g_{stem}" + ("_once" if scope is Scope.ONCE else ""),
        tool_id=admitted.tool.id,
        definition_digest=admitted.tool.definition_digest,
        arguments_digest=admitted.digest,
        rule=None,
        approver=decision.by,
        principal=context.principal,
        conversation=context.conversation,
        scope=scope,
        created=context.now() or question.created,
        expires=decision.expires,
        uses_left=uses,
        answered="\n".join(question.answers) or None,
    )
