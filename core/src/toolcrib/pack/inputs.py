"""How a handler takes its arguments: typed parameters, one object, or a given schema."""

from __future__ import annotations

import copy

from collections.abc import Callable, Mapping
from typing import Any, get_args

import attrs

from toolcrib.errors import DeclarationError
from toolcrib.typed import schema as typeschema
from toolcrib.typed import structure as typed
from toolcrib.typed.fields import fields_of, is_structured
from toolcrib.typed.introspection import Field, Shape, parameters, resolve

from .companion import where


__all__ = ["Inputs"]

Structure = Callable[[Mapping[str, Any]], dict[str, Any]]


@attrs.frozen
class Inputs:
    """How a handler takes its arguments.

    Attributes:
        schema: Makes the input schema, given what the docstring says of parameters.
        structurer: Makes what turns validated arguments into keyword arguments, or None.
    """

    schema: Callable[[Mapping[str, str]], dict[str, Any]]
    structurer: Callable[[], Structure | None]

    @classmethod
    def of(
        cls,
        handler: Callable[..., Any],
        form: Shape,
        given: Mapping[str, Any] | type[Any] | None,
        local: Mapping[str, Any],
        subject: str,
    ) -> Inputs:
        """Read a handler.

        Raises:
            DeclarationError: every parameter that cannot be described.
        """
        if isinstance(given, type):
            return _object(handler, form, given, local, subject)
        if given is not None:
            return _given(handler, form, given, local, subject)
        fields = parameters(form, local=local) + _extra(form, local, subject)
        return cls(
            lambda texts: typeschema.input_schema(
                form.function, local=local, texts=texts, fields=fields
            ),
            lambda: typed.structurer(fields=fields, local=local),
        )


def _extra(form: Shape, local: Mapping[str, Any], subject: str) -> list[Field]:
    if form.extra is None:
        return []
    note = form.function.__annotations__[form.extra]
    found, wrong = resolve({form.extra: note}, form.function.__globals__, local)
    kind = get_args(found[form.extra])[0] if found else None
    if wrong or not hasattr(kind, "__required_keys__"):
        text = wrong.get(form.extra, "Unpack needs a TypedDict")
        message = f"{subject}: parameter '**{form.extra}': {text}"
        raise DeclarationError(message)
    try:
        return fields_of(kind, local)
    except TypeError as error:
        message = f"{subject}: parameter '**{form.extra}': {error}"
        raise DeclarationError(message) from error


def _object(
    handler: Callable[..., Any],
    form: Shape,
    given: type[Any],
    local: Mapping[str, Any],
    subject: str,
) -> Inputs:
    problems = []
    if not is_structured(given):
        problems.append(
            f"{subject}: input_schema: {given.__name__} is no attrs class, dataclass, "
            "TypedDict or NamedTuple"
        )
    if len(form.names) != 2 or form.extra is not None:
        problems.append(
            f"{subject}: input_schema: {where(handler)} must take (ctx, arguments: "
            f"{given.__name__}) and nothing else"
        )
    if problems:
        raise DeclarationError(*problems)
    return Inputs(
        lambda _: typeschema.schema_of(given, local=local, subject=f"{subject}: input_schema"),
        lambda: typed.structure_into(given, form.names[1], local=local),
    )


def _given(
    handler: Callable[..., Any],
    form: Shape,
    given: Mapping[str, Any],
    local: Mapping[str, Any],
    subject: str,
) -> Inputs:
    problems = _unfitting(handler, form, given, f"{subject}: input_schema")
    if problems:
        raise DeclarationError(*problems)
    names = form.names[1:]
    notes = form.function.__annotations__
    found, wrong = resolve(
        {n: notes[n] for n in names if n in notes}, form.function.__globals__, local
    )
    if wrong:
        raise DeclarationError(*(f"{subject}: parameter {n!r}: {t}" for n, t in wrong.items()))
    fields = [Field(n, n, kind, n not in form.defaults) for n, kind in found.items()]
    return Inputs(
        lambda _: copy.deepcopy(dict(given)),
        lambda: typed.structurer(fields=fields, local=local),
    )


def _unfitting(
    handler: Callable[..., Any], form: Shape, given: Mapping[str, Any], here: str
) -> list[str]:
    """Compare a given schema with the parameters of a handler, in both directions."""
    properties = given.get("properties", {})
    if given.get("type", "object") != "object" or not isinstance(properties, Mapping):
        return [f"{here}: the arguments of a tool are an object with properties"]
    if form.extra is not None:
        return []
    names = form.names[1:]
    required = given.get("required", ())
    problems = [
        f"{here}: property {name!r} has no parameter in {where(handler)}"
        for name in properties
        if name not in names
    ]
    # Python gives no value for a parameter that a caller may leave out.
    return problems + [
        f"{here}: parameter {name!r} of {where(handler)} has no default, and the schema does "
        "not require it"
        for name in names
        if name not in form.defaults and name not in required
    ]
