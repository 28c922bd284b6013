"""Decide on a call: may it run, must a person be asked, or is it refused?

The stage is :func:`authorize`. All of it is pure: it reads no clock and no file, and
apart from resolving paths it looks at nothing but its arguments.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .context import AuthorityContext, Protected
from .decisions import apply_decision, binding, covers_call, decide
from .grants import GrantView
from .part import Part
from .ruleset import RuleSet
from .stage import Asked, authorize, touched
from .typed import core_resources


if TYPE_CHECKING:
    from .barring import Barrier
    from .explanation import Explanation, explain
    from .importing import Imported, carry_over
    from .linter import Finding, lint
    from .reviews import Review, reviewed
    from .suggestions import Suggestion, Use, offer, suggest
    from .trial import Difference, shadow


__all__ = [
    "Asked",
    "AuthorityContext",
    "Barrier",
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
    "touched",
]

# What most calls never need is loaded when it is first asked for.
_LATER = {
    "Barrier": "barring",
    "Difference": "trial",
    "Explanation": "explanation",
    "Finding": "linter",
    "Imported": "importing",
    "Review": "reviews",
    "Suggestion": "suggestions",
    "Use": "suggestions",
    "carry_over": "importing",
    "explain": "explanation",
    "lint": "linter",
    "offer": "suggestions",
    "reviewed": "reviews",
    "shadow": "trial",
    "suggest": "suggestions",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = import_module(f"{__name__}.{_LATER[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
