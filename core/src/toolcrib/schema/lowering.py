"""Write a normal form in the dialect that ``fastjsonschema`` compiles soundly.

That is draft 7 without annotations, formats and identifiers. What that library gets wrong,
or cannot compile, is said in another way:

* definitions are renamed ``d0, d1, …``, because it folds their names together;
* what stands beside ``$ref`` moves into ``allOf``, because it is ignored there;
* deep parts become definitions, because it nests one Python block in another;
* required keys that a closed object does not list stand apart, because it refuses them;
* patterns are written for Python, see :mod:`toolcrib.schema.patterns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .graph import target


__all__ = ["is_exact", "lower"]

Schema = dict[str, Any]

_DEEPEST = 3
_MOST_LISTED = 2_000
_MOST_COMPARED = 50
_COPIED = (
    "type",
    "enum",
    "const",
    "required",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_MISREAD = frozenset({"$ref", "$id", "id"})


def is_exact(schema: Schema) -> bool:
    """Tell whether the compiled form of one subschema would decide exactly.

    Objects among listed values may be read as references; fractional steps are divided
    with limited precision; counted or unevaluated parts are not known at all. Long lists
    of values become code that takes seconds to compile.
    """
    listed = [*schema.get("enum", ()), schema.get("const")]
    return (
        not _UNKNOWN & schema.keys()
        and len(listed) <= _MOST_LISTED
        and sum(isinstance(value, dict | list) for value in listed) <= _MOST_COMPARED
        and type(schema.get("multipleOf", 1)) is int
        and not any(map(_misread, listed))
    )


_UNKNOWN = frozenset(
    {"unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"}
)


def _misread(value: Any) -> bool:
    if isinstance(value, dict):
        return not _MISREAD.isdisjoint(value) or any(map(_misread, value.values()))
    return isinstance(value, list) and any(map(_misread, value))


def lower(root: Schema) -> Schema:
    """Return a new schema for ``fastjsonschema``."""
    lowering = _Lowering(root.get("$defs", {}))
    schema = lowering.write(root, 0)
    while lowering.waiting:
        name, node = lowering.waiting.pop()
        lowering.written[name] = lowering.write(node, 0)
    if lowering.written:
        schema["definitions"] = lowering.written
    return schema


class _Lowering:
    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.written: dict[str, Schema] = {}
        self.waiting: list[tuple[str, Schema]] = []
        self._names: dict[str, str] = {}
        self._count = 0

    def write(self, schema: Schema, depth: int) -> Schema:
        """Write one subschema."""
        name = target(schema)
        out: Schema = {}
        for key, value in schema.items():
            if key in _COPIED:
                out[key] = value
            elif key in _WRITERS:
                _WRITERS[key](self, out, value, depth)
        if "then" not in schema and "else" not in schema:
            out.pop("if", None)
        if "items" in schema and "prefixItems" in schema:
            out["additionalItems"] = self.part(schema["items"], depth)
        if "pattern" in schema:
            out["pattern"] = _python(schema["pattern"])
        if name is not None:
            reference = {"$ref": f"#/definitions/{self.reference(name)}"}
            return {"allOf": [reference, out]} if out else reference
        return _apart(out)

    def part(self, schema: Any, depth: int) -> Any:
        """Write a subschema, as a definition of its own where nesting gets deep."""
        if not isinstance(schema, dict) or target(schema) is not None:
            return schema if isinstance(schema, bool) else self.write(schema, depth)
        if depth < _DEEPEST or not any(map(schema.__contains__, _WRITERS)):
            return self.write(schema, depth + 1)
        return {"$ref": f"#/definitions/{self.enter(schema)}"}

    def reference(self, name: str) -> str:
        """Return the new name of a definition."""
        if name not in self._names:
            self._names[name] = self.enter(self.definitions[name])
        return self._names[name]

    def enter(self, schema: Schema) -> str:
        """Let a subschema be written as a definition."""
        name = f"d{self._count}"
        self._count += 1
        self.waiting.append((name, schema))
        return name


Writer = Callable[[_Lowering, Schema, Any, int], None]


def _one(key: str) -> Writer:
    def write(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
        built = lowering.part(value, depth)
        if built != {} or key in ("if", "not", "contains"):
            out[key] = built

    return write


def _many(key: str) -> Writer:
    def write(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
        out[key] = [lowering.part(child, depth) for child in value]

    return write


def _named(key: str) -> Writer:
    def write(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
        out[key] = {name: lowering.part(child, depth) for name, child in value.items()}

    return write


def _patterns(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
    # Two ways of writing one pattern become one; both schemas count then.
    written: Schema = {}
    for text, child in value.items():
        python = _python(text)
        built = lowering.part(child, depth)
        written[python] = {"allOf": [written[python], built]} if python in written else built
    out["patternProperties"] = written


def _python(pattern: str) -> str:
    from . import patterns  # noqa: PLC0415 - only schemas with patterns pay

    return patterns.read(pattern).python


def _dependent(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
    found = out.setdefault("dependencies", {})
    for name, child in value.items():
        built = list(child) if isinstance(child, list) else lowering.part(child, depth)
        if name in found:
            both = [_needs(found[name]), _needs(built)]
            found[name] = {"allOf": both}
        else:
            found[name] = built


def _needs(value: Any) -> Any:
    return {"required": value} if isinstance(value, list) else value


def _items(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
    # Beside a prefix these are the additional items, which are written at the end.
    if "items" not in out:
        out["items"] = lowering.part(value, depth)


def _prefix(lowering: _Lowering, out: Schema, value: Any, depth: int) -> None:
    out["items"] = [lowering.part(child, depth) for child in value]


_WRITERS: dict[str, Writer] = {
    "properties": _named("properties"),
    "patternProperties": _patterns,
    "additionalProperties": _one("additionalProperties"),
    "propertyNames": _one("propertyNames"),
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "prefixItems": _prefix,
    "items": _items,
    "contains": _one("contains"),
    "allOf": _many("allOf"),
    "anyOf": _many("anyOf"),
    "oneOf": _many("oneOf"),
    "not": _one("not"),
    "if": _one("if"),
    "then": _one("then"),
    "else": _one("else"),
}


def _apart(out: Schema) -> Schema:
    """Move required keys that a closed object does not list into a schema of their own."""
    if out.get("additionalProperties") is not False or "required" not in out:
        if out.get("additionalProperties") is True:
            del out["additionalProperties"]
        return out
    listed = out.get("properties", {})
    if all(name in listed for name in out["required"]):
        return out
    needed = out.pop("required")
    return {"allOf": [{"required": needed}, out]}
