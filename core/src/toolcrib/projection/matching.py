"""Telling the branches of a union apart, by schema and by value.

Both look at the structural keywords alone: ``type enum const required properties
additionalProperties items prefixItems anyOf oneOf $ref``. The tool's own validator
decides whether a value is right; here it is only asked which branch it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .reading import json_type, same


__all__ = ["disjoint", "fits", "target"]

_ALL = frozenset({"null", "boolean", "string", "integer", "number", "object", "array"})
_DEEP = 24


def target(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow the references of a sent schema, a bounded number of times."""
    for _ in range(_DEEP):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        node: Any = root
        for token in schema["$ref"][1:].split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        schema = node
    return {}


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    kind = schema.get("type")
    if kind is None:
        if "const" in schema:
            return frozenset({json_type(schema["const"])})
        if "enum" in schema:
            return frozenset(map(json_type, schema["enum"]))
        return _ALL
    kinds = {kind} if isinstance(kind, str) else set(kind)
    if "number" in kinds:
        kinds.add("integer")
    if schema.get("nullable") is True:
        kinds.add("null")
    return frozenset(kinds)


def _members(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    members = schema.get("enum")
    if members is None or schema.get("nullable") is True:
        return None
    return list(members)


def disjoint(one: Any, other: Any, root: Mapping[str, Any], depth: int = 0) -> bool:
    """Tell whether no value fits both sent schemas; False when it cannot be shown."""
    one, other = target(one, root), target(other, root)
    if one is False or other is False:
        return True
    if depth > _DEEP or not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    for left, right in ((one, other), (other, one)):
        branches = left.get("anyOf") or left.get("oneOf")
        if left.get("nullable") is True and "null" in _types(right):
            continue
        if branches and all(disjoint(each, right, root, depth + 1) for each in branches):
            return True
    shared = _types(one) & _types(other)
    if not shared:
        return True
    first, second = _members(one), _members(other)
    if first is not None and second is not None:
        return not any(same(a, b) for a in first for b in second)
    return shared == {"object"} and _objects_differ(one, other, root, depth)


def _objects_differ(
    one: Mapping[str, Any], other: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> bool:
    for left, right in ((one, other), (other, one)):
        properties = right.get("properties") or {}
        needed = right.get("required") or ()
        for name in left.get("required") or ():
            if name not in properties:
                if right.get("additionalProperties") is False:
                    return True
            elif name in needed:
                mine = (left.get("properties") or {}).get(name, {})
                if disjoint(mine, properties[name], root, depth + 1):
                    return True
    return False


def fits(schema: Any, value: Any, root: Mapping[str, Any], depth: int = 0) -> bool:
    """Tell whether a value has the shape of a sent schema."""
    schema = target(schema, root)
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping) or depth > 4 * _DEEP:
        return True
    if value is None and schema.get("nullable") is True:
        return True
    kind = json_type(value)
    if kind not in _types(schema):
        return False
    members = _members(schema)
    if members is not None and not any(same(value, member) for member in members):
        return False
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if branches and not any(fits(each, value, root, depth + 1) for each in branches):
            return False
    if kind == "object":
        return _object_fits(schema, value, root, depth)
    if kind == "array":
        prefix = schema.get("prefixItems") or ()
        rest = schema.get("items", True)
        return all(
            fits(prefix[i] if i < len(prefix) else rest, each, root, depth + 1)
            for i, each in enumerate(value)
        )
    return True


def _object_fits(
    schema: Mapping[str, Any], value: Mapping[str, Any], root: Mapping[str, Any], depth: int
) -> bool:
    if any(name not in value for name in schema.get("required") or ()):
        return False
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties", True)
    if "patternProperties" in schema:
        extra = True
    return all(
        fits(properties.get(name, extra), each, root, depth + 1) for name, each in value.items()
    )
