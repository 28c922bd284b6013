"""Saying two schemas that must both hold as one."""

from __future__ import annotations

import math

from collections.abc import Callable, Mapping
from typing import Any

from .facts import ANNOTATIONS
from .reading import json_type, same


__all__ = ["Clash", "merge"]


class Clash(Exception):  # noqa: N818 - a signal, not an error
    """Raised when two schemas cannot be said as one."""

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword
        super().__init__(keyword)


def merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts what both accept; annotations of the second win.

    Raises:
        Clash: when the two cannot be said as one without another combinator.
    """
    merged = dict(one)
    _check_closing(one, other)
    for keyword, value in other.items():
        if keyword not in one or keyword in ANNOTATIONS:
            merged[keyword] = value
        elif keyword in _MERGERS:
            merged[keyword] = _MERGERS[keyword](one[keyword], value)
        elif not same(one[keyword], value):
            raise Clash(keyword=keyword)
    if "enum" in merged and "const" in merged:
        if not any(same(merged["const"], member) for member in merged["enum"]):
            raise Clash(keyword="enum")
        del merged["enum"]
    return merged


def _check_closing(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Refuse to merge where a member restricts properties that it does not know."""
    for closer, member in ((one, other), (other, one)):
        extra = closer.get("additionalProperties")
        if extra is None or extra is True or extra == {}:
            continue
        known = closer.get("properties") or {}
        if any(name not in known for name in member.get("properties") or {}):
            raise Clash(keyword="additionalProperties")


def _properties(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for name, sub in other.items():
        merged[name] = _both(merged[name], sub) if name in merged else sub
    return merged


def _both(one: Any, other: Any) -> Any:
    if one is True:
        return other
    if other is True:
        return one
    if one is False or other is False:
        return False
    if "$ref" in one or "$ref" in other:
        if same(one, other):
            return one
        raise Clash(keyword="$ref")
    return merge(one, other)


def _required(one: list[str], other: list[str]) -> list[str]:
    return [*one, *(name for name in other if name not in one)]


def _types(one: Any, other: Any) -> Any:
    first = [one] if isinstance(one, str) else list(one)
    second = [other] if isinstance(other, str) else list(other)
    both = [kind for kind in first if kind in second]
    if ("integer" in first and "number" in second and "integer" not in second) or (
        "number" in first and "integer" in second and "integer" not in first
    ):
        both.append("integer")
    if not both:
        raise Clash(keyword="type")
    return both[0] if len(both) == 1 else both


def _enum(one: list[Any], other: list[Any]) -> list[Any]:
    both = [member for member in one if any(same(member, each) for each in other)]
    if not both:
        raise Clash(keyword="enum")
    return both


def _multiple(one: float, other: float) -> float:
    if json_type(one) == json_type(other) == "integer":
        return math.lcm(int(one), int(other))
    if one == other:
        return one
    raise Clash(keyword="multipleOf")


def _any_required(one: Any, other: Any) -> bool:
    return bool(one) or bool(other)


def _dependent(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> dict[str, Any]:
    merged = dict(one)
    for name, needs in other.items():
        merged[name] = _required(list(merged.get(name, [])), needs)
    return merged


_MERGERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "properties": _properties,
    "patternProperties": _properties,
    "additionalProperties": _both,
    "required": _required,
    "items": _both,
    "enum": _enum,
    "multipleOf": _multiple,
    "dependentRequired": _dependent,
    "uniqueItems": _any_required,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "$defs": _properties,
}
