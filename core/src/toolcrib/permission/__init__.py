"""Decide on a call: may it run, must a person be asked, or is it refused?

The stage is :func:`authorize`. All of it is pure: it reads no clock and no file, and
apart from resolving paths it looks at nothing but its arguments.
"""

from __future__ import annotations

from .context import AuthorityContext, Protected
from .decisions import apply_decision, binding, covers_call, decide
from .explain import Explanation, explain
from .grants import GrantView
from .importing import Imported, carry_over
from .lint import Finding, lint
from .parts import Part
from .reviews import Review, reviewed
from .ruleset import RuleSet
from .shadow import Difference, shadow
from .stage import Asked, authorize
from .suggest import Suggestion, Use, offer, suggest
from .typed import core_resources


__all__ = [
    "Asked",
    "AuthorityContext",
    "Difference",
    "Explanation",
    "Finding",
    "GrantView",
    "Imported",
    "Part",
    "Protected",
    "Review",
    "RuleSet",
    "Suggestion",
    "Use",
    "apply_decision",
    "authorize",
    "binding",
    "carry_over",
    "core_resources",
    "covers_call",
    "decide",
    "explain",
    "lint",
    "offer",
    "reviewed",
    "shadow",
    "suggest",
]
