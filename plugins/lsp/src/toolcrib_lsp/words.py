"""Numbers of the protocol in words."""

from __future__ import annotations


__all__ = ["SYMBOL_KINDS", "severity", "symbol_kind"]

# By number, from 1; that they are the protocol's is a test's business.
SYMBOL_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field"),
    *("constructor", "enum", "interface", "function", "variable", "constant", "string"),
    *("number", "boolean", "array", "object", "key", "null", "enum member", "struct"),
    *("event", "operator", "type parameter"),
)
_SEVERITIES = ("error", "warning", "information", "hint")


def symbol_kind(number: object) -> str:
    """Return the word for a symbol's kind."""
    if isinstance(number, int) and 1 <= number <= len(SYMBOL_KINDS):
        return SYMBOL_KINDS[number - 1]
    return "symbol"


def severity(number: object) -> str:
    """Return the word for how bad something is; servers may leave it to us."""
    if isinstance(number, int) and 1 <= number <= len(_SEVERITIES):
        return _SEVERITIES[number - 1]
    return "error"
