# ruff: noqa: ARG001 - every keyword's function has one signature
"""One function for each keyword that looks at types, sizes, numbers, names and items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .nearness import nearest
from .pointers import escape
from .problem import MOST_ALLOWED, Problem
from .telling import expected_type, unknown_property
from .values import identity, shorten


if TYPE_CHECKING:
    from .judge import Judge


__all__ = [
    "BOUNDS",
    "additional",
    "bound",
    "const",
    "contains",
    "dependent_required",
    "dependent_schemas",
    "enum",
    "items",
    "multiple",
    "pattern",
    "pattern_properties",
    "prefix_items",
    "properties",
    "property_names",
    "required",
    "size",
    "unique",
]

Schema = dict[str, Any]

_SIZES = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
}
BOUNDS = {
    "minimum": "a number from {}",
    "maximum": "a number up to {}",
    "exclusiveMinimum": "a number greater than {}",
    "exclusiveMaximum": "a number less than {}",
}


def enum(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``enum``: the value is one of those listed."""
    if judge.listed(schema, value):
        return
    allowed = tuple(shorten(each, 60) for each in schema["enum"][:MOST_ALLOWED])
    more = len(schema["enum"]) - len(allowed)
    if more > 0:
        allowed = (*allowed, f"and {more} more")
    hint = ""
    if isinstance(value, str) and not judge.quiet:
        known = [each for each in schema["enum"] if isinstance(each, str)]
        close = nearest(value, known[:200])
        hint = f"Did you mean {shorten(close)}?" if close else ""
    yield Problem(pointer, "enum", "not one of the values", shorten(value), allowed, hint)


def const(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``const``: the value is the one given."""
    if identity(value) != identity(schema["const"]):
        yield Problem(
            pointer, "const", f"expected {shorten(schema['const'], 60)}", shorten(value)
        )


def bound(
    judge: Judge, schema: Schema, value: Any, pointer: str, *, key: str
) -> Iterator[Problem]:
    """``minimum`` and its kind."""
    limit = schema[key]
    if _breaks(key, value, limit):
        yield Problem(pointer, key, f"expected {BOUNDS[key].format(limit)}", shorten(value))


def _breaks(key: str, value: float, limit: float) -> bool:
    if key == "minimum":
        return value < limit
    if key == "maximum":
        return value > limit
    return value <= limit if key == "exclusiveMinimum" else value >= limit


def multiple(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``multipleOf``, exactly: decimal text is what the author and the model wrote."""
    step = schema["multipleOf"]
    if isinstance(value, int) and isinstance(step, int):
        fits = value % step == 0
    else:
        from fractions import Fraction  # noqa: PLC0415 - rare, and 4 ms to import

        fits = Fraction(repr(value)) % Fraction(repr(step)) == 0
    if not fits:
        yield Problem(pointer, "multipleOf", f"expected a multiple of {step}", shorten(value))


def size(
    judge: Judge, schema: Schema, value: Any, pointer: str, *, key: str
) -> Iterator[Problem]:
    """``minLength`` and its kind."""
    limit, found = schema[key], len(value)
    if found < limit if key.startswith("min") else found > limit:
        yield Problem(pointer, key, f"expected {_SIZES[key].format(limit)}", str(found))


def pattern(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``pattern``: the text matches somewhere; text over the limit is not tried."""
    if len(value) > schema.get("maxLength", len(value)):
        return
    if not judge.pattern(schema["pattern"]).search(value):
        expected = f"expected text that matches {shorten(schema['pattern'], 80)}"
        yield Problem(pointer, "pattern", expected, shorten(value))


def unique(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``uniqueItems``: no two items are equal."""
    seen: dict[Any, int] = {}
    for number, item in enumerate(value):
        first = seen.setdefault(identity(item), number)
        if first != number:
            where = f"items {first} and {number} are equal"
            yield Problem(pointer, "uniqueItems", f"expected unique items: {where}")
            return


def prefix_items(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``prefixItems``: the first items, each by its own schema."""
    for number, (child, item) in enumerate(zip(schema["prefixItems"], value, strict=False)):
        yield from judge.part(child, item, f"{pointer}/{number}")


def items(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``items``: all items after the prefix."""
    child = schema["items"]
    start = len(schema.get("prefixItems", ()))
    if child is False:
        if len(value) > start:
            yield Problem(pointer, "items", f"expected at most {start} items", str(len(value)))
        return
    plain = judge.plain(child)
    for number in range(start, len(value)):
        item = value[number]
        if type(item) not in plain:
            yield from judge.part(child, item, f"{pointer}/{number}")


def contains(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``contains``, with how often."""
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    found = sum(1 for item in value if judge.accepts(schema["contains"], item))
    if found < least:
        expected = f"expected at least {least} item(s) of the kind that it must contain"
        yield Problem(pointer, "contains", expected, str(found))
    if most is not None and found > most:
        expected = f"expected at most {most} item(s) of the kind that it may contain"
        yield Problem(pointer, "maxContains", expected, str(found))


def required(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``required``: these keys are there."""
    for name in schema["required"]:
        if name not in value:
            child = schema.get("properties", {}).get(name, {})
            kind = f" ({expected_type(child)})" if "type" in child else ""
            yield Problem(f"{pointer}/{escape(name)}", "required", f"missing{kind}")


def properties(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``properties``: each key that is there, by its own schema."""
    known = schema["properties"]
    for name, item in value.items():
        child = known.get(name)
        if child and type(item) not in judge.plain(child):
            where = f"{pointer}/{escape(name)}"
            if isinstance(item, dict | list):
                yield from judge.part(child, item, where)
            else:
                yield from judge.walk(child, item, where)


def pattern_properties(
    judge: Judge, schema: Schema, value: Any, pointer: str
) -> Iterator[Problem]:
    """``patternProperties``: keys that match, by the schema of their pattern."""
    longest = schema.get("propertyNames", {}).get("maxLength")
    for text, child in schema["patternProperties"].items():
        compiled = judge.pattern(text)
        for name, item in value.items():
            if (longest is None or len(name) <= longest) and compiled.search(name):
                yield from judge.part(child, item, f"{pointer}/{escape(name)}")


def additional(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``additionalProperties``: the keys that nothing beside it names."""
    child = schema["additionalProperties"]
    known = schema.get("properties", {})
    if child is True or value.keys() <= known.keys():
        return
    compiled = [judge.pattern(text) for text in schema.get("patternProperties", ())]
    longest = schema.get("propertyNames", {}).get("maxLength")
    for name, item in value.items():
        short = longest is None or len(name) <= longest
        if name in known or (short and any(each.search(name) for each in compiled)):
            continue
        if child is False:
            yield unknown_property(judge, known, name, item, pointer)
        else:
            yield from judge.part(child, item, f"{pointer}/{escape(name)}")


def property_names(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``propertyNames``: each key, as text, by one schema."""
    child = schema["propertyNames"]
    for name in value:
        if judge.accepts(child, name):
            continue
        if "enum" in child:
            known = [each for each in child["enum"] if isinstance(each, str)]
            yield unknown_property(judge, known, name, value[name], pointer)
        else:
            why = next(judge.walk(child, name, ""), None)
            expected = f"bad property name: {why.expected if why else ''}"
            where = f"{pointer}/{escape(name[:100])}"
            yield Problem(where, "propertyNames", expected, shorten(name))


def dependent_required(
    judge: Judge, schema: Schema, value: Any, pointer: str
) -> Iterator[Problem]:
    """``dependentRequired``: a key that is there needs others."""
    for name, needed in schema["dependentRequired"].items():
        if name in value:
            for each in needed:
                if each not in value:
                    expected = f"missing; it goes with {shorten(name)}"
                    yield Problem(f"{pointer}/{escape(each)}", "dependentRequired", expected)


def dependent_schemas(
    judge: Judge, schema: Schema, value: Any, pointer: str
) -> Iterator[Problem]:
    """``dependentSchemas``: a key that is there puts conditions on the object."""
    for name, child in schema["dependentSchemas"].items():
        if name in value:
            yield from judge.again(child, value, pointer)
