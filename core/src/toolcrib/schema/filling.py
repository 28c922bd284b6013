"""Fill in the defaults that a schema declares, nested ones too.

What to fill is worked out once: a plan is a tree of the objects and arrays below which
there are defaults. Where alternatives stand, only the one that the value's type allows is
followed.
"""

from __future__ import annotations

import json

from typing import Any

from .graph import every, target
from .values import has_type, type_name


__all__ = ["Plan", "plan"]

Schema = dict[str, Any]

_DEEPEST = 64
_SCALARS = (str, int, float, bool, type(None))
# Beside one of these a filled key can make a valid object invalid.
_ENTANGLED = frozenset(
    {
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "propertyNames",
        "patternProperties",
        "not",
        "if",
        "oneOf",
        "anyOf",
        "allOf",
        "$ref",
        "const",
        "enum",
        "unevaluatedProperties",
    }
)


class Plan:
    """What to fill below one place.

    Attributes:
        defaults: Keys to add where they are missing: a scalar, or JSON text to read anew.
        inside: Plans of properties.
        every: The plan of all items, or of all other properties.
        branches: Plans of alternatives, each with the types that it is for.
        entangled: Whether a filled value must be judged again.
    """

    __slots__ = ("branches", "defaults", "entangled", "every", "inside")

    def __init__(self) -> None:
        self.defaults: list[tuple[str, Any, str | None]] = []
        self.inside: list[tuple[str, Plan]] = []
        self.every: Plan | None = None
        self.branches: list[tuple[str | list[str], Plan]] = []
        self.entangled = False

    def fill(self, value: Any) -> bool:
        """Fill a value in place; tell whether anything was added."""
        filled = False
        if isinstance(value, dict):
            for key, scalar, text in self.defaults:
                if key not in value:
                    value[key] = scalar if text is None else json.loads(text)
                    filled = True
            for key, plan_ in self.inside:
                if key in value:
                    filled |= plan_.fill(value[key])
        elif isinstance(value, list) and self.every is not None:
            for item in value:
                filled |= self.every.fill(item)
        if self.branches:
            filled |= self._branch(value)
        return filled

    def _branch(self, value: Any) -> bool:
        kind = type_name(value)
        fitting = [each for kinds, each in self.branches if has_type(value, kind, kinds)]
        return len(fitting) == 1 and fitting[0].fill(value)


def plan(root: Schema) -> Plan | None:
    """Work out what to fill; None if there are no defaults."""
    definitions = root.get("$defs", {})
    schemas = [root, *definitions.values()]
    if not any("default" in node for schema in schemas for node in every(schema)):
        return None
    planner = _Planner(definitions)
    made = planner.make(root, 0)
    if made is not None:
        made.entangled = planner.entangled
    return made


class _Planner:
    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.entangled = False
        self._made: dict[str, Plan] = {}

    def make(self, schema: Schema, depth: int) -> Plan | None:
        """Make the plan of one subschema; None if there is nothing to fill."""
        if depth > _DEEPEST:
            return None
        name = target(schema)
        if name is not None:
            return self.refer(name, depth)
        made = Plan()
        for key, child in schema.get("properties", {}).items():
            if "default" in child:
                made.defaults.append(_default(key, child["default"]))
            inner = self.make(child, depth + 1)
            if inner is not None:
                made.inside.append((key, inner))
        items = schema.get("items")
        if isinstance(items, dict) and "prefixItems" not in schema:
            made.every = self.make(items, depth + 1)
        self.branch(made, schema, depth)
        if made.defaults and not _ENTANGLED.isdisjoint(schema):
            self.entangled = True
        return made if made.defaults or made.inside or made.every or made.branches else None

    def branch(self, made: Plan, schema: Schema, depth: int) -> None:
        """Plan the alternatives of a subschema, each for its types."""
        children = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        plans = [self.make(child, depth + 1) for child in children]
        if any(each is not None for each in plans):
            self.entangled = True
            for child, each in zip(children, plans, strict=True):
                made.branches.append((self.types(child), each or Plan()))
        for child in schema.get("allOf", ()):
            inner = self.make(child, depth + 1)
            if inner is not None:
                self.entangled = True
                made.branches.append((self.types(child), inner))

    def types(self, schema: Schema) -> str | list[str]:
        """Return the types that a subschema takes; all of them where it says nothing."""
        name = target(schema)
        if name is not None and "type" not in schema:
            schema = self.definitions[name]
        kinds: str | list[str] = schema.get("type", list(_EVERY))
        return kinds

    def refer(self, name: str, depth: int) -> Plan | None:
        """Make the plan of a definition once; it may hold itself."""
        if name not in self._made:
            self._made[name] = holder = Plan()
            made = self.make(self.definitions[name], depth + 1)
            if made is not None:
                for field in ("defaults", "inside", "every", "branches"):
                    setattr(holder, field, getattr(made, field))
        return self._made[name]


_EVERY = ("object", "array", "string", "boolean", "number", "null")


def _default(key: str, value: Any) -> tuple[str, Any, str | None]:
    if isinstance(value, _SCALARS):
        return key, value, None
    return key, None, json.dumps(value)
