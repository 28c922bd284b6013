"""What people approved before, found by tool and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs

from toolcrib import rules
from toolcrib.errors import RuleSyntaxError
from toolcrib.question import Grant
from toolcrib.rules import Rule, Verdict
from toolcrib.vocabulary import Scope

from .bound import BoundRule
from .index import RuleIndex


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall

    from .context import AuthorityContext
    from .part import Part


__all__ = ["GrantView", "answered_by", "forced"]


class GrantView:
    """The grants that a session may use.

    The exact ones are a lookup, those with a rule are indexed as rules are. A grant of
    scope ``once`` answers its own call only: it never pre-answers another, so it is not
    found here but given to ``authorize`` as the answer.
    """

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._grants: dict[str, Grant] = {}
        self._exact: dict[tuple[str, str], list[str]] = {}
        self._ruled: dict[str, list[str]] = {}
        self._indexed: dict[tuple[str, str, str], tuple[int, RuleIndex]] = {}
        for grant in grants:
            self.add(grant)

    def __bool__(self) -> bool:
        return bool(self._grants)

    def __len__(self) -> int:
        return len(self._grants)

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._grants.values())

    def get(self, grant_id: str) -> Grant | None:
        """Return a grant by its id."""
        return self._grants.get(grant_id)

    def add(self, grant: Grant) -> None:
        """Add a grant, or replace the one of its id (used, revoked)."""
        known = grant.id in self._grants
        self._grants[grant.id] = grant
        if known:
            return
        if grant.arguments_digest is not None:
            key = (grant.tool_id, grant.arguments_digest)
            self._exact.setdefault(key, []).append(grant.id)
        elif grant.rule is not None:
            self._ruled.setdefault(grant.tool_id, []).append(grant.id)

    def used(self, grant_id: str) -> None:
        """Count one run that a grant covered."""
        grant = self._grants[grant_id]
        if grant.uses_left is not None:
            self._grants[grant_id] = attrs.evolve(grant, uses_left=grant.uses_left - 1)

    def exact(self, admitted: AdmittedCall, context: AuthorityContext) -> list[Grant]:
        """Return live grants of this very call, oldest first."""
        ids = self._exact.get((admitted.tool.id, admitted.digest), ())
        grants = [self._grants[i] for i in ids]
        return [g for g in grants if is_live(g, admitted, context)]

    def ruled(
        self, admitted: AdmittedCall, context: AuthorityContext, part: Part
    ) -> Iterator[Grant]:
        """Give live grants whose rule covers a part of a call."""
        index = self._index(admitted.tool.id, context)
        for bound in index.covers(part, context.facts) if index is not None else ():
            grant = self._grants[bound.owner or ""]
            if is_live(grant, admitted, context):
                yield grant

    def _index(self, tool_id: str, context: AuthorityContext) -> RuleIndex | None:
        ids = self._ruled.get(tool_id)
        if not ids:
            return None
        key = (tool_id, context.rules.workspace, context.rules.home)
        done, index = self._indexed.get(key) or (0, RuleIndex())
        for order in range(done, len(ids)):
            grant = self._grants[ids[order]]
            rule = forced(grant.rule or "", tool_id)
            if rule is not None:
                index.add(
                    BoundRule(
                        rule,
                        workspace=context.rules.workspace,
                        home=context.rules.home,
                        order=order,
                        owner=grant.id,
                    )
                )
        self._indexed[key] = (len(ids), index)
        return index


def is_live(grant: Grant, admitted: AdmittedCall, context: AuthorityContext) -> bool:
    """Tell whether a grant still holds for a call's tool, principal and conversation."""
    if grant.scope is Scope.ONCE:
        return False
    return lapse(grant, admitted, context) is None


def lapse(grant: Grant, admitted: AdmittedCall, context: AuthorityContext) -> str | None:
    """Return why a grant does not hold, or None if it does."""
    if grant.revoked:
        return "it was revoked"
    if grant.uses_left is not None and grant.uses_left <= 0:
        return "it was used already"
    if grant.tool_id != admitted.tool.id:
        return "it is for another tool"
    if grant.definition_digest != admitted.tool.definition_digest:
        return "the tool's definition changed"
    if grant.arguments_digest not in (None, admitted.digest):
        return "the arguments changed"
    if grant.principal != context.principal:
        return "it was given to somebody else"
    if grant.scope is not Scope.PROJECT and grant.conversation != context.conversation:
        return "it was given in another conversation"
    if grant.expires is not None:
        now = context.now()
        if now is None or now >= grant.expires:
            return "it has expired"
    return None


def answered_by(grant: Grant, asks: Iterable[str]) -> bool:
    """Tell whether a grant answered every one of the rules that ask."""
    answered = set((grant.answered or "").splitlines())
    return all(ask in answered for ask in asks)


def forced(text: str, tool_id: str) -> Rule | None:
    """Return a rule as an *allow* of one tool only, or None if it cannot be read.

    Fields alone, ``(path=src/**)``, are a rule too.
    """
    body = text.strip()
    exact = f"allow {rules.quote(rules.escape(tool_id))}"
    try:
        rule = rules.parse(exact + body if body.startswith("(") else body)
    except RuleSyntaxError:
        return None
    fields = ", ".join(map(str, rule.fields))
    if rule.verdict is Verdict.ALLOW and rule.exact_tool == tool_id:
        return rule
    return rules.parse(f"{exact}({fields})" if fields else exact)
