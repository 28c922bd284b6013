"""Constraints, single values and lists of types, for a form that is rebuilt."""

from __future__ import annotations

import json
import math
import re

from collections.abc import Mapping
from typing import Any

from .facts import ANNOTATIONS, STRUCTURE
from .inverse import Step
from .losses import Unfit, fold, in_words
from .reading import ATOMS, copied, json_type, same
from .walk import Node, Walk


__all__ = [
    "SCALARS",
    "carry",
    "finished",
    "listed_types",
    "or_null",
    "scalar",
    "texts",
    "untyped",
    "values",
]

SCALARS = frozenset({"string", "integer", "number", "boolean"})

# Look-around, back-references, named groups, and word boundaries.
_FANCY = re.compile(r"\(\?[=!<P(#aiLmsux-]|\\[1-9]|\\[bBkAZ]")
_MOST_MEMBERS = 1_000
_SAMPLE = 10
_TEXT = frozenset({str})

_FOR_TYPE: Mapping[str, frozenset[str]] = {
    "string": frozenset(
        {"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}
    ),
    "number": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    ),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}
        | {"minContains", "maxContains", "unevaluatedItems"}
    ),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties"}
        | {"minProperties", "maxProperties", "propertyNames", "dependentRequired"}
        | {"dependentSchemas", "unevaluatedProperties", "if", "then", "else"}
    ),
}


def carry(
    walk: Walk, node: Mapping[str, Any], at: str, kind: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copy what may be sent of a node's constraints and annotations; return the rest."""
    wire: dict[str, Any] = {}
    folded: dict[str, Any] = {}
    if node.keys() <= STRUCTURE:
        return wire, folded
    fates = walk.profile.fates
    for keyword, value in node.items():
        fate = fates.get(keyword)
        if fate == "quiet":
            continue
        if fate == "send" or (fate == "look" and _may_send(walk, keyword, value)):
            wire[keyword] = value if value.__class__ in ATOMS else copied(value)
        elif fate == "fold":
            if value is not None or keyword != "default":
                folded[keyword] = value
        elif keyword.startswith("exclusiveM") and walk.profile.inclusive:
            _inclusive(keyword, value, kind, wire, folded)
            if keyword in folded:
                walk.lose(at, keyword, "folded")
        elif keyword not in ("then", "else") or "if" in node:
            folded[keyword] = value
            walk.lose(at, keyword, "folded")
    return wire, folded


def _may_send(walk: Walk, keyword: str, value: Any) -> bool:
    profile = walk.profile
    if keyword == "format":
        return profile.formats is None or value in profile.formats
    if keyword == "pattern":
        return not profile.plain_patterns or _FANCY.search(str(value)) is None
    if keyword == "minItems" and profile.most_min_items is not None:
        return bool(value <= profile.most_min_items)
    return True


def _inclusive(
    keyword: str,
    value: float,
    kind: str | None,
    wire: dict[str, Any],
    folded: dict[str, Any],
) -> None:
    """Say an exclusive bound as an inclusive one: exact for integers, wider otherwise."""
    low = keyword == "exclusiveMinimum"
    bound = "minimum" if low else "maximum"
    if kind == "integer":
        value = math.floor(value) + 1 if low else math.ceil(value) - 1
    else:
        folded[keyword] = value
    old = wire.get(bound)
    wire[bound] = value if old is None else (max if low else min)(old, value)


def finished(wire: dict[str, Any], folded: Mapping[str, Any], *more: str) -> None:
    """Fold what is left into the description."""
    if folded or more:
        fold(wire, *more, *in_words(folded))


def scalar(walk: Walk, node: Mapping[str, Any], at: str) -> Node:
    """Rewrite a node of one scalar type."""
    kind = node["type"]
    wire, folded = carry(walk, node, at, kind)
    if kind == "null":
        wire.pop("default", None)
        folded.pop("default", None)
        return _null(walk, wire, folded), None
    finished(wire, folded)
    return {"type": kind, **wire}, None


def _null(walk: Walk, wire: dict[str, Any], folded: Mapping[str, Any]) -> dict[str, Any]:
    if not walk.profile.nullable:
        finished(wire, folded)
        return {"type": "null", **wire}
    finished(wire, {**folded, "const": None})
    return {"type": "string", "nullable": True, **wire}


def untyped(walk: Walk, node: Mapping[str, Any], at: str) -> Node:
    """Rewrite a node that says nothing about its type."""
    if not walk.profile.untyped:
        raise Unfit(at, "type", "untyped value")
    wire, folded = carry(walk, node, at)
    finished(wire, folded)
    return wire, None


# -- enum and const ----------------------------------------------------------------


def values(walk: Walk, node: Mapping[str, Any], at: str) -> Node:
    """Rewrite ``enum`` and ``const`` to enums of the types that may be sent."""
    declared = node.get("type")
    members = [node["const"]] if "const" in node else node["enum"]
    if declared == "string" and texts(walk, members):
        wire, folded = carry(walk, node, at)
        finished(wire, folded)
        return {"type": "string", "enum": list(members), **wire}, None
    if declared is not None:
        kinds = [declared] if isinstance(declared, str) else declared
        members = [m for m in members if _is_of(json_type(m), kinds)]
    groups = _grouped(members)
    if not groups:
        raise Unfit(at, "enum", "no member of the enum has the type that is asked for")
    if "object" in groups or "array" in groups:
        return _structured_values(walk, node, members, at)
    rest = {k: v for k, v in node.items() if k in ANNOTATIONS}
    wire, folded = carry(walk, rest, at)
    _count_members(walk, members)
    said, words = _said(walk, groups, members, at)
    if len(words) == 1 and "description" in said:
        del said["description"]
        finished(wire, folded, words[0])
        return {**said, **wire}, None
    finished(wire, folded)
    return {**said, **wire}, None


def _structured_values(
    walk: Walk, node: Mapping[str, Any], members: list[Any], at: str
) -> Node:
    """Say an enum of objects or lists in words, where anything may be sent."""
    if not walk.profile.untyped:
        raise Unfit(at, "enum", "untyped value: the enum holds objects or lists")
    bare = {k: v for k, v in node.items() if k not in ("enum", "const", "type")}
    wire, _ = carry(walk, bare, at)
    walk.lose(at, "enum", "folded")
    fold(wire, *in_words({"enum": members}))
    return wire, None


def texts(walk: Walk, members: Any) -> bool:
    """Tell whether an enum is one of texts that is sent as it is, the commonest; count it."""
    if not 0 < len(members) <= _MOST_MEMBERS or not _TEXT.issuperset(map(type, members)):
        return False
    if "string" not in walk.profile.enum_types:
        return False
    if walk.profile.limits.enum_values is not None:
        walk.enum_values += len(members)
        walk.characters += sum(map(len, members))
    return True


def _said(
    walk: Walk, groups: dict[str, list[Any]], members: list[Any], at: str
) -> tuple[dict[str, Any], list[str]]:
    """Say groups of members; and in words what the form's enums cannot hold."""
    profile = walk.profile
    if len(groups) > 1 and profile.mixed_enums:
        return {"enum": copied(members)}, []
    branches: list[dict[str, Any]] = []
    words: list[str] = []
    for kind, group in groups.items():
        if kind == "null" and profile.nullable and len(groups) > 1:
            continue
        branches.append(_group(walk, kind, group, at, words))
    if len(branches) == 1:
        said = branches[0]
    else:
        said = {"anyOf": branches}
        walk.unions += not walk.inlining
    if "null" in groups and profile.nullable:
        said["nullable"] = True
    return said, words if len(branches) == 1 else []


def _group(
    walk: Walk, kind: str, group: list[Any], at: str, words: list[str]
) -> dict[str, Any]:
    if kind == "null":
        if walk.profile.nullable:
            words.append("const=null")
            return {"type": "string", "description": "(const=null)"}
        return {"type": "null"}
    if kind in walk.profile.enum_types and len(group) <= _MOST_MEMBERS:
        return {"type": kind, "enum": copied(group)}
    if kind == "boolean" and len(group) > 1:
        return {"type": "boolean"}
    keyword = "const" if len(group) == 1 else "enum"
    walk.lose(at, keyword, "folded")
    shown = group if len(group) <= _SAMPLE * 10 else group[:_SAMPLE]
    word = in_words({keyword: group[0] if keyword == "const" else shown})[0]
    if len(shown) < len(group):
        word += f" and {len(group) - len(shown)} more"
    words.append(word)
    return {"type": kind, "description": f"({word})"}


def _grouped(members: list[Any]) -> dict[str, list[Any]]:
    """Group members by JSON type in the order in which types appear."""
    groups: dict[str, list[Any]] = {}
    for member in members:
        kind = json_type(member)
        group = groups.setdefault(kind, [])
        if not any(same(member, each) for each in group[-64:]):
            group.append(member)
    if "integer" in groups and "number" in groups:
        numbers = [m for m in members if json_type(m) in ("integer", "number")]
        kept = {k: g for k, g in groups.items() if k not in ("integer", "number")}
        groups = {}
        for member in members:
            kind = json_type(member)
            kind = "number" if kind == "integer" else kind
            groups.setdefault(kind, numbers if kind == "number" else kept.get(kind, []))
    return groups


def _is_of(kind: str, kinds: Any) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _count_members(walk: Walk, members: list[Any]) -> None:
    limits = walk.profile.limits
    if limits.enum_values is None and limits.characters is None:
        return
    if len(members) <= _MOST_MEMBERS:
        walk.enum_values += len(members)
        walk.characters += sum(
            len(m) if isinstance(m, str) else len(json.dumps(m)) for m in members
        )


# -- lists of types ----------------------------------------------------------------


def listed_types(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a node whose ``type`` is a list."""
    kinds = list(dict.fromkeys(node["type"]))
    if len(kinds) == 1:
        return walk.visit(walk, {**node, "type": kinds[0]}, at)
    simple = all(kind in SCALARS or kind == "null" for kind in kinds)
    if walk.profile.type_lists and simple:
        wire, folded = carry(walk, node, at, "integer" if "number" not in kinds else None)
        finished(wire, folded)
        walk.unions += not walk.inlining
        return {"type": kinds, **wire}, None
    return _split(walk, node, kinds, at)


def _split(walk: Walk, node: dict[str, Any], kinds: list[str], at: str) -> Node:
    """Say a list of types as a union of nodes with one type each."""
    wires: list[dict[str, Any]] = []
    steps: list[Step] = []
    nullable = walk.profile.nullable and "null" in kinds
    for kind in kinds:
        if kind == "null" and nullable:
            continue
        wanted = _FOR_TYPE.get("number" if kind == "integer" else kind, frozenset())
        branch = {key: value for key, value in node.items() if key in wanted}
        wire, step = walk.visit(walk, {**branch, "type": kind}, at)
        wires.append(wire)
        steps.append(step)
    outside = {k: v for k, v in node.items() if k in ANNOTATIONS}
    about, folded = carry(walk, outside, at)
    if len(wires) == 1:
        wire = wires[0]
        inner = wire.pop("description", None)
        if inner is not None:
            fold(about, inner.strip("()"))
        finished(about, folded)
        return {**wire, **about, "nullable": True}, or_null(walk, [wire], steps, at)
    walk.unions += not walk.inlining
    finished(about, folded)
    union: dict[str, Any] = {**about, "anyOf": wires}
    if not nullable:
        return union, walk.choice(wires, steps, at)
    return {**union, "nullable": True}, or_null(walk, wires, steps, at)


def or_null(walk: Walk, wires: list[dict[str, Any]], steps: list[Step], at: str) -> Step:
    """Return the step of branches beside a null that is only a mark."""
    return walk.choice([*wires, {"type": "null"}], [*steps, None], at)
