"""The root of a schema: providers want an object there, without combinations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .losses import ROOT, Unfit, in_words
from .merging import Clash, merge
from .reading import modern
from .walk import Walk


__all__ = ["alternatives", "only_required", "root"]


_COMBINED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const"})


def root(walk: Walk) -> dict[str, Any]:
    """Bring the root into the form of an object, or decide to wrap it."""
    node = modern(walk.document.root, "")
    if node.get("type") == "object" and node.keys().isdisjoint(_COMBINED):
        return node
    for _ in range(32):
        if "$ref" not in node:
            break
        node = _reference(walk, node)
    else:
        text = f"the reference {node['$ref']} leads to no object"
        raise Unfit(ROOT, "$ref", text)
    if "allOf" in node:
        try:
            node = walk.conjunction(node, "")
        except Clash:
            walk.wrapper = _wrapper(node)
    for keyword in ("anyOf", "oneOf"):
        if keyword in node and not _said_in_words(walk, node, keyword):
            walk.wrapper = _wrapper(node)
    for keyword in ("not", "enum", "const"):
        if keyword in node and walk.wrapper is None:
            walk.notes += [f"{word}." for word in in_words({keyword: node.pop(keyword)})]
            walk.lose("", keyword, "folded", "providers refuse it at the root")
    _type(walk, node)
    return node


def _reference(walk: Walk, node: dict[str, Any]) -> dict[str, Any]:
    pointer = walk.document.pointer(node.pop("$ref"), "")
    target = walk.document.resolve(pointer, "")
    if isinstance(target, bool) or not pointer:
        text = "the root is no object"
        raise Unfit(ROOT, "$ref", text)
    try:
        return merge(modern(target, ""), node)
    except Clash as clash:
        text = "what stands beside the root's reference contradicts it"
        raise Unfit(ROOT, clash.keyword, text) from None


def _said_in_words(walk: Walk, node: dict[str, Any], keyword: str) -> bool:
    """Say alternatives that only differ in what they require in the description."""
    branches = node[keyword]
    if not only_required(branches) or not node.get("properties"):
        return False
    del node[keyword]
    walk.notes.append(alternatives(branches, keyword).capitalize() + ".")
    walk.lose("", keyword, "folded", "providers refuse it at the root")
    return True


def _type(walk: Walk, node: dict[str, Any]) -> None:
    kind = node.get("type")
    if kind is None:
        if walk.wrapper is None:
            node["type"] = "object"
    elif kind != "object":
        if not isinstance(kind, list) or "object" not in kind:
            text = f"arguments are an object, the root is {kind!r}"
            raise Unfit(ROOT, "type", text)
        node["type"] = "object"


def _wrapper(node: Mapping[str, Any]) -> str:
    """Choose the property that holds a wrapped root; never the name of a real one."""
    names = set(node.get("properties") or ())
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in node.get(keyword) or ():
            if isinstance(branch, Mapping):
                names |= set(branch.get("properties") or ())
    name, number = "input", 1
    while name in names:
        number += 1
        name = f"input_{number}"
    return name


def only_required(branches: Any) -> bool:
    """Tell whether alternatives only differ in what they require."""
    return bool(branches) and all(
        isinstance(branch, Mapping) and branch.keys() == {"required"} and branch["required"]
        for branch in branches
    )


def alternatives(branches: Any, keyword: str) -> str:
    """Say alternatives of required properties in words."""
    sets = "; ".join(" with ".join(branch["required"]) for branch in branches)
    return f"{'exactly' if keyword == 'oneOf' else 'at least'} one of: {sets}"
