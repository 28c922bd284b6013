"""What a schema may accept at a pointer: never less than it does accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from toolcrib.schema.graph import in_place, target
from toolcrib.schema.values import type_name


__all__ = ["Accepted", "Reader"]

Schema = dict[str, Any]

_JOINING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


@attrs.frozen
class Accepted:
    """JSON types, and the texts that are accepted; None: any text."""

    types: frozenset[str] = _TYPES
    texts: frozenset[str] | None = None

    def both(self, other: Accepted) -> Accepted:
        """Return what both accept."""
        if self.texts is None or other.texts is None:
            texts = other.texts if self.texts is None else self.texts
        else:
            texts = self.texts & other.texts
        return Accepted(self.types & other.types, texts)

    def either(self, other: Accepted) -> Accepted:
        """Return what one of both accepts."""
        mine = frozenset() if "string" not in self.types else self.texts
        theirs = frozenset() if "string" not in other.types else other.texts
        texts = None if mine is None or theirs is None else mine | theirs
        return Accepted(self.types | other.types, texts)


_ANYTHING = Accepted()
_NOTHING = Accepted(frozenset(), frozenset())
_ONE_TYPE = {name: Accepted(frozenset({name})) for name in _TYPES - {"number"}}
_ONE_TYPE["number"] = Accepted(frozenset({"integer", "number"}))


class Reader:
    """Read one normal form along pointers.

    Args:
        root: The normal form.
        matches: Tells whether a pattern is found in a text.
    """

    def __init__(self, root: Schema, matches: Any) -> None:
        self.root = root
        self._definitions: dict[str, Schema] = root.get("$defs", {})
        self._matches = matches

    def accepted(self, path: tuple[str | int, ...]) -> Accepted:
        """Return what may be accepted at a path."""
        schema = self.root
        for at, step in enumerate(path):
            # As a rule only one subschema has a say, and the way down is straight.
            if not _JOINING.isdisjoint(schema):
                return self._accepted(schema, path, at, {})
            child = self._child(schema, step)
            if child is None:
                return _ANYTHING
            if child is False:
                return _NOTHING
            schema = child
        return self._accepted(schema, path, len(path), {})

    def _accepted(
        self, schema: Schema, path: tuple[str | int, ...], at: int, known: dict[Any, Accepted]
    ) -> Accepted:
        key = (id(schema), at)
        found = known.get(key)
        if found is not None:
            return found
        if at == len(path):
            found = _own(schema)
        else:
            child = self._child(schema, path[at])
            if child is None:
                found = _ANYTHING
            else:
                found = (
                    _NOTHING if child is False else self._accepted(child, path, at + 1, known)
                )
        if "$ref" in schema or "allOf" in schema:
            for part in self._joined(schema):
                found = found.both(self._accepted(part, path, at, known))
        for listing in ("anyOf", "oneOf"):
            if listing in schema:
                union = _NOTHING
                for branch in schema[listing]:
                    union = union.either(self._accepted(branch, path, at, known))
                found = found.both(union)
        known[key] = found
        return found

    def _joined(self, schema: Schema) -> Iterator[Schema]:
        name = target(schema)
        if name is not None:
            yield self._definitions[name]
        yield from schema.get("allOf", ())

    def _child(self, schema: Schema, step: str | int) -> Any:
        """Return the subschema for one step; False if nothing is accepted, None if any."""
        if isinstance(step, int):
            prefix = schema.get("prefixItems", ())
            return prefix[step] if step < len(prefix) else schema.get("items")
        found = schema.get("properties", {}).get(step)
        if found is not None:
            return found
        for text, child in schema.get("patternProperties", {}).items():
            if self._matches(text, step):
                return child
        rest = schema.get("additionalProperties")
        return None if rest is True else rest

    def may_require(self, path: tuple[str | int, ...], name: str) -> bool:
        """Tell whether any subschema that looks at a path may require a key there."""
        nodes = self._closure([self.root])
        for step in path:
            children = [self._child(node, step) for node in nodes]
            nodes = self._closure([child for child in children if isinstance(child, dict)])
        return any(
            name in node.get("required", ())
            or any(name in needed for needed in node.get("dependentRequired", {}).values())
            for node in nodes
        )

    def _closure(self, waiting: list[Schema]) -> list[Schema]:
        found: dict[int, Schema] = {}
        while waiting:
            node = waiting.pop()
            if id(node) in found:
                continue
            found[id(node)] = node
            name = target(node)
            if name is not None:
                waiting.append(self._definitions[name])
            waiting.extend(in_place(node))
        return list(found.values())


def _own(schema: Schema) -> Accepted:
    kinds = schema.get("type")
    if isinstance(kinds, str) and "enum" not in schema and "const" not in schema:
        return _ONE_TYPE[kinds]
    if kinds == "string" and "const" not in schema:  # the commonest list by far
        words = frozenset(value for value in schema["enum"] if isinstance(value, str))
        if words:
            return Accepted(_ONE_TYPE[kinds].types, words)
    types = _TYPES if kinds is None else frozenset({kinds} if isinstance(kinds, str) else kinds)
    if "number" in types:
        types |= {"integer"}
    texts: frozenset[str] | None = None
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if listed is not None:
        types &= frozenset(map(type_name, listed)) | _wider(listed)
        texts = frozenset(value for value in listed if isinstance(value, str))
    return Accepted(types, texts)


def _wider(listed: list[Any]) -> frozenset[str]:
    """Integers and whole floats are equal in JSON, so either form is accepted."""
    numbers = any(type(value) in (int, float) for value in listed)
    return frozenset({"integer", "number"}) if numbers else frozenset()
