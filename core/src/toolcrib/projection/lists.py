"""Lists and tuples, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .inverse import Step
from .losses import Unfit, in_words
from .reading import copied
from .scalars import carry, finished
from .walk import Node, Walk


__all__ = ["array"]


def array(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a list or a tuple."""
    if node.get("prefixItems"):
        return _tuple(walk, node, at)
    items = node.get("items", True)
    if items is False:
        raise Unfit(at, "items", "a list that can only be empty")
    if items is True or items == {}:
        if not walk.profile.untyped:
            raise Unfit(at, "items", "untyped value: a list without items")
        wire, folded = carry(walk, node, at)
        finished(wire, folded)
        if "items" in node:
            wire["items"] = {}
        return {"type": "array", **wire}, None
    inner, step = walk.visit(walk, items, f"{at}/items")
    wire, folded = carry(walk, node, at)
    finished(wire, folded)
    out = {"type": "array", **wire, "items": inner}
    return out, None if step is None else {"items": step}


def _tuple(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a list whose positions mean different things."""
    length = len(node["prefixItems"])
    closed = node.get("items") is False or node.get("maxItems", length + 1) <= length
    most = min(length, node.get("maxItems", length))
    if walk.profile.tuples == "object":
        if not closed or node.get("minItems", 0) < length or most < length:
            raise Unfit(at, "prefixItems", "a tuple of varying length")
        return _as_object(walk, node, at)
    positions = [
        walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        for i, sub in enumerate(node["prefixItems"])
    ]
    if closed:
        node = {**node, "maxItems": most}
    rest = None if closed else _rest(walk, node, at)
    if walk.profile.tuples == "widen":
        if not closed and rest is None and not walk.profile.untyped:
            raise Unfit(at, "items", "untyped value: further items of a tuple")
        return _widened(walk, node, positions, rest, at)
    wire, folded = carry(walk, node, at)
    finished(wire, folded)
    out: dict[str, Any] = {"type": "array", **wire}
    out["prefixItems"] = [sent for sent, _ in positions]
    if rest is not None:
        out["items"] = rest[0]
    undo = rest[1] if rest is not None else None
    if undo is None and all(step is None for _, step in positions):
        return out, None
    return out, {"prefix": [step for _, step in positions], "rest": undo}


def _rest(walk: Walk, node: Mapping[str, Any], at: str) -> Node | None:
    items = node.get("items")
    return walk.visit(walk, items, f"{at}/items") if isinstance(items, Mapping) else None


def _as_object(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Say a tuple of fixed length as an object."""
    sent: dict[str, Any] = {}
    steps: list[Step] = []
    for i, sub in enumerate(node["prefixItems"]):
        sent[f"item_{i}"], step = walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        steps.append(step)
    kept = {k: v for k, v in node.items() if k not in ("minItems", "maxItems")}
    wire, folded = carry(walk, kept, at)
    finished(wire, folded, f"tuple sent as an object: {', '.join(sent)}")
    out = {
        "type": "object",
        "properties": sent,
        "required": list(sent),
        "additionalProperties": False,
        **wire,
    }
    return out, {"tuple": steps}


def _widened(
    walk: Walk, node: dict[str, Any], positions: list[Node], rest: Node | None, at: str
) -> Node:
    """Say a tuple as a list whose items may be any of its positions."""
    said = "; ".join(f"position {i}: {_label(sent)}" for i, (sent, _) in enumerate(positions))
    all_of = positions if rest is None else [*positions, rest]
    undo = all_of[0][1]
    if any(step != undo for _, step in all_of):
        raise Unfit(at, "prefixItems", "positions of a tuple need different undoing")
    distinct: list[dict[str, Any]] = []
    for sent, _ in all_of:
        if sent not in distinct:
            distinct.append(sent)
    walk.lose(at, "prefixItems", "widened", "which position holds which value")
    wire, folded = carry(walk, node, at)
    finished(wire, folded, said)
    items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    out = {"type": "array", **wire, "items": copied(items)}
    return out, None if undo is None else {"items": undo}


def _label(wire: Mapping[str, Any]) -> str:
    kind = wire.get("type")
    return str(kind) if isinstance(kind, str) else in_words({"schema": wire})[0][7:]
