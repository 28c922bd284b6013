"""Find what ``$ref`` points to, inside one document and never outside."""

from __future__ import annotations

import re

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import attrs

from .failures import UnresolvedError
from .pointers import escape, unescape


__all__ = ["Place", "Resources"]

_MAPS = (
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
)
_PARTS = (
    "allOf",
    "anyOf",
    "oneOf",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
# Deeper than any schema that is accepted; ends the walk of a value that holds itself.
_LONGEST_POINTER = 20_000
_OPAQUE = re.compile(r"(?:urn|tag):", re.IGNORECASE)


@attrs.frozen
class Place:
    """A subschema, its JSON pointer and the URI that references in it start from."""

    schema: Any = attrs.field(eq=False)
    pointer: str
    base: str = attrs.field(eq=False)


def subschemas(schema: Any, pointer: str) -> Iterator[tuple[Any, str]]:
    """Yield the direct subschemas of a schema with their pointers."""
    if not isinstance(schema, Mapping):
        return
    for key in _MAPS:
        found = schema.get(key)
        if isinstance(found, Mapping):
            yield from (
                (child, f"{pointer}/{key}/{escape(str(name))}") for name, child in found.items()
            )
    for key in _PARTS:
        found = schema.get(key)
        if isinstance(found, list):
            yield from (
                (child, f"{pointer}/{key}/{number}") for number, child in enumerate(found)
            )
        elif found is not None:
            yield found, f"{pointer}/{key}"


def join(base: str, reference: str) -> str:
    """Resolve a reference against a base, opaque schemes included."""
    if reference.startswith("#") and _OPAQUE.match(base):
        return urldefrag(base)[0] + reference
    return urljoin(base, reference)


class Resources:
    """The identifiers of one document.

    Args:
        root: The document.
        draft: The draft it is written in, or None where it may be any.
    """

    def __init__(self, root: Any, draft: str | None) -> None:
        self._old = draft in ("4", "6", "7")
        self._identifier = "id" if draft == "4" else "$id"
        self._resources: dict[str, Place] = {}
        self._anchors: dict[tuple[str, str], Place] = {}
        self._walk(root)

    @property
    def several(self) -> bool:
        """Whether the document holds documents of their own."""
        return len({place.pointer for place in self._resources.values()}) > 1

    def enter(self, schema: Any, base: str) -> str:
        """Return the base inside a schema that lies in a document with another base."""
        if not isinstance(schema, Mapping):
            return base
        identifier = schema.get(self._identifier)
        if not isinstance(identifier, str) or (self._old and "$ref" in schema):
            return base
        uri, fragment = urldefrag(join(base, identifier))
        return base if self._old and fragment and identifier.startswith("#") else uri

    def resolve(self, reference: str, base: str) -> Place:
        """Find the place that a reference points to.

        Raises:
            UnresolvedError: with the reason.
        """
        try:
            uri, fragment = urldefrag(join(base, reference))
        except ValueError as error:
            message = "is not a URI reference"
            raise UnresolvedError(message) from error
        place = self._resources.get(uri)
        if place is None:
            message = "points out of the schema, and nothing is ever fetched"
            raise UnresolvedError(message)
        if fragment and not fragment.startswith("/"):
            named = self._anchors.get((uri, unquote(fragment)))
            if named is None:
                message = f"points to the anchor {fragment!r}, which is not there"
                raise UnresolvedError(message)
            return named
        return self._follow(place, unquote(fragment))

    def _follow(self, place: Place, fragment: str) -> Place:
        schema, base = place.schema, place.base
        for step in fragment.split("/")[1:]:
            token = unescape(step)
            if isinstance(schema, Mapping) and token in schema:
                schema = schema[token]
            elif isinstance(schema, list) and token.isdecimal() and int(token) < len(schema):
                schema = schema[int(token)]
            else:
                message = "points to something that is not there"
                raise UnresolvedError(message)
            base = self.enter(schema, base)
        return Place(schema, place.pointer + fragment, base)

    def _walk(self, root: Any) -> None:
        self._resources[""] = Place(root, "", "")
        waiting = [(root, "", "")]
        for _ in range(100_000):
            if not waiting:
                break
            schema, pointer, base = waiting.pop()
            if not isinstance(schema, Mapping) or len(pointer) > _LONGEST_POINTER:
                continue
            inner = self.enter(schema, base)
            if inner != base or not pointer:
                self._resources.setdefault(inner, Place(schema, pointer, inner))
            self._name(schema, pointer, inner)
            waiting.extend((*child, inner) for child in subschemas(schema, pointer))

    def _name(self, schema: Mapping[str, Any], pointer: str, base: str) -> None:
        names = [schema.get("$anchor"), schema.get("$dynamicAnchor")]
        identifier = schema.get(self._identifier)
        if self._old:
            beside = isinstance(identifier, str) and "$ref" not in schema
            names = [str(identifier).partition("#")[2] if beside else None]
        for name in names:
            if isinstance(name, str) and name:
                self._anchors.setdefault((base, name), Place(schema, pointer, base))
