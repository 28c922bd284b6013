"""Maps, whose keys their caller chooses, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .losses import Unfit, fold, in_words
from .merging import Clash, merge
from .scalars import carry, finished
from .walk import Node, Walk


__all__ = ["map_", "which", "with_required"]


def map_(
    walk: Walk, node: dict[str, Any], patterns: Mapping[str, Any], extra: Any, at: str
) -> Node:
    """Rewrite an object that only has keys of its caller's choice."""
    if patterns and not isinstance(extra, Mapping) and extra is not False:
        if walk.profile.maps == "pairs":
            raise Unfit(at, "patternProperties", "other keys may have any value")
        extra = None
    value, step = _map_value(walk, patterns, extra, at)
    rest = {k: v for k, v in node.items() if k != "propertyNames"}
    if walk.profile.maps == "keep":
        return _open_map(walk, node, (patterns, extra), (value, step), at)
    wire, folded = carry(walk, rest, at)
    finished(wire, with_required(node, folded), "list of key/value pairs; keys unique")
    pair: dict[str, Any] = {
        "type": "object",
        "properties": {"key": _map_key(walk, node, patterns, extra, at), "value": value},
        "required": ["key", "value"],
    }
    if walk.profile.closed:
        pair["additionalProperties"] = False
    return {"type": "array", **wire, "items": pair}, {"pairs": step}


def _map_value(walk: Walk, patterns: Mapping[str, Any], extra: Any, at: str) -> Node:
    subs = [sub for sub in patterns.values() if sub is not False]
    if isinstance(extra, Mapping):
        subs.append(extra)
    below = f"{at}/{which(patterns)}"
    if not subs:
        raise Unfit(at, "patternProperties", "the map can hold nothing")
    if len(subs) == 1:
        return walk.visit(walk, subs[0], below)
    return walk.visit(walk, {"anyOf": subs}, below)


def _map_key(
    walk: Walk, node: Mapping[str, Any], patterns: Mapping[str, Any], extra: Any, at: str
) -> dict[str, Any]:
    """Say what the keys of a map may be."""
    key: dict[str, Any] = {"type": "string"}
    names = node.get("propertyNames")
    try:
        if isinstance(names, Mapping):
            key = merge(key, names)
        if len(patterns) == 1 and extra is False:
            key = merge(key, {"pattern": next(iter(patterns))})
    except Clash:
        walk.lose(at, "propertyNames", "dropped", "it cannot be said beside the pattern")
    wire, _ = walk.visit(walk, key, f"{at}/propertyNames")
    if len(patterns) > 1 or (patterns and extra is not False):
        walk.lose(at, "patternProperties", "widened", "which value goes with which key")
        fold(wire, _keys_match(patterns))
    return wire


def _keys_match(patterns: Mapping[str, Any]) -> str:
    said = " or ".join(
        word.partition("=")[2] for p in patterns for word in in_words({"pattern": p})
    )
    return f"keys match {said}"


def _open_map(
    walk: Walk,
    node: Mapping[str, Any],
    keys: tuple[Mapping[str, Any], Any],
    value: Node,
    at: str,
) -> Node:
    """Say a map as one, where the form can."""
    patterns, extra = keys
    wanted, step = value
    wire, folded = carry(walk, node, at)
    more = []
    if patterns:
        walk.lose(at, "patternProperties", "widened", "every key may have any such value")
        more.append(_keys_match(patterns))
    finished(wire, with_required(node, folded), *more)
    out: dict[str, Any] = {"type": "object"}
    if not patterns or extra is False or isinstance(extra, Mapping):
        out["additionalProperties"] = wanted
    else:
        step = None
    return {**out, **wire}, None if step is None else {"fields": {}, "rest": step}


def with_required(node: Mapping[str, Any], folded: dict[str, Any]) -> dict[str, Any]:
    """Fold required keys that no property declares."""
    return {**folded, "required": node["required"]} if node.get("required") else folded


def which(patterns: Any) -> str:
    """Return the keyword that makes an object a map."""
    return "patternProperties" if patterns else "additionalProperties"
