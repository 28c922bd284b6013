"""From Python types to JSON Schema.

What is emitted is closed (``additionalProperties: false``), keeps the order of the
parameters, and uses ``$defs`` only for classes that occur twice or contain themselves.
What JSON cannot say raises :class:`toolcrib.DeclarationError` with the function and
parameter: a schema never promises less or more than the type.

================================  =================================================
type                              schema
================================  =================================================
``str int float bool None``       ``type``
``Any``, ``object``               no restriction
``Literal``, ``Enum``             ``enum`` (of an enum: its values)
``X | Y``, ``X | None``           ``anyOf``
``list set frozenset tuple[X, …]``  ``array`` (sets: ``uniqueItems``)
``tuple[X, Y]``                   ``array`` with ``prefixItems``, exact length
``dict[str, X]``                  ``object`` with ``additionalProperties``
attrs, dataclass, ``TypedDict``,  ``object`` with ``properties``
``NamedTuple``
``Path``, dates, ``UUID``, …      ``string``, see :mod:`toolcrib.textforms`
================================  =================================================
"""

from __future__ import annotations

import enum
import types
import typing

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from toolcrib.errors import DeclarationError
from toolcrib.typed import docstring
from toolcrib.typed.introspection import (
    MAPPINGS,
    MISSING,
    SEQUENCES,
    SETS,
    UNIONS,
    Field,
    parameters,
    peel,
    shape,
)

from . import constraints
from .fields import fields_of, is_structured
from .returns import returned
from .unstructuring import unstructure


__all__ = ["Builder", "input_schema", "output_schema", "schema_of"]

_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Builder:
    """Builds the schema of one function or type.

    Args:
        local: Names of enclosing functions, for annotations that are text.
    """

    def __init__(self, local: Mapping[str, Any] | None = None) -> None:
        self._local = local
        self._names: dict[Any, str] = {}
        self._defs: dict[str, dict[str, Any]] = {}
        self._uses: dict[str, int] = {}

    def schema(self, annotation: Any) -> dict[str, Any]:
        """Return the schema of a type.

        Raises:
            TypeError: JSON Schema cannot say it.
            ValueError: a constraint does not fit the type.
        """
        kind, marks = peel(annotation)
        schema = self._schema(kind)
        for mark in marks:
            _refuse_foreign(mark)
            constraints.apply(schema, dict(constraints.keywords(mark)))
        text = constraints.documentation(marks)
        if text is not None:
            schema["description"] = text
        return schema

    def field(self, field: Field, text: str | None = None) -> dict[str, Any]:
        """Return the schema of a field or parameter, its text and default included."""
        schema = self.schema(field.kind)
        for mark in field.marks:
            constraints.apply(schema, dict(constraints.keywords(mark)))
        said = field.text or schema.get("description") or text
        if said:
            schema["description"] = said
        if field.default is not MISSING:
            schema["default"] = _default(field, schema)
        return schema

    def finish(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Put definitions in their place: inside, or under ``$defs``."""
        if not self._defs:
            return schema
        kept: dict[str, dict[str, Any]] = {}
        result: dict[str, Any] = self._inline(schema, kept, ())
        if kept:
            result["$defs"] = {name: kept[name] for name in self._defs if name in kept}
        return result

    def _inline(
        self, node: Any, kept: dict[str, dict[str, Any]], above: tuple[str, ...]
    ) -> Any:
        if isinstance(node, list):
            return [self._inline(each, kept, above) for each in node]
        if not isinstance(node, dict):
            return node
        name = node.get("$ref")
        if type(name) is not _Reference:
            # What a default or an enum holds is data, however it looks.
            return {
                k: v if k in ("default", "enum") else self._inline(v, kept, above)
                for k, v in node.items()
            }
        beside = {k: v for k, v in node.items() if k != "$ref"}
        if self._uses[name] == 1 and name not in above:
            return {**self._inline(self._defs[name], kept, (*above, name)), **beside}
        if name not in kept:
            kept[name] = {}
            kept[name] = self._inline(self._defs[name], kept, (*above, name))
        return {"$ref": f"#/$defs/{name}", **beside}

    def _schema(self, kind: Any) -> dict[str, Any]:
        name = _SCALARS.get(kind) if isinstance(kind, type) else None
        if name is not None:
            return {"type": name}
        if kind is None or kind is types.NoneType:
            return {"type": "null"}
        if kind is Any or kind is object:
            return {}
        origin = get_origin(kind)
        if origin is Literal:
            return literal(get_args(kind))
        if origin in UNIONS:
            return self._union(get_args(kind))
        cls = origin or kind
        if is_structured(cls):
            return self._reference(kind)
        if isinstance(cls, type):
            inner = get_args(kind) or (((),) if origin is tuple else ())
            schema = self._container(cls, inner) or self._named(cls)
            if schema is not None:
                return schema
        raise TypeError(_inexpressible(kind))

    def _named(self, cls: type) -> dict[str, Any] | None:
        from .textforms import text_form  # noqa: PLC0415 - most parameters are plain

        form = text_form(cls)
        if form is not None:
            return dict(form.schema)
        if issubclass(cls, enum.Flag):
            return None
        if issubclass(cls, enum.Enum):
            return literal(tuple(member.value for member in cls))
        return None

    def _container(self, cls: type, inner: tuple[Any, ...]) -> dict[str, Any] | None:
        if cls is tuple:
            return self._tuple(inner)
        if cls in SEQUENCES or cls in SETS:
            schema: dict[str, Any] = {"type": "array"}
            if inner:
                schema["items"] = self.schema(inner[0])
            if cls in SETS:
                schema["uniqueItems"] = True
            return schema
        if cls in MAPPINGS:
            return self._mapping(inner)
        return None

    def _tuple(self, inner: tuple[Any, ...]) -> dict[str, Any]:
        if not inner:
            return {"type": "array"}
        if len(inner) == 2 and inner[1] is Ellipsis:
            return {"type": "array", "items": self.schema(inner[0])}
        if inner == ((),):
            return {"type": "array", "maxItems": 0}
        return {
            "type": "array",
            "prefixItems": [self.schema(each) for each in inner],
            "minItems": len(inner),
            "maxItems": len(inner),
        }

    def _mapping(self, inner: tuple[Any, ...]) -> dict[str, Any]:
        if not inner:
            return {"type": "object"}
        keys = self.schema(inner[0])
        if keys.pop("type", None) != "string":
            text = f"the keys of a JSON object are text, not {_name(inner[0])}"
            raise TypeError(text)
        keys.pop("description", None)
        schema = {"type": "object", "additionalProperties": self.schema(inner[1])}
        return {**schema, "propertyNames": keys} if keys else schema

    def _union(self, members: tuple[Any, ...]) -> dict[str, Any]:
        branches: list[dict[str, Any]] = []
        for member in members:
            branch = self.schema(member)
            # A union in a union is one union: int | (str | None).
            for each in branch["anyOf"] if set(branch) == {"anyOf"} else [branch]:
                if each not in branches:
                    branches.append(each)
        return branches[0] if len(branches) == 1 else {"anyOf": branches}

    def _reference(self, kind: Any) -> dict[str, Any]:
        name = self._names.get(kind)
        if name is None:
            name = self._new_name(kind)
            self._names[kind] = name
            self._uses[name] = 0
            self._defs[name] = {}  # its place, before its fields may name it
            self._defs[name] = self._object(kind)
        self._uses[name] += 1
        return {"$ref": _Reference(name)}

    def _new_name(self, kind: Any) -> str:
        plain = "_".join(_name(each) for each in (get_origin(kind) or kind, *get_args(kind)))
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in plain)[:64]
        taken = {each.casefold() for each in self._defs}
        number, free = 1, name
        while free.casefold() in taken:
            number += 1
            free = f"{name}_{number}"
        return free

    def _object(self, kind: Any) -> dict[str, Any]:
        cls = get_origin(kind) or kind
        said = docstring.of_class(cls)
        schema: dict[str, Any] = {"type": "object"}
        if said.summary:
            schema["description"] = said.summary
        fields = fields_of(kind, self._local)
        schema["properties"] = {
            f.key: self._class_field(cls, f, said.parameters.get(f.name)) for f in fields
        }
        required = [f.key for f in fields if f.required]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return schema

    def _class_field(self, cls: Any, field: Field, text: str | None) -> dict[str, Any]:
        try:
            return self.field(field, text)
        except (TypeError, ValueError) as error:
            message = f"field {field.name!r} of {_name(cls)}: {error}"
            raise type(error)(message) from error


class _Reference(str):
    """The name of a definition before it has its place; never a text of an author's."""

    __slots__ = ()


def literal(values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the schema of a closed list of JSON scalars.

    Raises:
        TypeError: a value is no JSON scalar.
    """
    plain = [v.value if isinstance(v, enum.Enum) else v for v in values]
    kinds = {type(v) for v in plain}
    for value in plain:
        if not isinstance(value, str | int | float | None):
            text = f"the value {value!r} is no JSON text, number, boolean or null"
            raise TypeError(text)
    if not plain:
        text = "a type without any value fits nothing"
        raise TypeError(text)
    names = {_SCALARS.get(kind) or _SCALARS.get(kind.__base__) for kind in kinds}
    if len(names) == 1 and None not in names:
        return {"type": names.pop(), "enum": plain}
    return {"enum": plain}


def _default(field: Field, schema: Mapping[str, Any]) -> Any:
    value = unstructure(field.default)
    if not _fits(value, schema):
        text = f"the default {field.default!r} is not of its type"
        raise ValueError(text)
    return value


_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (types.NoneType,),
    "array": (list,),
    "object": (dict,),
}


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Catch a default of the wrong sort; the validator checks the rest at its time."""
    if "anyOf" in schema:
        return any(_fits(value, branch) for branch in schema["anyOf"])
    if "enum" in schema and not any(
        v == value and type(v) is type(value) for v in schema["enum"]
    ):
        return False
    kind = schema.get("type")
    if "$ref" in schema:
        kind = "object"
    if kind is None:
        return True
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or type(value) is not bool)


def _refuse_foreign(mark: Any) -> None:
    if type(mark).__module__.partition(".")[0] == "pydantic":
        text = "marks of pydantic are not understood: use Between, Length, Pattern or a text"
        raise TypeError(text)


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def _inexpressible(kind: Any) -> str:
    if isinstance(kind, TypeVar):
        return f"the type variable {kind} stands for nothing here: name a type"
    if isinstance(kind, str | typing.ForwardRef):
        return f"{kind} cannot be resolved: name the class itself, or use Any"
    return (
        f"JSON Schema cannot say {_name(kind)}: use JSON types, an attrs class, a "
        "dataclass, a TypedDict, or pass input_schema"
    )


def input_schema(
    function: Callable[..., Any],
    *,
    skip: int = 1,
    local: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    fields: list[Field] | None = None,
) -> dict[str, Any]:
    """Return the input schema of a handler ``(ctx, …)``.

    Args:
        function: The handler.
        skip: How many leading parameters are not arguments of the call.
        local: Names of enclosing functions, see ``introspection.enclosing_names``.
        texts: What the docstring says of each parameter.
        fields: Its parameters, where the caller has them already.

    Raises:
        DeclarationError: every parameter that JSON cannot say, by name.
    """
    title = getattr(function, "__qualname__", repr(function))
    builder = Builder(local)
    properties: dict[str, Any] = {}
    problems: list[str] = []
    fields = parameters(function, skip=skip, local=local) if fields is None else fields
    for field in fields:
        try:
            properties[field.key] = builder.field(field, (texts or {}).get(field.name))
        except (TypeError, ValueError) as error:
            problems.append(f"{title}: parameter {field.name!r}: {error}")
    if problems:
        raise DeclarationError(*problems)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [field.key for field in fields if field.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return builder.finish(schema)


def schema_of(
    kind: Any, *, local: Mapping[str, Any] | None = None, subject: str = "schema_of"
) -> dict[str, Any]:
    """Return the schema of a type.

    Raises:
        DeclarationError: JSON cannot say it.
    """
    builder = Builder(local)
    try:
        schema = builder.finish(builder.schema(kind))
        name = schema.pop("$ref", "").removeprefix("#/$defs/")
        # Readers look for ``type`` at the root, so a class that contains itself stands
        # there in full as well.
        return {**schema["$defs"][name], **schema} if name else schema
    except (TypeError, ValueError) as error:
        message = f"{subject}: {error}"
        raise DeclarationError(message) from error


def output_schema(
    function: Callable[..., Any], *, local: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the schema of what a handler returns, or None where it has no structure."""
    members = returned(function, local)
    if not members:
        return None
    title = getattr(shape(function).function, "__qualname__", repr(function))
    kind = members[0] if len(members) == 1 else typing.Union[members]  # noqa: UP007
    return schema_of(kind, local=local, subject=f"{title}: parameter 'return'")
