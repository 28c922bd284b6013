"""One function for each keyword: check it and copy it into the normal form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import keywords, values
from .failures import PatternError
from .pointers import escape
from .rebuild import Handler, Node, Rebuild, registering


__all__ = ["HANDLERS"]

HANDLERS: dict[str, Handler] = {}
keyword = registering(HANDLERS)


@keyword("type")
def _type(walk: Rebuild, node: Node) -> None:
    names = node.value if isinstance(node.value, list) else [node.value]
    found: list[str] = []
    anything = not names
    for name in names:
        known = name if isinstance(name, str) else ""
        if known not in keywords.TYPES:
            folded = known.casefold()
            if folded not in keywords.TYPES and folded not in keywords.TYPE_SLIPS:
                known_types = ", ".join(sorted(keywords.TYPES))
                text = f"{values.shorten(name)} is not a type; types are {known_types}"
                raise walk.error(node, text)
            meant = folded if folded in keywords.TYPES else keywords.TYPE_SLIPS[folded]
            walk.repair(node, f"read {known!r} as {meant or 'any value'!r}")
            known = meant or ""
        anything |= not known
        if known and known not in found:
            found.append(known)
    if not names:
        raise walk.error(node, "The list of types is empty")
    if node.raw.get("nullable") is True and "null" not in found and not _listed(node.raw):
        walk.repair(node, "read nullable as: or null")
        found.append("null")
    if found and not anything:
        node.out["type"] = found[0] if len(found) == 1 else found


def _listed(raw: Mapping[str, Any]) -> bool:
    """Whether a schema lists its values; then null is allowed only if it is listed."""
    return "enum" in raw or "const" in raw


@keyword("nullable")
def _nullable(walk: Rebuild, node: Node) -> None:
    if node.value is True and ("type" not in node.raw or _listed(node.raw)):
        walk.lose(node, "left out: it says nothing without a type or beside listed values")


@keyword("enum")
def _enum(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, list) or not node.value:
        raise walk.error(node, "Must be a list of at least one value")
    node.out["enum"] = _copy(walk, node)


@keyword("const")
def _const(walk: Rebuild, node: Node) -> None:
    node.out["const"] = _copy(walk, node)


@keyword("default")
def _default(walk: Rebuild, node: Node) -> None:
    node.out["default"] = _copy(walk, node)
    walk.defaults.append((node.out, node.pointer))


@keyword("examples")
def _examples(walk: Rebuild, node: Node) -> None:
    if isinstance(node.value, list):
        node.out["examples"] = _copy(walk, node)


@keyword(*keywords.ANNOTATIONS)
def _annotation(walk: Rebuild, node: Node) -> None:
    if isinstance(node.value, keywords.ANNOTATIONS[node.key]):
        node.out[node.key] = _copy(walk, node)
    elif node.value is not None:
        walk.lose(node, "left out: not of the type that it must have")


def _copy(walk: Rebuild, node: Node) -> Any:
    try:
        return walk.budget.copy(node.value)
    except values.BudgetError as error:
        raise walk.error(node, f"The value {error}") from None


@keyword("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
def _number(walk: Rebuild, node: Node) -> None:
    if isinstance(node.value, bool) and node.key.startswith("exclusive"):
        _old_exclusive(walk, node)
        return
    try:
        bound = values.number(node.value)
    except values.BudgetError:
        raise walk.error(node, f"Must be a number, not {values.shorten(node.value)}") from None
    if node.key == "multipleOf" and bound <= 0:
        raise walk.error(node, "Must be greater than 0")
    exclusive = "exclusive" + node.key.capitalize()
    if node.raw.get(exclusive) is True:
        node.out[exclusive] = bound
    else:
        node.out[node.key] = bound


def _old_exclusive(walk: Rebuild, node: Node) -> None:
    """Read the boolean form of draft 4; the bound itself does the work."""
    bound = node.key.removeprefix("exclusive").lower()
    if node.value and bound not in node.raw:
        raise walk.error(node, f"Says nothing without {bound!r}")
    if walk.draft != "4":
        walk.repair(node, "read as in draft 4")


@keyword(
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)
def _count(walk: Rebuild, node: Node) -> None:
    value = node.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise walk.error(node, f"Must be a whole number from 0, not {values.shorten(value)}")
    if node.key in ("minContains", "maxContains"):
        return  # copied with "contains", without which they say nothing
    node.out[node.key] = min(value, node.out.get(node.key, value))


@keyword("uniqueItems")
def _unique(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, bool):
        raise walk.error(node, "Must be true or false")
    if node.value:
        node.out["uniqueItems"] = True


@keyword("required")
def _required(walk: Rebuild, node: Node) -> None:
    if isinstance(node.value, bool) and node.at.pointer:
        return  # read where the properties are
    if not _is_names(node.value):
        raise walk.error(node, "Must be a list of property names")
    names = [*node.out.get("required", ()), *node.value]
    if names:
        node.out["required"] = list(dict.fromkeys(names))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


@keyword("pattern")
def _pattern(walk: Rebuild, node: Node) -> None:
    if not isinstance(node.value, str):
        raise walk.error(node, "Must be text")
    node.out["pattern"] = node.value
    limit = _weigh(walk, node, node.value)
    if limit is not None:
        node.out["maxLength"] = min(limit, node.out.get("maxLength", limit))


def _weigh(walk: Rebuild, node: Node, text: str) -> int | None:
    """Return the longest text on which a pattern is tried, and record it."""
    try:
        limit = walk.weigh(text)
    except values.BudgetError as error:
        message = f"The schema {error}"
        raise walk.error(node, message) from None
    except PatternError as error:
        if not error.elsewhere:
            raise walk.error(node, f"The pattern {text[:80]!r} {error}") from None
        walk.need(node)
        return None
    if limit is not None:
        walk.repair(node, f"limited to {limit} characters, to keep matching fast")
    return limit


@keyword("patternProperties")
def _pattern_properties(walk: Rebuild, node: Node) -> None:
    for pattern in _mapping(walk, node):
        limit = _weigh(walk, node, pattern)
        if limit is not None:
            names = node.out.setdefault("propertyNames", {})
            names["maxLength"] = min(limit, names.get("maxLength", limit))
    node.out["patternProperties"] = _schemas(walk, node)


def _mapping(walk: Rebuild, node: Node) -> Mapping[str, Any]:
    if not isinstance(node.value, Mapping):
        raise walk.error(node, "Must be an object")
    for name in node.value:
        try:
            walk.budget.key(name)
        except values.BudgetError as error:
            raise walk.error(node, f"The object {error}") from None
    return node.value


def _schemas(walk: Rebuild, node: Node) -> dict[str, Any]:
    return {
        name: walk.node(child, node.at.down(node.key, escape(name)))
        for name, child in _mapping(walk, node).items()
    }


@keyword("properties")
def _properties(walk: Rebuild, node: Node) -> None:
    node.out["properties"] = _schemas(walk, node)
    marked = [
        name
        for name, child in node.value.items()
        if isinstance(child, Mapping) and child.get("required") is True
    ]
    if marked:
        walk.repair(node, "read required: true in a property as in draft 3")
        node.out["required"] = list(dict.fromkeys([*node.out.get("required", ()), *marked]))


@keyword("dependentSchemas")
def _dependent_schemas(walk: Rebuild, node: Node) -> None:
    node.out.setdefault("dependentSchemas", {}).update(_schemas(walk, node))


@keyword("dependentRequired", "dependencies")
def _dependencies(walk: Rebuild, node: Node) -> None:
    for name, needed in _mapping(walk, node).items():
        if _is_names(needed):
            if needed:
                node.out.setdefault("dependentRequired", {})[name] = list(dict.fromkeys(needed))
        elif node.key == "dependencies" and isinstance(needed, str):
            walk.repair(node, "read the name in dependencies as in draft 3")
            node.out.setdefault("dependentRequired", {})[name] = [needed]
        elif node.key == "dependentRequired":
            raise walk.error(node, "Must hold lists of property names")
        else:
            child = walk.node(needed, node.at.down(node.key, escape(name)))
            node.out.setdefault("dependentSchemas", {})[name] = child


@keyword("propertyNames")
def _property_names(walk: Rebuild, node: Node) -> None:
    limits = node.out.get("propertyNames")
    built = walk.node(node.value, node.at.down(node.key))
    if limits is not None:
        limit = limits["maxLength"]
        built["maxLength"] = min(limit, built.get("maxLength", limit))
    node.out["propertyNames"] = built


@keyword("additionalProperties")
def _additional(walk: Rebuild, node: Node) -> None:
    if isinstance(node.value, bool):
        node.out[node.key] = node.value
    else:
        node.out[node.key] = walk.node(node.value, node.at.down(node.key))


@keyword("$schema")
def _schema(walk: Rebuild, node: Node) -> None:
    if node.at.pointer and node.value != walk.root.get("$schema"):
        walk.outside.append(walk.error(node, "Changes the draft in the middle"))


@keyword("then", "else", "additionalItems", "$defs", "definitions")
def _elsewhere(walk: Rebuild, node: Node) -> None:
    """Nothing by itself: read with another keyword, or where it is referred to."""
