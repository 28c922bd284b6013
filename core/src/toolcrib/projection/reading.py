"""Reading a schema: its keywords, older drafts and local references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from .facts import ANNOTATIONS
from .losses import Unfit


__all__ = [
    "ATOMS",
    "KNOWN",
    "LISTS",
    "MAPS",
    "SINGLE",
    "Document",
    "copied",
    "escape",
    "json_type",
    "modern",
    "references",
    "same",
]

SINGLE = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    }
)
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
KNOWN = (
    ANNOTATIONS
    | SINGLE
    | LISTS
    | MAPS
    | {
        "$ref",
        "type",
        "enum",
        "const",
        "required",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "contentEncoding",
        "contentMediaType",
    }
)
# Nodes of these keywords alone are the same in every draft, but for lists of items.
_SELDOM_OLD = KNOWN - {"exclusiveMinimum", "exclusiveMaximum"}
_OLD = frozenset({"definitions", "dependencies", "additionalItems", "nullable"})
_DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef"})


def modern(node: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return one node in its 2020-12 form, with known keywords only.

    Only the node itself is copied; what is below it is read when it is reached.
    """
    if node.keys() <= _SELDOM_OLD and not isinstance(node.get("items"), list):
        return dict(node)
    out = {key: value for key, value in node.items() if key in KNOWN}
    if not node.keys().isdisjoint(_DYNAMIC):
        keyword = min(node.keys() & _DYNAMIC)
        text = "dynamic references are not supported"
        raise Unfit(at, keyword, text)
    _old_bounds(out)
    if isinstance(out.get("items"), list):
        out["prefixItems"] = out.pop("items")
        if "additionalItems" in node:
            out["items"] = node["additionalItems"]
    if not node.keys().isdisjoint(_OLD):
        _old_forms(out, node)
    return out


def _old_bounds(out: dict[str, Any]) -> None:
    """Turn the boolean bounds of draft-04 into numbers."""
    for exclusive, bound in (
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ):
        if isinstance(out.get(exclusive), bool) and out.pop(exclusive) and bound in out:
            out[exclusive] = out.pop(bound)


def _old_forms(out: dict[str, Any], node: Mapping[str, Any]) -> None:
    definitions = node.get("definitions")
    if isinstance(definitions, Mapping):
        out["$defs"] = {**definitions, **(out.get("$defs") or {})}
    dependencies = node.get("dependencies")
    if isinstance(dependencies, Mapping):
        for name, needs in dependencies.items():
            keyword = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
            out[keyword] = {**out.get(keyword, {}), name: needs}
    if node.get("nullable") is True:
        _admit_null(out)


def _admit_null(out: dict[str, Any]) -> None:
    """Turn OpenAPI's ``nullable: true`` into JSON Schema."""
    kind = out.get("type")
    if isinstance(kind, str):
        out["type"] = [kind, "null"]
        if isinstance(out.get("enum"), list) and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
    elif isinstance(kind, list):
        out["type"] = [*kind, *(["null"] if "null" not in kind else [])]
    elif isinstance(out.get("anyOf"), list):
        out["anyOf"] = [*out["anyOf"], {"type": "null"}]
    elif "$ref" in out:
        out["anyOf"] = [{"$ref": out.pop("$ref")}, {"type": "null"}]


def json_type(value: Any) -> str:
    """Return the JSON type of a value; numbers without a fraction are integers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "object" if isinstance(value, Mapping) else "array"


def same(one: Any, other: Any) -> bool:
    """Compare two JSON values as JSON does: ``1`` is ``1.0``, and neither is ``true``."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


ATOMS = frozenset({str, int, bool, float, type(None)})


def copied(value: Any) -> Any:
    """Copy a JSON value, so that nobody who changes a declaration changes a tool."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {
            key: sub if sub.__class__ in ATOMS else copied(sub) for key, sub in value.items()
        }
    if isinstance(value, list | tuple):
        return [copied(sub) for sub in value]
    return value


def escape(name: str) -> str:
    """Write a property name as a token of a JSON pointer."""
    if "~" in name or "/" in name:
        return name.replace("~", "~0").replace("/", "~1")
    return name


class Document:
    """A tool's schema and the local references in it."""

    __slots__ = ("_cyclic", "ignores_siblings", "root")

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        draft = root.get("$schema")
        # Until draft-07, whatever stands beside a reference does not count.
        self.ignores_siblings = isinstance(draft, str) and "/draft-0" in draft
        self._cyclic: dict[str, bool] = {}

    def pointer(self, ref: Any, at: str) -> str:
        """Return the JSON pointer that a local reference means."""
        if ref == "#":
            return ""
        if not isinstance(ref, str) or not ref.startswith("#/"):
            text = f"only references inside the schema are followed, never {str(ref)[:80]!r}"
            raise Unfit(at, "$ref", text)
        pointer = ref[1:]
        if "%" in pointer:
            from urllib.parse import unquote  # noqa: PLC0415 - hardly any reference needs it

            pointer = unquote(pointer)
        return pointer

    def resolve(self, pointer: str, at: str) -> Mapping[str, Any] | bool:
        """Return the schema that a pointer names."""
        node: Any = self.root
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            else:
                node = None
                break
        if isinstance(node, Mapping | bool):
            return node
        text = f"the reference to #{pointer} leads to no schema"
        raise Unfit(at, "$ref", text)

    def cyclic(self, pointer: str, at: str) -> bool:
        """Tell whether what a pointer names contains a reference back to itself."""
        known = self._cyclic.get(pointer)
        if known is None:
            known = self._cyclic[pointer] = self._leads_back(pointer, at)
        return known

    def _leads_back(self, start: str, at: str) -> bool:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for ref in references(self.resolve(todo.pop(), at)):
                pointer = self.pointer(ref, at)
                if pointer == start or start.startswith(pointer + "/"):
                    return True
                if pointer not in seen:
                    seen.add(pointer)
                    todo.append(pointer)
        return False


def references(node: Any) -> Iterator[Any]:
    """Find every reference below a schema, names and data positions apart."""
    todo: list[tuple[Any, Literal["schema", "names"]]] = [(node, "schema")]
    while todo:
        value, role = todo.pop()
        if not isinstance(value, Mapping):
            continue
        if role == "names":
            todo += [(sub, "schema") for sub in value.values()]
            continue
        if "$ref" in value:
            yield value["$ref"]
        for key, sub in value.items():
            if key in MAPS or key in ("definitions", "dependencies"):
                todo.append((sub, "names"))
            elif key in LISTS or (key in SINGLE and isinstance(sub, list)):
                todo += [(each, "schema") for each in sub] if isinstance(sub, list) else []
            elif key in SINGLE or key == "additionalItems":
                todo.append((sub, "schema"))
