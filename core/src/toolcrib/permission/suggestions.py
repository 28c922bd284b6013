"""Rules to offer: what "always" would store, and narrower rules than the present ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import rules
from toolcrib.errors import RuleSyntaxError
from toolcrib.resources import host_of
from toolcrib.rules import Rule, Verdict

from .decisions import covers_call
from .grants import forced
from .linter import is_within
from .programs import runs_others


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall
    from toolcrib.signature import Resource, Signature

    from .context import AuthorityContext


__all__ = ["Suggestion", "Use", "offer", "suggest"]

_MOST_LITERALS = 3


def offer(
    generalized: Any,
    admitted: AdmittedCall,
    signature: Signature | None,
    context: AuthorityContext,
) -> str | None:
    """Return the rule that "always" would store, or None: then it is the exact call.

    Args:
        generalized: What the tool's ``generalize`` returned: a rule, its text, or its
            fields in parentheses. It is made an *allow* of this tool alone.
        admitted: The call that it must cover.
        signature: What the call touches.
        context: What the call is judged by.
    """
    text = generalized.text if isinstance(generalized, Rule) else generalized
    if not isinstance(text, str):
        return None
    rule = forced(text, admitted.tool.id)
    if rule is None or _says_too_little(rule, signature):
        return None
    return rule.text if covers_call(rule, admitted, signature, context) else None


def _says_too_little(rule: Rule, signature: Signature | None) -> bool:
    """Tell whether a rule would hand out more than the kind of thing that was asked."""
    if not rule.types:
        # What a call without resources touches, the effects alone can say.
        return signature is None or bool(signature.resources)
    return any(field.name == "command" and runs_others(field.pattern) for field in rule.fields)


@attrs.frozen(kw_only=True)
class Use:
    """A call that ran: its tool, and the resources that it touched."""

    tool_id: str
    resources: tuple[Resource, ...] = attrs.field(default=(), converter=tuple)


@attrs.frozen(kw_only=True)
class Suggestion:
    """Narrower rules for one rule.

    Together they allow all that was used, and no more than the rule did.

    Attributes:
        replaces: The rule.
        rules: What could stand in its place; empty if it was never used.
        uses: How many of the calls it let run.
        text: The suggestion as a sentence.
    """

    replaces: Rule
    rules: tuple[Rule, ...]
    uses: int
    text: str


def suggest(
    present: Iterable[Rule], uses: Iterable[Use], *, workspace: str = "/"
) -> tuple[Suggestion, ...]:
    """Suggest narrower *allow* rules from the calls that ran; never a wider one.

    Args:
        present: The rules of now.
        uses: Calls that ran, as the receipts tell.
        workspace: Where relative patterns start.
    """
    ran = list(uses)
    found: list[Suggestion] = []
    for rule in present:
        if rule.verdict is not Verdict.ALLOW:
            continue
        used = [use for use in ran if rule.names_tool(use.tool_id)]
        narrower = _narrower(rule, used, workspace)
        if narrower is not None and narrower != (rule,):
            found.append(_suggestion(rule, narrower, len(used)))
    return tuple(found)


def _suggestion(rule: Rule, narrower: tuple[Rule, ...], uses: int) -> Suggestion:
    if not narrower:
        text = f"'{rule.text}' was never used: remove it"
    else:
        texts = ", ".join(f"'{new.text}'" for new in narrower)
        text = f"'{rule.text}' could be {texts}"
    return Suggestion(replaces=rule, rules=narrower, uses=uses, text=text)


def _narrower(rule: Rule, used: Sequence[Use], workspace: str) -> tuple[Rule, ...] | None:
    """Return narrower rules, or None if there is nothing to gain."""
    found: list[Rule] = []
    for tool_id in sorted({use.tool_id for use in used}):
        touched = {r for use in used if use.tool_id == tool_id for r in use.resources}
        patterns = _common(touched, workspace)
        if any(use.tool_id == tool_id and not use.resources for use in used):
            # One call said nothing of what it touched: only the whole tool covers it.
            patterns = []
        new = _with(rule, tool_id, patterns, workspace)
        if new is None:
            return None
        found.append(new)
    return tuple(found)


def _common(touched: Iterable[Resource], workspace: str) -> list[tuple[str, str]]:
    """Return ``(field, pattern)`` pairs that cover resources, as narrow as is readable."""
    by_type: dict[str, set[str]] = {}
    for resource in touched:
        by_type.setdefault(resource.type, set()).add(resource.value)
    found: list[tuple[str, str]] = []
    for kind in sorted(by_type):
        values = sorted(by_type[kind])
        if "" in values:
            return []
        if kind == "path":
            found += [("path", pattern) for pattern in _folders(values, workspace)]
        elif kind == "url":
            found += [("host", host) for host in sorted({host_of(v) for v in values})]
        elif kind == "command":
            found += [("command", rules.exact("command", value)) for value in values]
        else:
            found += [(kind, rules.escape(value)) for value in values]
    return found


def _folders(values: Sequence[str], workspace: str) -> list[str]:
    if len(values) <= _MOST_LITERALS:
        return [_shown(value, workspace) for value in values]
    split = [value.split("/")[:-1] for value in values]
    common = [parts[0] for parts in zip(*split, strict=False) if len(set(parts)) == 1]
    # zip goes on after the first difference; only the leading run is a folder.
    lead: list[str] = []
    for position, folder in enumerate(common):
        if any(parts[position] != folder for parts in split):
            break
        lead.append(folder)
    folder = "/".join(lead) or "/"
    return [_shown(folder, workspace).rstrip("/") + "/**"]


def _shown(path: str, workspace: str) -> str:
    root = workspace.rstrip("/") + "/"
    text = path[len(root) :] if path.startswith(root) and path != root else path
    return rules.escape(text)


def _with(
    rule: Rule, tool_id: str, patterns: Sequence[tuple[str, str]], workspace: str
) -> Rule | None:
    """Return a rule for one tool that is surely within another, or None."""
    kept = [str(f) for f in rule.fields if f.name not in {name for name, _ in patterns}]
    kept += [str(f) for f in rule.fields if f.negated and str(f) not in kept]
    fields = [*kept, *(f"{name}={rules.quote(text)}" for name, text in patterns)]
    body = f"({', '.join(fields)})" if fields else ""
    try:
        new = rules.parse(f"allow {rules.quote(rules.escape(tool_id))}{body}")
    except RuleSyntaxError:
        return None
    return new if is_within(new, rule, workspace) else None
