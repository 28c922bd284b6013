"""The sentences of what may not run: what is wrong, where it says so, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.codes import refuse
from toolcrib.vocabulary import Mode


if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolcrib.call import AdmittedCall
    from toolcrib.outcome import Refusal
    from toolcrib.question import Deny, Grant
    from toolcrib.rules import Rule
    from toolcrib.tool import Tool
    from toolcrib.vocabulary import Effect, Label

    from .context import AuthorityContext
    from .part import Part


__all__ = ["denied", "labels", "lapsed", "mode", "outside", "person", "protected", "wider"]


def _file(context: AuthorityContext) -> str:
    return str(context.policy_file) if context.policy_file is not None else "the policy file"


def denied(admitted: AdmittedCall, rule: Rule, part: Part) -> Refusal:
    """Refuse what a rule denies."""
    tool = admitted.tool.id
    what = f" ({part})" if part.type or part.effect else ""
    text = (
        f"A {rule.name} denies this call of {tool}{what}. Nothing ran. No mode, grant or "
        "approval overrides it: do it another way, or ask the user to change the rule."
    )
    return refuse("rule.denied", tool, text, rule=rule.text, part=part.data())


def outside(admitted: AdmittedCall, part: Part, context: AuthorityContext) -> Refusal:
    """Refuse a path outside the folders that the session is kept in."""
    folders = ", ".join(context.containment or ())
    text = (
        f"{part.value} lies outside {folders}, where this session is kept. Nothing ran. "
        "Use a path inside."
    )
    return refuse("path.outside", admitted.tool.id, text, part=part.data())


def protected(admitted: AdmittedCall, part: Part) -> Refusal:
    """Refuse to write what is toolcrib's own."""
    text = (
        f"{part.value} belongs to toolcrib itself (policy, rules, grants, lock or ledger), "
        "and no tool may change it. Nothing ran. Ask the user to edit it by hand."
    )
    return refuse("path.protected", admitted.tool.id, text, part=part.data())


def labels(
    admitted: AdmittedCall, combination: Iterable[Label], context: AuthorityContext
) -> Refusal:
    """Refuse a combination of data flows."""
    names = ", ".join(sorted(combination))
    text = (
        f"In this session {names} may not come together, and {admitted.tool.id} would "
        f"complete them ({_file(context)}, forbid_labels). Nothing ran. Use another session."
    )
    return refuse("labels.forbidden", admitted.tool.id, text, labels=sorted(combination))


def mode(admitted: AdmittedCall, part: Part, context: AuthorityContext) -> Refusal:
    """Refuse what the mode does not permit."""
    text = (
        f"The mode {context.mode} permits reads only, and this call of "
        f"{admitted.tool.id} would do: {part}. Nothing ran. Say what you would do; the "
        f"user can leave the mode {Mode.PLAN}."
    )
    return refuse(
        "mode.denied", admitted.tool.id, text, mode=str(context.mode), part=part.data()
    )


def person(admitted: AdmittedCall, answer: Deny) -> Refusal:
    """Refuse what a person refused."""
    # It ends a sentence, which has one full stop.
    reason = answer.reason.rstrip(". ")
    why = f": {reason}" if reason else ""
    text = (
        f"{answer.by} said no to this call of {admitted.tool.id}{why}. Nothing ran. Do not "
        "make the same call again; ask what to do instead."
    )
    return refuse("person.denied", admitted.tool.id, text, by=answer.by, reason=answer.reason)


def lapsed(admitted: AdmittedCall, grant: Grant, why: str) -> Refusal:
    """Refuse a call whose approval does not hold any more."""
    code = "grant.used" if "used" in why or "revoked" in why else "answer.stale"
    text = (
        f"The approval of this call of {admitted.tool.id} does not hold: {why}. Nothing "
        "ran. Make the call again to be asked again."
    )
    return refuse(code, admitted.tool.id, text, grant=grant.id)


def wider(tool: Tool, excess: Iterable[Effect]) -> Refusal:
    """Refuse a call that touches more than its tool declares."""
    names = sorted(excess)
    text = (
        f"This call of {tool.id} would also do {', '.join(names)}, which the tool does not "
        "declare. Nothing ran. Its pack has to declare the effect."
    )
    return refuse("signature.wider", tool.id, text, effects=names)
