"""How the parts of a normal form lead to each other: endless loops and explosions.

A validator visits subschemas along references. Two things must not happen: a reference
that comes back to itself without stepping into the value never ends, and one value that
is visited along many ways takes exponential time. Both are properties of the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolcrib.errors import SchemaError

from .keywords import IN_PLACE, IN_PLACE_LISTS


__all__ = ["children", "every", "in_place", "is_heavy", "reachable", "refuse_loops", "target"]

Schema = dict[str, Any]

MOST_EXPANDED = 20_000
MOST_IN_PLACE = 200
_PREFIX = len("#/$defs/")


def target(schema: Schema) -> str | None:
    """Return the name of the definition that a schema refers to."""
    reference = schema.get("$ref")
    if reference is None:
        return None
    name: str = reference[_PREFIX:].replace("~1", "/").replace("~0", "~")
    return name


def in_place(schema: Schema) -> Iterator[Schema]:
    """Yield the direct subschemas that look at the same value, references apart."""
    for key in IN_PLACE_LISTS:
        yield from schema.get(key, ())
    for key in IN_PLACE:
        if key in schema:
            yield schema[key]
    yield from schema.get("dependentSchemas", {}).values()


def children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the direct subschemas that look at a part of the value.

    With each comes a key: what can look at the same part has the same key, ``*`` can look
    at any property, ``#`` at any item, ``=`` at names.
    """
    for name, child in schema.get("properties", {}).items():
        yield f".{name}", child
    for child in schema.get("patternProperties", {}).values():
        yield "*", child
    for number, child in enumerate(schema.get("prefixItems", ())):
        yield f"#{number}", child
    for key, mark in _REST:
        child = schema.get(key)
        if isinstance(child, dict):
            yield mark, child


_REST = (
    ("additionalProperties", "*"),
    ("unevaluatedProperties", "*"),
    ("items", "#"),
    ("unevaluatedItems", "#"),
    ("contains", "#"),
    ("propertyNames", "="),
)


def every(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and everything inside it, references apart."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(in_place(node))
        waiting.extend(child for _, child in children(node))


def refuse_loops(root: Schema) -> None:
    """Refuse references that come back to themselves without consuming anything.

    Raises:
        SchemaError: naming the definition.
    """
    definitions: dict[str, Schema] = root.get("$defs", {})
    leads = {name: set(_references(schema)) for name, schema in definitions.items()}
    for name in definitions:
        if name in reachable(leads, name):
            text = f"The definition {name!r} refers to itself without consuming anything"
            raise SchemaError(text, keyword="$ref", pointer=f"/$defs/{name}")


def _references(schema: Schema) -> Iterator[str]:
    """Yield the definitions that a schema refers to for the same value."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        name = target(node)
        if name is not None:
            yield name
        waiting.extend(in_place(node))


def reachable(leads: dict[str, set[str]], start: str) -> set[str]:
    """Return what some edges lead to from one name; itself only along a cycle."""
    found: set[str] = set()
    waiting = list(leads[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(leads[name])
    return found


def is_heavy(root: Schema) -> bool:
    """Whether a plain walk could visit one value along very many ways."""
    definitions: dict[str, Schema] = root.get("$defs", {})
    if not definitions:
        return False
    uses = {
        name: [found for node in every(schema) if (found := target(node)) is not None]
        for name, schema in definitions.items()
    }
    leads = {name: set(found) for name, found in uses.items()}
    reach = {name: reachable(leads, name) for name in definitions}
    if _expanded(root, definitions, uses, reach) > MOST_EXPANDED:
        return True
    cyclic = {name for name in definitions if name in reach[name]}
    returning = cyclic | {name for name in definitions if reach[name] & cyclic}
    marked: set[int] = set()
    for name in cyclic:
        _mark(definitions[name], returning, marked)
    return any(
        id(node) in marked and _forks(node, definitions, marked)
        for name in cyclic
        for node in every(definitions[name])
    )


def _mark(schema: Schema, returning: set[str], marked: set[int]) -> bool:
    """Mark every subschema that leads to one of some definitions."""
    found = target(schema) in returning
    for inner in (*in_place(schema), *(child for _, child in children(schema))):
        found |= _mark(inner, returning, marked)
    if found:
        marked.add(id(schema))
    return found


def _expanded(
    root: Schema,
    definitions: dict[str, Schema],
    uses: dict[str, list[str]],
    reach: dict[str, set[str]],
) -> int:
    """Return the size that the schema would have with every reference written out once."""
    sizes: dict[str, int] = {}
    order = sorted(definitions, key=lambda name: (len(reach[name]), name not in reach[name]))
    for name in order:
        own = sum(1 for _ in every(definitions[name]))
        # What leads back is counted once: the second test looks at cycles.
        rest = sum(sizes.get(found, 1) for found in uses[name] if name not in reach[found])
        sizes[name] = min(own + rest, MOST_EXPANDED + 1)
    body = {key: value for key, value in root.items() if key != "$defs"}
    return sum(1 + sizes.get(target(node) or "", 0) for node in every(body))


def _forks(head: Schema, definitions: dict[str, Schema], marked: set[int]) -> bool:
    """Whether two ways lead from one value to one part of it, and both can come back."""
    counts: dict[str, int] = {}
    waiting, visited = [head], 0
    while waiting:
        node = waiting.pop()
        visited += 1
        if visited > MOST_IN_PLACE:
            return True
        name = target(node)
        if name is not None:
            waiting.append(definitions[name])
        waiting.extend(in_place(node))
        for key, child in children(node):
            if id(child) in marked:
                counts[key] = counts.get(key, 0) + 1
    properties = [count for key, count in counts.items() if key[0] == "."]
    numbered = [count for key, count in counts.items() if key[0] == "#" and key != "#"]
    return (
        counts.get("*", 0) + max(properties, default=0) > 1
        or counts.get("#", 0) + max(numbered, default=0) > 1
    )
