"""Unions and conjunctions, for a form that is rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib import canonical

from .facts import ANNOTATIONS
from .inverse import Step
from .losses import Unfit, fold
from .matching import disjoint
from .merging import Clash, merge
from .roots import alternatives, only_required
from .scalars import carry, finished, or_null
from .walk import Node, Walk


__all__ = ["conjunction", "union"]


def conjunction(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite ``allOf`` as one schema."""
    try:
        return walk.visit(walk, walk.conjunction(node, at), at)
    except Clash as clash:
        if walk.profile.strict:
            text = f"the members of allOf cannot be said as one: {clash.keyword}"
            raise Unfit(at, "allOf", text) from None
        walk.lose(at, "allOf", "dropped", f"its members differ in {clash.keyword}")
        bare = {key: value for key, value in node.items() if key != "allOf"}
        return walk.visit(walk, bare, at)


def union(walk: Walk, node: dict[str, Any], at: str) -> Node:
    """Rewrite ``anyOf`` and ``oneOf`` as one ``anyOf``."""
    if "anyOf" in node and "oneOf" in node:
        return _both(walk, node, at)
    keyword = "anyOf" if "anyOf" in node else "oneOf"
    branches = [branch for branch in node[keyword] if branch is not False]
    if only_required(branches) and node.get("properties"):
        bare = {key: value for key, value in node.items() if key != keyword}
        walk.lose(at, keyword, "folded")
        fold(bare, alternatives(branches, keyword))
        return walk.visit(walk, bare, at)
    base = {k: v for k, v in node.items() if k != keyword and k not in ANNOTATIONS}
    base.pop("$defs", None)
    if base:
        branches = _distributed(walk, base, branches, keyword, at)
    if not branches:
        raise Unfit(at, keyword, "a union without branches accepts nothing")
    about, folded = carry(walk, {k: v for k, v in node.items() if k in ANNOTATIONS}, at)
    wires, steps = _branches(walk, branches, f"{at}/{keyword}")
    if keyword == "oneOf" and not _all_apart(walk, wires):
        walk.lose(at, "oneOf", "widened", "several branches may hold at once")
    finished(about, folded)
    return _joined(walk, about, wires, steps, at)


def _both(walk: Walk, node: dict[str, Any], at: str) -> Node:
    if walk.profile.strict:
        raise Unfit(at, "oneOf", "anyOf and oneOf in one schema")
    walk.lose(at, "oneOf", "dropped", "it stands beside anyOf")
    return union(walk, {key: value for key, value in node.items() if key != "oneOf"}, at)


def _distributed(
    walk: Walk, base: Mapping[str, Any], branches: list[Any], keyword: str, at: str
) -> list[Any]:
    """Give every branch what stands beside the union."""
    out: list[Any] = []
    for branch in branches:
        try:
            out.append(merge(base, {} if branch is True else walk.flat(branch, at)))
        except Clash as clash:
            if clash.keyword == "type":
                continue  # No value is of both types: the branch accepts nothing.
            text = f"what stands beside {keyword} cannot be said in each branch"
            raise Unfit(at, keyword, f"{text}: {clash.keyword}") from None
    return out


def _branches(
    walk: Walk, branches: list[Any], below: str
) -> tuple[list[dict[str, Any]], list[Step]]:
    tag = _discriminator(branches)
    wires: list[dict[str, Any]] = []
    steps: list[Step] = []
    for i, branch in enumerate(branches):
        ordered = branch
        if tag is not None:
            properties = branch["properties"]
            ordered = {**branch, "properties": {tag: properties[tag], **properties}}
        wire, step = walk.visit(walk, ordered, f"{below}/{i}")
        if (wire, step) not in zip(wires, steps, strict=True):
            wires.append(wire)
            steps.append(step)
    return wires, steps


def _discriminator(branches: list[Any]) -> str | None:
    """Find the property by whose constant the branches are told apart.

    It goes first: that is the order in which a model writes, and some servers refuse
    unions whose branches begin with the same key.
    """
    if len(branches) < 2 or not all(
        isinstance(b, Mapping) and "$ref" not in b for b in branches
    ):
        return None
    for name in branches[0].get("properties") or {}:
        if any(name not in (branch.get("required") or ()) for branch in branches):
            continue
        tags = [_tag((branch.get("properties") or {}).get(name)) for branch in branches]
        if None not in tags and len(set(tags)) == len(tags):
            return str(name)
    return None


def _tag(sub: Any) -> str | None:
    """Return the one value that a property may have, as JSON text."""
    if not isinstance(sub, Mapping):
        return None
    if sub.get("type") == "null":
        return "null"
    if "const" in sub:
        return canonical.dumps(sub["const"])
    members = sub.get("enum")
    if isinstance(members, list) and len(members) == 1:
        return canonical.dumps(members[0])
    return None


def _all_apart(walk: Walk, wires: list[dict[str, Any]]) -> bool:
    root = {"$defs": walk.defs}
    return all(
        disjoint(one, other, root) for i, one in enumerate(wires) for other in wires[i + 1 :]
    )


def _joined(
    walk: Walk, about: dict[str, Any], wires: list[dict[str, Any]], steps: list[Step], at: str
) -> Node:
    """Put branches together, null apart where the form says it by a mark."""
    apart = walk.profile.nullable and any(map(_is_null, wires))
    if apart:
        rest = [(w, s) for w, s in zip(wires, steps, strict=True) if not _is_null(w)]
        wires, steps = [w for w, _ in rest], [s for _, s in rest]
        about = {**about, "nullable": True}
    if not wires:
        return {"type": "string", **about}, None
    if len(wires) == 1:
        step = or_null(walk, wires, steps, at) if apart else steps[0]
        return _one(about, wires[0]), step
    walk.unions += not walk.inlining
    wires, steps = _flattened(wires, steps)
    step = or_null(walk, wires, steps, at) if apart else walk.choice(wires, steps, at)
    return {**about, "anyOf": wires}, step


def _one(about: dict[str, Any], only: dict[str, Any]) -> dict[str, Any]:
    """Say a union of one branch as that branch."""
    wire = dict(only)
    if "$ref" in wire and about:
        return {**about, "anyOf": [wire]}
    inner = wire.pop("description", None)
    if inner is not None and "description" in about:
        about = {**about, "description": f"{about['description']} {inner}"}
    elif inner is not None:
        about = {"description": inner, **about}
    return {**about, **wire}


def _is_null(wire: Mapping[str, Any]) -> bool:
    return wire.get("nullable") is True and wire.get("description") == "(const=null)"


def _flattened(
    wires: list[dict[str, Any]], steps: list[Step]
) -> tuple[list[dict[str, Any]], list[Step]]:
    """Take the branches of inner unions up, each with what undoes it."""
    if not any(wire.keys() == {"anyOf"} for wire in wires):
        return wires, steps
    flat: list[tuple[dict[str, Any], Step]] = []
    for wire, step in zip(wires, steps, strict=True):
        inner: list[tuple[dict[str, Any], Step]] = [(wire, step)]
        if wire.keys() == {"anyOf"}:
            if step is None or "fields" in step:
                # One table undoes every branch of the inner union.
                inner = [(each, step) for each in wire["anyOf"]]
            elif "union" in step and [w for w, _ in step["union"]] == wire["anyOf"]:
                inner = [(each, undo) for each, undo in step["union"]]
        flat += [pair for pair in inner if pair not in flat]
    return [wire for wire, _ in flat], [step for _, step in flat]
