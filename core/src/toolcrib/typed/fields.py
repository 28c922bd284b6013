"""The fields of the classes whose values travel as JSON objects with fixed keys."""

from __future__ import annotations

import inspect
import sys
import typing

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

import attrs

from toolcrib.typed.introspection import MISSING, Field, is_dataclass, resolve, substitute


__all__ = ["fields_of", "is_structured"]


def is_structured(kind: Any) -> bool:
    """Tell whether values of a class travel as JSON objects with fixed keys."""
    return isinstance(kind, type) and (
        attrs.has(kind)
        or is_dataclass(kind)
        or hasattr(kind, "__required_keys__")
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


def fields_of(kind: Any, local: Mapping[str, Any] | None = None) -> list[Field]:
    """Return the fields of an attrs class, dataclass, ``TypedDict`` or ``NamedTuple``.

    Raises:
        TypeError: an annotation cannot be resolved, or a field cannot come from JSON.
    """
    cls = get_origin(kind) or kind
    given = _given(kind, cls)
    hints = _hints(cls, local)
    if attrs.has(cls):
        found = _attrs_fields(cls, hints)
    elif is_dataclass(cls):
        found = _dataclass_fields(cls, hints)
    elif hasattr(cls, "__required_keys__"):
        found = _typed_dict_fields(cls, hints)
    else:
        defaults = cls._field_defaults
        found = (
            Field(
                name, name, hints.get(name, Any), name not in defaults, _plain(defaults, name)
            )
            for name in cls._fields
        )
    return [attrs.evolve(field, kind=substitute(field.kind, given)) for field in found]


def _given(kind: Any, cls: Any) -> dict[Any, Any]:
    """Return what stands for the type variables of a class and of its bases."""
    given = dict(zip(getattr(cls, "__parameters__", ()), get_args(kind), strict=False))
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if origin is not None and origin is not typing.Generic:
            for variable, value in _given(base, origin).items():
                given.setdefault(variable, substitute(value, given))
    return given


def _hints(cls: type, local: Mapping[str, Any] | None) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        own = inspect.get_annotations(base)
        space = getattr(sys.modules.get(base.__module__), "__dict__", {})
        found, wrong = resolve(own, space, {**(local or {}), cls.__name__: cls})
        if wrong and base is not object:
            name, text = next(iter(wrong.items()))
            message = f"field {name!r} of {cls.__name__}: {text}"
            raise TypeError(message)
        hints.update(found)
    return hints


def _attrs_fields(cls: Any, hints: Mapping[str, Any]) -> Iterator[Field]:
    for a in attrs.fields(cls):
        if not a.init:
            continue
        default = a.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = MISSING if default.takes_self else _made(default.factory)
        elif default is attrs.NOTHING:
            default = MISSING
        kind = hints.get(a.name, a.type)
        yield Field(
            a.name,
            a.alias or a.name,
            Any if kind is None else kind,
            a.default is attrs.NOTHING,
            default,
            a.metadata.get("doc"),
            () if a.validator is None else (a.validator,),
        )


def _dataclass_fields(cls: Any, hints: Mapping[str, Any]) -> Iterator[Field]:
    import dataclasses  # noqa: PLC0415 - loaded already: it made the class

    for name, annotation in hints.items():
        if isinstance(annotation, dataclasses.InitVar):
            message = f"field {name!r} of {cls.__name__} is an InitVar, which JSON cannot give"
            raise TypeError(message)
    for f in dataclasses.fields(cls):
        if f.init:
            made = f.default_factory is not dataclasses.MISSING
            default = _made(f.default_factory) if made else f.default
            yield Field(
                f.name,
                f.name,
                hints[f.name],
                f.default is dataclasses.MISSING and not made,
                MISSING if default is dataclasses.MISSING else default,
                f.metadata.get("doc"),
            )


def _typed_dict_fields(cls: Any, hints: Mapping[str, Any]) -> Iterator[Field]:
    # An annotation that is text hides Required and NotRequired from the class itself.
    for name, hint in hints.items():
        required, kind = name in cls.__required_keys__, hint
        while (origin := get_origin(kind)) in _MARKERS:
            required = _MARKERS.get(origin, required)
            kind = get_args(kind)[0]
        yield Field(name, name, kind, required)


_MARKERS: dict[Any, bool] = {typing.Required: True, typing.NotRequired: False}


def _plain(defaults: Mapping[str, Any], name: str) -> Any:
    return defaults.get(name, MISSING)


def _made(factory: Any) -> Any:
    # Any other factory may answer differently each time (``uuid4``, ``now``), and a
    # manifest must not.
    return factory() if factory in (list, dict, set, frozenset, tuple, str) else MISSING
