"""From Python objects to JSON values, by what an object is."""

from __future__ import annotations

import enum
import json

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import NoneType
from typing import Any

import attrs

from .introspection import is_dataclass


__all__ = ["unstructure"]


def unstructure(value: Any) -> Any:  # noqa: C901 - one flat list of kinds
    """Return the JSON value of an object, by what the object is.

    Objects of unknown classes are returned as they are: whoever writes the JSON text
    refuses them.
    """
    kind = type(value)
    if kind in _JSON:
        return value
    if isinstance(value, enum.Enum):
        return unstructure(value.value)
    if kind is dict or isinstance(value, Mapping):
        return {_key(k): unstructure(v) for k, v in value.items()}
    if kind is list or (isinstance(value, list | tuple) and not hasattr(value, "_fields")):
        return [unstructure(each) for each in value]
    if isinstance(value, AbstractSet):
        # A set has no order, a result must have one.
        return sorted((unstructure(each) for each in value), key=_sorting)
    if attrs.has(kind):
        return {
            a.alias or a.name: unstructure(getattr(value, a.name))
            for a in attrs.fields(kind)
            if a.init
        }
    if is_dataclass(kind):
        import dataclasses  # noqa: PLC0415 - loaded already: it made the class

        fields = dataclasses.fields(kind)
        return {f.name: unstructure(getattr(value, f.name)) for f in fields if f.init}
    if isinstance(value, tuple):
        return {k: unstructure(getattr(value, k)) for k in kind._fields}
    from .textforms import text_form  # noqa: PLC0415 - most values are plain JSON

    for base in kind.__mro__:
        form = text_form(base)
        if form is not None:
            return form.write(value)
    return value


_JSON = frozenset({str, int, float, bool, NoneType})


def _key(key: Any) -> Any:
    plain = unstructure(key)
    return plain if isinstance(plain, str) else str(plain)


def _sorting(value: Any) -> tuple[str, str]:
    return type(value).__name__, json.dumps(value, sort_keys=True, default=str)
