"""Decide on a call: may it run, must a person be asked, or is it refused?

The stage is :func:`authorize`. All of it is pure: it reads no clock and no file, and
apart from resolving paths it looks at nothing but its arguments.
"""

from __future__ import annotations

from .context import AuthorityContext, Protected
from .decisions import apply_decision, binding, covers_call, decide
from .grants import GrantView
from .parts import Part, core_resources
from .reviews import Review, reviewed
from .ruleset import RuleSet
from .stage import Asked, authorize
from .suggest import Suggestion, Use, offer, suggest


__all__ = [
    "Asked",
    "AuthorityContext",
    "GrantView",
    "Part",
    "Protected",
    "Review",
    "RuleSet",
    "Suggestion",
    "Use",
    "apply_decision",
    "authorize",
    "binding",
    "core_resources",
    "covers_call",
    "decide",
    "offer",
    "reviewed",
    "suggest",
]
