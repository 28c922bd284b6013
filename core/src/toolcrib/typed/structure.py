"""Typed handlers over JSON arguments: what they are given, and what they give back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args, get_origin

from toolcrib.errors import Invalid
from toolcrib.typed.introspection import MAPPINGS, UNIONS, Field, parameters, peel

from . import codec
from .returns import returned
from .unstructuring import unstructure


__all__ = ["structure_into", "structurer", "unstructurer"]

Structure = Callable[[Mapping[str, Any]], dict[str, Any]]


def structurer(
    function: Callable[..., Any] | None = None,
    *,
    fields: Iterable[Field] | None = None,
    local: Mapping[str, Any] | None = None,
) -> Structure | None:
    """Return what turns validated arguments into a handler's keyword arguments.

    Args:
        function: The handler ``(ctx, …)``; or
        fields: its parameters, where the caller has them already.
        local: Names of enclosing functions, see ``introspection.enclosing_names``.

    Returns:
        None where every argument is passed as it is. Otherwise a function that raises
        :class:`toolcrib.Invalid` with the pointer of the value that is not of its type:
        a schema cannot check everything that a type promises.
    """
    if fields is None:
        if function is None:
            message = "structurer needs a function or its fields"
            raise TypeError(message)
        fields = parameters(function, local=local)
    kinds = {f.key: f.kind for f in fields if not _is_native(f.kind)}
    if not kinds:
        return None
    hooks: dict[str, Callable[[Any], Any]] = {}

    def structure(arguments: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(arguments)
        for name, kind in kinds.items():
            if name in made:
                hook = hooks.get(name)
                if hook is None:
                    # On first use: a pack of a thousand tools calls few of them.
                    hook = hooks[name] = codec.Structurer(local).hook(kind)
                try:
                    made[name] = hook(made[name])
                except codec.Mismatch as error:
                    raise _invalid(error.inside(name)) from None
        return made

    return structure


def structure_into(
    kind: Any, name: str, *, local: Mapping[str, Any] | None = None
) -> Structure:
    """Return what turns all arguments into one object, passed as parameter ``name``."""
    hooks: list[Callable[[Any], Any]] = []

    def structure(arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not hooks:
            hooks.append(codec.Structurer(local).hook(kind))
        try:
            return {name: hooks[0](arguments)}
        except codec.Mismatch as error:
            raise _invalid(error) from None

    return structure


def _invalid(error: codec.Mismatch) -> Invalid:
    return Invalid(error.pointer, f"{error.text}.")


def unstructurer(
    function: Callable[..., Any], *, local: Mapping[str, Any] | None = None
) -> Callable[[Any], Any] | None:
    """Return what turns a handler's value into a JSON value; None: it is one already."""
    members = returned(function, local)
    if members is not None and all(_is_native(each) for each in members):
        return None
    return unstructure


_NATIVE: tuple[Any, ...] = (str, bool, None, type(None), Any, object)


def _is_native(annotation: Any) -> bool:
    """Tell whether validated JSON is of a type already, so that nothing has to be done.

    Numbers are not: JSON's 1.0 is an integer, and its 1 a number.
    """
    kind, _ = peel(annotation)
    if kind in _NATIVE:
        return True
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (list, dict):
        return True
    if origin in UNIONS or origin is list:
        return all(_is_native(each) for each in inner)
    if origin in MAPPINGS:
        return peel(inner[0])[0] is str and _is_native(inner[1])
    return False
