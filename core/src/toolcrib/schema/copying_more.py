"""The keywords of alternatives, of arrays and of references."""

from __future__ import annotations

from typing import Any

from .rebuild import Handler, Node, Rebuild, registering


__all__ = ["HANDLERS"]

HANDLERS: dict[str, Handler] = {}
keyword = registering(HANDLERS)


@keyword("allOf", "anyOf", "oneOf")
def _list(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, list) or not node.value:
        raise walk.error(node, "Must be a list of at least one schema")
    node.out[node.key] = [
        walk.node(child, node.at.down(node.key, str(number)))
        for number, child in enumerate(node.value)
    ]


@keyword("not")
def _not(walk: Rebuild, node: Node) -> None:
    node.out["not"] = walk.node(node.value, node.at.down("not"))


@keyword("if")
def _if(walk: Rebuild, node: Node) -> None:
    for key in ("if", "then", "else"):
        if key in node.raw:
            node.out[key] = walk.node(node.raw[key], node.at.down(key))


@keyword("items")
def _items(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, list):
        node.out["items"] = _schema_or_bool(walk, node)
        return
    if walk.draft == "2020-12":
        walk.repair(node, "read the list of items as prefixItems")
    if node.value:
        node.out["prefixItems"] = [
            walk.node(child, node.at.down("items", str(number)))
            for number, child in enumerate(node.value)
        ]
    if "additionalItems" in node.raw:
        rest = Node(node.raw, node.out, "additionalItems", node.raw["additionalItems"], node.at)
        node.out["items"] = _schema_or_bool(walk, rest)


def _schema_or_bool(walk: Rebuild, node: Node) -> Any:
    if node.value is False:
        return False
    return walk.node(node.value, node.at.down(node.key))


@keyword("prefixItems")
def _prefix_items(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, list) or not node.value:
        raise walk.error(node, "Must be a list of at least one schema")
    if isinstance(node.raw.get("items"), list):
        raise walk.error(node, "Stands beside a list of items; only one of them can count")
    node.out["prefixItems"] = [
        walk.node(child, node.at.down("prefixItems", str(number)))
        for number, child in enumerate(node.value)
    ]


@keyword("contains")
def _contains(walk: Rebuild, node: Node) -> None:
    built = walk.node(node.value, node.at.down("contains"))
    new = walk.draft in (None, "2019-09", "2020-12")
    least = node.raw.get("minContains", 1) if new else 1
    most = node.raw.get("maxContains") if new else None
    if least != 1:
        node.out["minContains"] = int(least) if isinstance(least, float) else least
    if most is not None:
        node.out["maxContains"] = int(most) if isinstance(most, float) else most
    node.out["contains"] = built


_EVALUATING = (
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
)


@keyword("unevaluatedProperties", "unevaluatedItems")
def _unevaluated(walk: Rebuild, node: Node) -> None:
    """Copy, or say it with an older keyword where nothing beside it evaluates anything."""
    properties = node.key == "unevaluatedProperties"
    older = "additionalProperties" if properties else "items"
    alone = not any(key in node.raw for key in _EVALUATING)
    built = _schema_or_bool(walk, node)
    listed = isinstance(node.raw.get(older), list)
    if older in node.raw and (not listed or "additionalItems" in node.raw):
        return  # everything is evaluated already
    if alone and (properties or "contains" not in node.raw):
        walk.repair(node, f"said with {older}, which means the same here")
        node.out[older] = built
        return
    node.out[node.key] = built


@keyword("$ref")
def _ref(walk: Rebuild, node: Node) -> None:
    place = walk.resolve(node)
    if place is not None:
        walk.refer(node, place)


@keyword("$dynamicRef", "$recursiveRef")
def _dynamic(walk: Rebuild, node: Node) -> None:
    """Read as a plain reference where the document is one resource: nothing can differ."""
    if "$ref" in node.raw or walk.resources.several:
        walk.outside.append(walk.error(node, "Depends on the way by which it is reached"))
        return
    place = walk.resolve(node)
    if place is not None:
        walk.refer(node, place)


@keyword("$anchor", "$dynamicAnchor", "$id", "id", "$recursiveAnchor")
def _identifier(walk: Rebuild, node: Node) -> None:
    """Read by :class:`toolcrib.schema.references.Resources`."""
