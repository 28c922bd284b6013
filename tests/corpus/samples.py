"""A value that may fit a schema, small and always the same; a validator has the say."""

from __future__ import annotations

import math

from collections.abc import Iterator, Mapping
from typing import Any


__all__ = ["Sampler", "sample"]

_FORMATS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "time": "12:00:00Z",
    "email": "a@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "192.0.2.1",
}
_TEXTS = (
    "a",
    "1",
    "A1",
    "abc",
    "2024-02-29",
    "https://example.com/",
    "0" * 24,
    "a-b",
    "#abcdef",
)
_DEEPEST = 12


def sample(schema: Any) -> Any:
    """Return a value for a schema in normal form, required properties only."""
    return Sampler(schema).value(schema, 0)


class Sampler:
    """Makes values of one schema; what is chosen where may be overridden."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def value(self, schema: Any, depth: int) -> Any:
        """Return a value; None where nothing better is known."""
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        if "$ref" in schema:
            return self.value(self._merged(schema, self._target(schema["$ref"])), depth + 1)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        if schema.get("enum"):
            return self.chosen(schema["enum"])
        for key in ("allOf", "anyOf", "oneOf"):
            if schema.get(key):
                parts = schema[key] if key == "allOf" else [self.chosen(schema[key])]
                rest = {k: v for k, v in schema.items() if k != key}
                for part in parts:
                    rest = self._merged(rest, part)
                return self.value(rest, depth + 1)
        return self._typed(schema, depth)

    def _target(self, reference: str) -> Any:
        found = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else found
        return found

    def _merged(self, one: Mapping[str, Any], two: Any) -> dict[str, Any]:
        if not isinstance(two, Mapping):
            return dict(one)
        both = {**{k: v for k, v in one.items() if k != "$ref"}}
        for key, value in two.items():
            if key == "properties":
                both[key] = {**value, **both.get(key, {})}
            elif key == "required":
                both[key] = [*both.get(key, []), *value]
            else:
                both.setdefault(key, value)
        return both

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = self.chosen(kind) if isinstance(kind, list) else kind
        if kind == "object":
            properties = schema.get("properties", {})
            other = schema.get("additionalProperties", {})
            names = dict.fromkeys(self.keys(schema, depth))
            return {n: self.value(properties.get(n, other), depth + 1) for n in names}
        if kind == "array":
            prefix = schema.get("prefixItems", [])
            count = min(self.count(schema, depth), 50)
            parts = [*prefix[:count], *[schema.get("items", {})] * (count - len(prefix))]
            return [self.value(part, depth + 1) for part in parts]
        if kind in {"integer", "number"}:
            return self.number(schema, whole=kind == "integer")
        if kind == "boolean":
            return self.chosen([True, False])
        return None if kind == "null" else self.text(schema)

    def chosen(self, choices: list[Any]) -> Any:
        """Return one of some alternatives."""
        return choices[0]

    def keys(self, schema: Mapping[str, Any], depth: int) -> Iterator[str]:
        """Yield the names of an object's properties."""
        yield from schema.get("required", [])

    def count(self, schema: Mapping[str, Any], depth: int) -> int:
        """Return how many items a list has."""
        least: int = schema.get("minItems", 0)
        return least

    def number(self, schema: Mapping[str, Any], *, whole: bool) -> float | int:
        """Return a number."""
        return _number(schema, whole=whole)

    def text(self, schema: Mapping[str, Any]) -> str:
        """Return a text."""
        return _text(schema)


def _number(schema: Mapping[str, Any], *, whole: bool) -> float | int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -math.inf))
    high = schema.get("maximum", schema.get("exclusiveMaximum", math.inf))
    step = schema.get("multipleOf", 1)
    start = min(max(1, low), high)
    for candidate in (
        1,
        start,
        start + 1,
        start - 1,
        math.ceil(start / step) * step,
        (low + high) / 2,
    ):
        if low <= candidate <= high and (not whole or float(candidate).is_integer()):
            return int(candidate) if whole else candidate
    return 1


def _text(schema: Mapping[str, Any]) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    least = schema.get("minLength", 0)
    if "pattern" in schema:
        import re  # noqa: PLC0415 - few schemas have patterns

        for text in _TEXTS:
            try:
                if re.search(schema["pattern"], text) and len(text) >= least:
                    return text
            except re.error:
                break
    return "a" * max(least, 1)
