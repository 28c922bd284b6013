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
        finished(walk, wire, folded)
        if "items" in node:
            wire["items"] = {}
        return {"type": "array", **wire}, None
    inner, step = walk.visit(walk, items, f"{at}/items")
    wire, folded = carry(walk, node, at)
    finished(walk, wire, folded)
    out = {"type": "array", **wire, "items": inner}
    return out, None if step is None else {"items": step}


def _tuple(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite a list whose positions mean different things."""
    length = len(node["prefixItems"])
    closed = node.get("items") is False or node.get("maxItems", length + 1) <= length
    how = walk.profile.tuples
    if how == "object":
        if (
            not closed
            or node.get("minItems", 0) < length
            or node.get("maxItems", length) < length
        ):
            raise Unfit(at, "prefixItems", "a tuple of varying length")
        return _as_object(walk, node, at)
    wires: list[dict[str, Any]] = []
    steps: list[Step] = []
    for i, sub in enumerate(node["prefixItems"]):
        wire, step = walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        wires.append(wire)
        steps.append(step)
    limits = {"maxItems": min(length, node.get("maxItems", length))} if closed else {}
    wire, folded = carry(walk, {**node, **limits}, at)
    rest: Step = None
    if how == "widen":
        return _widened(walk, node, wires, steps, (wire, folded, closed), at)
    finished(walk, wire, folded)
    out: dict[str, Any] = {"type": "array", **wire, "prefixItems": wires}
    if not closed and isinstance(node.get("items"), Mapping):
        out["items"], rest = walk.visit(walk, node["items"], f"{at}/items")
    if rest is None and all(step is None for step in steps):
        return out, None
    return out, {"prefix": steps, "rest": rest}


def _as_object(walk: Walk, node: dict[str, Any], at: str) -> Node:
    sent: dict[str, Any] = {}
    steps: list[Step] = []
    for i, sub in enumerate(node["prefixItems"]):
        sent[f"item_{i}"], step = walk.visit(walk, sub, f"{at}/prefixItems/{i}")
        steps.append(step)
    kept = {k: v for k, v in node.items() if k not in ("minItems", "maxItems")}
    wire, folded = carry(walk, kept, at)
    finished(walk, wire, folded, f"tuple sent as an object: {', '.join(sent)}")
    out = {
        "type": "object",
        "properties": sent,
        "required": list(sent),
        "additionalProperties": False,
        **wire,
    }
    return out, {"tuple": steps}


def _widened(
    walk: Walk,
    node: dict[str, Any],
    wires: list[dict[str, Any]],
    steps: list[Step],
    about: tuple[dict[str, Any], dict[str, Any], bool],
    at: str,
) -> Node:
    """Say a tuple as a list whose items may be any of its positions."""
    wire, folded, closed = about
    said = "; ".join(f"position {i}: {_label(each)}" for i, each in enumerate(wires))
    if not closed:
        if not isinstance(node.get("items"), Mapping) and not walk.profile.untyped:
            raise Unfit(at, "items", "untyped value: further items of a tuple")
        if isinstance(node.get("items"), Mapping):
            more, step = walk.visit(walk, node["items"], f"{at}/items")
            wires, steps = [*wires, more], [*steps, step]
    distinct: list[dict[str, Any]] = []
    for each in wires:
        if each not in distinct:
            distinct.append(each)
    if any(step != steps[0] for step in steps):
        raise Unfit(at, "prefixItems", "positions of a tuple need different undoing")
    walk.lose(at, "prefixItems", "widened", "which position holds which value")
    finished(walk, wire, folded, said)
    items = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    out = {"type": "array", **wire, "items": copied(items)}
    return out, None if steps[0] is None else {"items": steps[0]}


def _label(wire: Mapping[str, Any]) -> str:
    kind = wire.get("type")
    return str(kind) if isinstance(kind, str) else in_words({"schema": wire})[0][7:]
