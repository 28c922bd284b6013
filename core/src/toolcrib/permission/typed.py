"""Find the parameters of a tool that name paths and addresses, by their schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import resources
from toolcrib.resources import paths
from toolcrib.signature import Resource
from toolcrib.vocabulary import Access, Effect


if TYPE_CHECKING:
    from toolcrib.tool import Tool


__all__ = ["Anchor", "Place", "core_resources", "places_of", "values_at"]

_KINDS = {"path": "path", "uri": "url"}
_BRANCHES = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains")


@attrs.frozen
class Place:
    """A top-level parameter that holds a path or an address, or a schema with some.

    ``kind`` is ``path`` or ``url``, or ``""`` where ``schema`` must be followed.
    """

    name: str
    kind: str
    schema: Any = attrs.field(default=None, eq=False, repr=False)
    root: Any = attrs.field(default=None, eq=False, repr=False)


def places_of(schema: Mapping[str, Any]) -> tuple[Place, ...]:
    """Return the places of a tool's input schema."""
    properties = schema.get("properties")
    found: list[Place] = []
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        kind = _kind(inner)
        if kind:
            found.append(Place(name, kind))
        elif _mentions(inner, schema, set()):
            found.append(Place(name, "", inner, schema))
    return tuple(found)


def _kind(schema: Any) -> str:
    if not isinstance(schema, Mapping) or schema.get("type") != "string":
        return ""
    return _KINDS.get(str(schema.get("format")), "")


def _mentions(schema: Any, root: Any, seen: set[int]) -> bool:
    if not isinstance(schema, Mapping) or id(schema) in seen:
        return False
    seen.add(id(schema))
    if schema.get("format") in _KINDS:
        return True
    return any(_mentions(inner, root, seen) for inner in _inner(schema, root))


def _inner(schema: Mapping[str, Any], root: Any) -> Iterator[Any]:
    if "$ref" in schema:
        yield _target(schema["$ref"], root)
    for key in ("properties", "patternProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from schema[key].values()
    for key in _BRANCHES:
        if isinstance(schema.get(key), Sequence):
            yield from schema[key]
    for key in _SINGLE:
        yield schema.get(key)


def _target(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901
        target = target.get(step) if isinstance(target, Mapping) else None
    return target


def values_at(
    places: Sequence[Place], arguments: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Give ``(kind, text)`` of every path and address in a call's arguments."""
    for place in places:
        value = arguments.get(place.name)
        if value is None:
            continue
        if not place.kind:
            yield from _walk(place.schema, value, place.root, ())
        elif isinstance(value, str):
            yield place.kind, value


def _walk(
    schema: Any, value: Any, root: Any, above: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    # A schema that refers to itself without going into the value would never end.
    if not isinstance(schema, Mapping) or id(schema) in above:
        return
    above = (*above, id(schema))
    if isinstance(value, str):
        kind = _KINDS.get(str(schema.get("format")))
        if kind:
            yield kind, value
    if "$ref" in schema:
        yield from _walk(_target(schema["$ref"], root), value, root, above)
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in schema.get(key) or ()]
    for branch in [*branches, *(schema.get(key) for key in ("if", "then", "else"))]:
        yield from _walk(branch, value, root, above)
    if isinstance(value, Mapping):
        yield from _walk_object(schema, value, root)
    elif isinstance(value, list):
        prefix = schema.get("prefixItems") or ()
        for position, item in enumerate(value):
            inner = prefix[position] if position < len(prefix) else schema.get("items")
            yield from _walk(inner, item, root, ())


def _walk_object(
    schema: Mapping[str, Any], value: Mapping[str, Any], root: Any
) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties") or {}
    for name, inner in value.items():
        if name in properties:
            yield from _walk(properties[name], inner, root, ())
            continue
        for candidate in (schema.get("patternProperties") or {}).values():
            yield from _walk(candidate, inner, root, ())
        yield from _walk(schema.get("additionalProperties"), inner, root, ())


class Anchor:
    """Resolves the paths of one call: a text that comes twice is looked up once."""

    __slots__ = ("_folder", "_seen")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[str, str]] = {}

    def __call__(self, text: str) -> tuple[str, str]:
        """Return the real path of a text, and its spelling if that differs."""
        found = self._seen.get(text)
        if found is None:
            found = self._seen[text] = paths.anchor(text, self._folder)
        return found


def core_resources(
    tool: Tool,
    arguments: Mapping[str, Any],
    places: Sequence[Place] | None = None,
    anchor: Anchor | None = None,
) -> list[Resource]:
    """Return what the ``Path``- and ``Url``-typed parameters of a call name.

    Written where the tool declares that it writes, read otherwise. A value that has no
    canonical form stands for *any* resource of its type.
    """
    found: list[Resource] = []
    anchor = anchor or Anchor("/")
    if places is None:
        places = places_of(tool.input_schema)
    for kind, text in values_at(places, arguments):
        if kind == "path":
            access = Access.WRITE if Effect.FS_WRITE in tool.effects else Access.READ
            found.extend(_path_resources(text, access, anchor))
            continue
        access = Access.WRITE if Effect.NET_WRITE in tool.effects else Access.READ
        try:
            found.append(Resource("url", resources.Url(text).value, access))
        except ValueError:
            found.append(Resource("url", "", access))
            if text.strip()[:5].lower() == "file:":
                found.extend(_path_resources(_file_path(text), Access.READ, anchor))
    return found


def _path_resources(text: str, access: Access, anchor: Anchor) -> list[Resource]:
    try:
        readings = [paths.text_of(text)]
        if readings[0].startswith("~"):
            # The tool may or may not expand it; both readings are judged.
            readings.append(paths.expanded(readings[0]))
        anchored = list(dict.fromkeys(map(anchor, readings)))
    except ValueError:
        return [Resource("path", "", access)]
    return [Resource("path", real, access, spelling) for real, spelling in anchored]


def _file_path(text: str) -> str:
    from urllib.parse import unquote  # noqa: PLC0415 - only file addresses need it

    rest = text.strip()[5:].partition("#")[0].partition("?")[0]
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    return unquote(rest)
