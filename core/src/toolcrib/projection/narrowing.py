"""Forms that accept a closed list of keywords: rebuild the schema from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .facts import Profile
from .leaves import OF_SCALARS
from .lists import array
from .losses import ROOT, Unfit
from .objects import obj
from .reading import modern
from .rewritten import Rewritten
from .roots import root
from .scalars import SCALARS, listed_types, scalar, untyped, values
from .unions import conjunction, union
from .walk import Node, Walk


__all__ = ["narrow"]

# Lists with these keywords are the same in every draft, but for tuples.
_OF_LISTS = frozenset({"type", "items", "minItems", "maxItems", "title", "description"})
_COMBINED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "enum", "const"})
_KINDS = SCALARS | {"null", "object", "array"}


def narrow(schema: Mapping[str, Any], profile: Profile) -> Rewritten:
    """Say a schema in a form that accepts a closed list of keywords.

    Raises:
        Unfit: the form cannot say it without losing a value.
    """
    walk = Walk(schema, profile, visit)
    node = root(walk)
    node.pop("$defs", None)
    if walk.wrapper is None:
        wire, step = obj(walk, node, "")
    else:
        inner, step = _dispatch(walk, node, f"/properties/{walk.wrapper}")
        wire = {"type": "object", "properties": {walk.wrapper: inner}}
        wire["required"] = [walk.wrapper]
        if profile.closed:
            wire["additionalProperties"] = False
    _check_limits(walk)
    return walk.finish(wire, step)


def visit(walk: Walk, schema: Any, at: str) -> Node:
    """Rewrite one schema."""
    if schema.__class__ is dict:
        return _plainly(walk, schema, at) or _dispatch(walk, modern(schema, at), at)
    if isinstance(schema, bool):
        if schema:
            return untyped(walk, {}, at)
        raise Unfit(at, "false", "a schema that accepts nothing")
    if not isinstance(schema, Mapping):
        raise Unfit(at, "type", f"a schema is an object or a boolean, not {schema!r:.80}")
    return _dispatch(walk, modern(schema, at), at)


def _plainly(walk: Walk, schema: dict[str, Any], at: str) -> Node | None:
    """Rewrite a scalar or a list that reads the same in every draft; None for all else."""
    kind = schema.get("type")
    if kind.__class__ is str and kind in SCALARS:
        if schema.keys() <= walk.profile.simple:
            return dict(schema), None
        if schema.keys() <= OF_SCALARS:
            return (values if "enum" in schema else scalar)(walk, schema, at)
    elif kind == "array" and schema.keys() <= _OF_LISTS and not _is_tuple(schema):
        walk.count(at)
        return array(walk, schema, at)
    return None


def _is_tuple(schema: dict[str, Any]) -> bool:
    # As drafts before 2020-12 wrote one.
    return schema.get("items").__class__ is list


def _dispatch(walk: Walk, node: dict[str, Any], at: str) -> Node:
    walk.count(at)
    if not node.keys().isdisjoint(_COMBINED):
        return _combined(walk, node, at)
    kind = node.get("type")
    if kind is None:
        return _without_type(walk, node, at)
    if kind == "object":
        return obj(walk, node, at)
    if kind == "array":
        return array(walk, node, at)
    if isinstance(kind, list):
        return listed_types(walk, node, at)
    if kind not in _KINDS:
        raise Unfit(at, "type", f"no such type: {kind!r}")
    return scalar(walk, node, at)


def _combined(walk: Walk, node: dict[str, Any], at: str) -> Node:
    if "$ref" in node:
        return walk.reference(node, at)
    if "allOf" in node:
        return conjunction(walk, node, at)
    if "anyOf" in node or "oneOf" in node:
        return union(walk, node, at)
    return values(walk, node, at)


def _without_type(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a node that does not say its type, but may give it away."""
    if not walk.profile.strict and ("properties" in node or "prefixItems" in node):
        # Whoever lists properties means an object; the tool's schema decides anyway.
        kind = "object" if "properties" in node else "array"
        walk.lose(at, "type", "widened", f"taken for {kind}")
        return _dispatch(walk, {**node, "type": kind}, at)
    return untyped(walk, node, at)


# What a walk counts: which keyword makes it, and how it is said.
_LIMITED = {
    "properties": ("properties", "properties"),
    "enum_values": ("enum", "enum members"),
    "characters": ("properties", "characters of names and members"),
    "optional": ("required", "properties that may be left out"),
    "unions": ("anyOf", "parameters of several types"),
}


def _check_limits(walk: Walk) -> None:
    for counted, most in walk.profile.limits.counted:
        used = getattr(walk, counted)
        if used > most:
            keyword, what = _LIMITED[counted]
            raise Unfit(ROOT, keyword, f"{used} {what}, at most {most} are accepted")
