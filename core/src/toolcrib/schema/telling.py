"""Say what is wrong with a value, where the words need some thought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .nearness import nearest
from .pointers import escape
from .problem import MOST_ALLOWED, Problem
from .values import describe, shorten


if TYPE_CHECKING:
    from .judge import Judge


__all__ = ["expected_type", "unknown_property", "wrong_type"]

Schema = dict[str, Any]

_ARTICLES = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def expected_type(schema: Schema) -> str:
    """Say in words what type a schema wants."""
    kinds = schema["type"]
    names = [kinds] if isinstance(kinds, str) else kinds
    words = [_ARTICLES[name] for name in names]
    if names == ["array"] and isinstance(schema.get("items"), dict):
        inner = schema["items"].get("type")
        if isinstance(inner, str):
            words = [f"an array of {inner}s"]
    return " or ".join(words)


def wrong_type(schema: Schema, value: Any, pointer: str) -> Problem:
    """Say that a value has the wrong type."""
    hint = ""
    if isinstance(value, str) and ("array" in schema["type"] or "object" in schema["type"]):
        hint = "Send JSON, not text."
    sent = shorten(value) if not isinstance(value, str) else f"the string {shorten(value)}"
    expected = f"expected {expected_type(schema)}"
    return Problem(pointer, "type", expected, sent, hint=hint)


def unknown_property(judge: Judge, known: Any, name: str, value: Any, pointer: str) -> Problem:
    """Say that an object has no such property, and which it has."""
    where = f"{pointer}/{escape(name[:100])}"
    names = tuple(known)
    allowed = tuple(each[:60] for each in names[:MOST_ALLOWED])
    if len(names) > MOST_ALLOWED:
        allowed = (*allowed, f"and {len(names) - MOST_ALLOWED} more")
    close = None if judge.quiet else nearest(name, names[:200])
    hint = f"Did you mean {shorten(close)}?" if close else ""
    sent = describe(value)
    return Problem(where, "additionalProperties", "unknown property", sent, allowed, hint)
