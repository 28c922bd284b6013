"""How one JSON Schema differs from another: in words only, wider, or breaking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final


__all__ = ["Severity", "schema_severity"]


class Severity(IntEnum):
    """What a change means for who approved the old state."""

    SAME = 0
    COSMETIC = 1
    WIDENING = 2
    BREAKING = 3

    def __str__(self) -> str:
        return self.name.lower()


#: Keywords that constrain nothing.
_WORDS: Final = frozenset(
    {"title", "description", "examples", "$comment", "default", "deprecated", "x-toolcrib"}
)
#: Bounds, and whether a larger number accepts more.
_BOUNDS: Final[Mapping[str, bool]] = {
    "minimum": False,
    "exclusiveMinimum": False,
    "minLength": False,
    "minItems": False,
    "minProperties": False,
    "maximum": True,
    "exclusiveMaximum": True,
    "maxLength": True,
    "maxItems": True,
    "maxProperties": True,
}
_MISSING: Final = object()


def schema_severity(old: Any, new: Any) -> Severity:
    """Return how much a schema of arguments changed.

    Wider: calls are accepted that were not. Breaking: calls are refused that were
    accepted, or nobody can tell.
    """
    if old == new:
        return Severity.SAME
    if isinstance(old, bool) or isinstance(new, bool):
        wider = new is True or old is False
        return Severity.WIDENING if wider else Severity.BREAKING
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return Severity.BREAKING
    worst = Severity.COSMETIC
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword, _MISSING), new.get(keyword, _MISSING)
        worst = max(worst, _keyword(keyword, before, after, new))
    return worst


def _keyword(name: str, old: Any, new: Any, after: Mapping[str, Any]) -> Severity:
    if old == new:
        return Severity.SAME
    if name in _WORDS:
        return Severity.COSMETIC
    if name == "properties":
        return _properties(_mapping(old), _mapping(new), after)
    if name == "required":
        # What became required is judged here; new properties are not breaking by name.
        return _set(_items(new), _items(old))
    if name in ("type", "enum"):
        return _choices(old, new)
    if name in _BOUNDS:
        return _bound(old, new, larger_is_wider=_BOUNDS[name])
    if name in ("items", "additionalProperties"):
        return schema_severity(
            True if old is _MISSING else old, True if new is _MISSING else new
        )
    if name in ("$defs", "definitions"):
        return max(
            (
                schema_severity(_mapping(old).get(k, True), _mapping(new).get(k, True))
                for k in sorted(_mapping(old).keys() | _mapping(new).keys())
            ),
            default=Severity.SAME,
        )
    return Severity.WIDENING if new is _MISSING else Severity.BREAKING


def _properties(
    old: Mapping[str, Any], new: Mapping[str, Any], after: Mapping[str, Any]
) -> Severity:
    worst = Severity.SAME
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            # Without additional properties, who still sends it is refused.
            found = Severity.BREAKING
        elif name not in old:
            needed = name in _items(after.get("required", _MISSING))
            found = Severity.BREAKING if needed else Severity.WIDENING
        else:
            found = schema_severity(old[name], new[name])
        worst = max(worst, found)
    return worst


def _set(smaller: Iterable[Any], larger: Iterable[Any]) -> Severity:
    """Judge two lists where dropping an item accepts more."""
    more = [item for item in smaller if item not in list(larger)]
    return Severity.BREAKING if more else Severity.WIDENING


def _choices(old: Any, new: Any) -> Severity:
    if new is _MISSING:
        return Severity.WIDENING
    if old is _MISSING:
        return Severity.BREAKING
    before, after = _items(old), _items(new)
    if all(item in after for item in before):
        reordered = all(item in before for item in after)
        return Severity.COSMETIC if reordered else Severity.WIDENING
    return Severity.BREAKING


def _bound(old: Any, new: Any, *, larger_is_wider: bool) -> Severity:
    if new is _MISSING:
        return Severity.WIDENING
    if old is _MISSING or not all(isinstance(v, int | float) for v in (old, new)):
        return Severity.BREAKING
    wider = new > old if larger_is_wider else new < old
    return Severity.WIDENING if wider else Severity.BREAKING


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> list[Any]:
    if value is _MISSING:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
