"""The closing rule: unknown keys of an object that lists its properties are refused.

JSON Schema accepts any further key of an object that says nothing about others. Authors
of tools mean the opposite, and a misspelt argument must not be dropped in silence. So an
object that has ``properties``, and says nothing about other keys, is closed: with
``additionalProperties: false`` or, where several subschemas share the object, with the
names that any of them lists. The rule can only refuse more, never less: below ``not``,
``if``, ``oneOf`` and ``contains``, where refusing could mean accepting, nothing is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolcrib.errors import SchemaError

from .graph import every, in_place, reachable, target
from .pointers import escape


__all__ = ["close"]

Schema = dict[str, Any]

# Whoever uses one of these has spoken about other keys.
_SPEAKS = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames"}
)
_SAYS_NOTHING = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_MOST_STEPS = 100_000


def close(root: Schema) -> tuple[str, ...]:
    """Close the objects of a normal form, in place, and return their pointers."""
    closing = _Closing(root.get("$defs", {}))
    if closing.definitions:
        body = {key: value for key, value in root.items() if key != "$defs"}
        closing.survey([body, *closing.definitions.values()])
    closing.visit(root, "")
    closing.finish()
    return tuple(pointer for _, pointer, _ in closing.found)


class _Closing:
    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.found: list[tuple[Schema, str, list[str] | None]] = []
        self._joined: set[str] = set()
        self._unsafe: set[str] = set()
        self._seen: set[int] = set()
        self._steps = 0

    def survey(self, schemas: Iterable[Schema]) -> None:
        """Find the definitions that share a value, or that an unsafe place uses."""
        leads = {name: _targets(every(schema)) for name, schema in self.definitions.items()}
        for schema in schemas:
            for node in every(schema):
                name = target(node)
                if name is not None and not node.keys() <= _SAYS_NOTHING | {"$ref"}:
                    self._joined.add(name)
                self._joined.update(_targets(in_place(node)))
                for inner in _unsafe_parts(node):
                    self._unsafe.update(_targets(every(inner)))
        for unsafe in tuple(self._unsafe):
            self._unsafe |= reachable(leads, unsafe)

    def visit(self, schema: Schema, pointer: str) -> None:
        """Close the object at one place, and go on to its parts."""
        if id(schema) in self._seen:
            return
        self._seen.add(id(schema))
        name = target(schema)
        alone = schema.keys() <= _SAYS_NOTHING | {"$ref"}
        if name is not None and alone and name not in self._joined | self._unsafe:
            self.visit(self.definitions[name], f"/$defs/{escape(name)}")
            return
        parts = list(self._parts(schema, pointer, set()))
        if not any(part.keys() & _SPEAKS for part, _ in parts):
            self._note(schema, pointer, [part for part, _ in parts])
        for part, where in parts:
            if where is not None:
                self._descend(part, where)

    def finish(self) -> None:
        """Write what was found; until now the walk had to see who had spoken."""
        for schema, _, names in self.found:
            if names is None:
                schema["additionalProperties"] = False
            else:
                schema["propertyNames"] = {"enum": names}

    def _note(self, schema: Schema, pointer: str, parts: list[Schema]) -> None:
        names = [name for part in parts for name in part.get("properties", ())]
        if not names or any(self._takes_maps(part) for part in parts):
            return
        alone = len(parts) == 1
        self.found.append((schema, pointer, None if alone else list(dict.fromkeys(names))))

    def _takes_maps(self, part: Schema) -> bool:
        """Whether an alternative takes objects without saying which keys."""
        for key in ("anyOf", "oneOf"):
            for branch in part.get(key, ()):
                inner = [each for each, _ in self._parts(branch, "", set())]
                listed = any(each.get("properties") for each in inner)
                if not listed and any("object" in _types(each) for each in inner):
                    return True
        return False

    def _parts(
        self, schema: Schema, pointer: str | None, seen: set[str]
    ) -> Iterator[tuple[Schema, str | None]]:
        """Yield every subschema of one value, with its pointer where it may be closed."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            text = "The schema is too entangled"
            raise SchemaError(text, keyword="$ref", pointer=pointer or "")
        yield schema, pointer
        name = target(schema)
        if name is not None and name not in seen:
            seen.add(name)
            safe = pointer is not None and name not in self._unsafe
            inner = f"/$defs/{escape(name)}" if safe else None
            yield from self._parts(self.definitions[name], inner, seen)
        for key in ("allOf", "anyOf", "oneOf"):
            for number, branch in enumerate(schema.get(key, ())):
                safe = pointer is not None and key != "oneOf"
                yield from self._parts(
                    branch, f"{pointer}/{key}/{number}" if safe else None, seen
                )
        for key in ("if", "then", "else"):
            if key in schema:
                safe = pointer is not None and key != "if"
                yield from self._parts(schema[key], f"{pointer}/{key}" if safe else None, seen)
        for key, branch in schema.get("dependentSchemas", {}).items():
            where = f"{pointer}/dependentSchemas/{escape(key)}" if pointer is not None else None
            yield from self._parts(branch, where, seen)

    def _descend(self, part: Schema, pointer: str) -> None:
        for key in ("properties", "patternProperties"):
            for name, child in part.get(key, {}).items():
                self.visit(child, f"{pointer}/{key}/{escape(name)}")
        for number, child in enumerate(part.get("prefixItems", ())):
            self.visit(child, f"{pointer}/prefixItems/{number}")
        for key in ("items", "additionalProperties"):
            child = part.get(key)
            if isinstance(child, dict):
                self.visit(child, f"{pointer}/{key}")


def _targets(schemas: Iterable[Schema]) -> set[str]:
    """Return the definitions that some subschemas refer to."""
    return {name for schema in schemas if (name := target(schema)) is not None}


def _types(schema: Schema) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _unsafe_parts(schema: Schema) -> Iterator[Schema]:
    """Yield the subschemas of which refusing more could mean accepting more."""
    yield from schema.get("oneOf", ())
    for key in ("not", "if", "contains"):
        if key in schema:
            yield schema[key]
