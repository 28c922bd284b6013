"""``unevaluatedProperties`` and ``unevaluatedItems``: what no other keyword looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .graph import target
from .problem import Problem
from .telling import unknown_property


if TYPE_CHECKING:
    from .judge import Judge


__all__ = ["items", "properties"]

Schema = dict[str, Any]


def properties(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """Judge the properties that nothing beside this keyword looked at."""
    child = schema["unevaluatedProperties"]
    if child is True:
        return
    seen: set[str] = set()
    for part in _counting(judge, schema, value, set()):
        seen |= _names(judge, part, value, own=part is schema)
    for name in value:
        if name in seen:
            continue
        if child is False:
            yield unknown_property(judge, (), name, value[name], pointer)
        else:
            yield from judge.part(child, value[name], f"{pointer}/{name}")


def _names(judge: Judge, part: Schema, value: Any, *, own: bool) -> set[str]:
    if "additionalProperties" in part or ("unevaluatedProperties" in part and not own):
        return set(value)
    known: set[str] = part.get("properties", {}).keys() & value.keys()
    for text in part.get("patternProperties", ()):
        known |= {name for name in value if judge.pattern(text).search(name)}
    return known


def items(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """Judge the items that nothing beside this keyword looked at."""
    child = schema["unevaluatedItems"]
    if child is True:
        return
    seen: set[int] = set()
    for part in _counting(judge, schema, value, set()):
        seen |= _indices(judge, part, value, own=part is schema)
    for number, item in enumerate(value):
        if number in seen:
            continue
        if child is False:
            yield Problem(f"{pointer}/{number}", "unevaluatedItems", "unknown item")
        else:
            yield from judge.part(child, item, f"{pointer}/{number}")


def _indices(judge: Judge, part: Schema, value: Any, *, own: bool) -> set[int]:
    if "items" in part or ("unevaluatedItems" in part and not own):
        return set(range(len(value)))
    known = set(range(min(len(part.get("prefixItems", ())), len(value))))
    if "contains" in part:
        known |= {
            number for number, item in enumerate(value) if judge.accepts(part["contains"], item)
        }
    return known


def _counting(judge: Judge, schema: Schema, value: Any, seen: set[int]) -> Iterator[Schema]:
    """Yield the subschemas of one value that accept it, so that what they saw counts."""
    if id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    for part in _applying(judge, schema, value):
        yield from _counting(judge, part, value, seen)


def _applying(judge: Judge, schema: Schema, value: Any) -> Iterator[Schema]:
    """Yield the direct subschemas of one value that apply to it and accept it."""
    name = target(schema)
    if name is not None:
        yield judge.definitions[name]
    yield from schema.get("allOf", ())
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if judge.accepts(branch, value):
            yield branch
    if "if" in schema:
        chosen = judge.accepts(schema["if"], value)
        if chosen:
            yield schema["if"]
        yield schema.get("then" if chosen else "else", {})
    for key, branch in schema.get("dependentSchemas", {}).items():
        if isinstance(value, dict) and key in value:
            yield branch
