"""What an annotation may say beside its type: bounds, lengths, patterns and text.

::

    days: Annotated[int, "How many days ahead", Between(1, 14)] = 3

A bound of ``toolcrib`` stands in the input schema, so the model reads it and admission
enforces it. The validators of attrs and the marks of ``annotated_types`` are understood
as well. Anything else in an annotation belongs to somebody else and is left alone.
"""

from __future__ import annotations

import re

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

import attrs


__all__ = [
    "AtLeast",
    "AtMost",
    "Between",
    "Format",
    "Length",
    "Multiple",
    "Pattern",
    "Url",
    "apply",
    "documentation",
    "keywords",
    "text_of",
]


Number: TypeAlias = int | float


def _ordered(low: Number | None, high: Number | None) -> None:
    if low is not None and high is not None and low > high:
        text = f"the lower bound {low} is above the upper bound {high}"
        raise ValueError(text)


@attrs.frozen
class Between:
    """A number from ``low`` to ``high``, both included."""

    low: Number
    high: Number

    def __attrs_post_init__(self) -> None:
        _ordered(self.low, self.high)


@attrs.frozen
class AtLeast:
    """A number not below ``low``."""

    low: Number


@attrs.frozen
class AtMost:
    """A number not above ``high``."""

    high: Number


@attrs.frozen
class Multiple:
    """A number that ``of`` divides."""

    of: Number

    def __attrs_post_init__(self) -> None:
        if not self.of > 0:
            text = f"a multiple is of a number above zero, not of {self.of}"
            raise ValueError(text)


@attrs.frozen
class Length:
    """A text, list or mapping of ``least`` to ``most`` characters, items or entries."""

    least: int = 0
    most: int | None = None

    def __attrs_post_init__(self) -> None:
        _ordered(self.least, self.most)


@attrs.frozen
class Pattern:
    """A text in which the expression is found; anchor it with ``^`` and ``$``."""

    expression: str

    def __attrs_post_init__(self) -> None:
        try:
            re.compile(self.expression)
        except re.error as error:
            text = f"{self.expression!r} is no regular expression: {error}"
            raise ValueError(text) from error


@attrs.frozen
class Format:
    """A text with a meaning that a schema can name, such as ``email``."""

    name: str


# An alias and not a NewType: handlers and tests pass plain strings.
Url: TypeAlias = Annotated[str, Format("uri")]

_NUMBER = frozenset({"integer", "number"})
_TEXT = frozenset({"string"})
_SIZED = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
# Keyword → the schema types that it constrains. Lengths are settled by _SIZED.
_FITS = {
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "exclusiveMinimum": _NUMBER,
    "exclusiveMaximum": _NUMBER,
    "multipleOf": _NUMBER,
    "pattern": _TEXT,
    "format": _TEXT,
    "least": frozenset(_SIZED),
    "most": frozenset(_SIZED),
}
_COMPARISONS = {
    ">=": "minimum",
    "<=": "maximum",
    ">": "exclusiveMinimum",
    "<": "exclusiveMaximum",
}
_ANNOTATED_TYPES = {
    "Ge": (("ge", "minimum"),),
    "Le": (("le", "maximum"),),
    "Gt": (("gt", "exclusiveMinimum"),),
    "Lt": (("lt", "exclusiveMaximum"),),
    "Interval": (
        ("ge", "minimum"),
        ("le", "maximum"),
        ("gt", "exclusiveMinimum"),
        ("lt", "exclusiveMaximum"),
    ),
    "MultipleOf": (("multiple_of", "multipleOf"),),
    "MinLen": (("min_length", "least"),),
    "MaxLen": (("max_length", "most"),),
    "Len": (("min_length", "least"), ("max_length", "most")),
}


def text_of(mark: Any) -> str | None:
    """Return the text that a mark in an annotation gives, or None."""
    if isinstance(mark, str):
        return mark
    text = getattr(mark, "documentation", None)  # typing_extensions.Doc
    return text if isinstance(text, str) else None


def documentation(marks: tuple[Any, ...]) -> str | None:
    """Return the last text among marks."""
    texts = [text for mark in marks if (text := text_of(mark)) is not None]
    return texts[-1] if texts else None


def keywords(mark: Any) -> Iterator[tuple[str, Any]]:
    """Return the constraints of one mark or validator, as ``(keyword, value)``.

    ``least`` and ``most`` stand for a length, ``in`` for a closed list of values.
    """
    match mark:
        case Between(low, high):
            yield from (("minimum", low), ("maximum", high))
        case AtLeast(low):
            yield "minimum", low
        case AtMost(high):
            yield "maximum", high
        case Multiple(of):
            yield "multipleOf", of
        case Length(least, most):
            yield from (("least", least or None), ("most", most))
        case Pattern(expression):
            yield "pattern", expression
        case Format(name):
            yield "format", name
        case _:
            yield from _foreign(mark)


def _foreign(mark: Any) -> Iterator[tuple[str, Any]]:
    kind = type(mark)
    if kind.__module__ == "annotated_types":
        for attribute, keyword in _ANNOTATED_TYPES.get(kind.__name__, ()):
            yield keyword, getattr(mark, attribute, None)
    elif kind.__module__ == "attr.validators":
        yield from _validator(kind.__name__, mark)
    elif kind.__module__ == "attr._make" and kind.__name__ == "_AndValidator":
        for each in mark._validators:  # noqa: SLF001 - attrs has no public way to look
            yield from keywords(each)


def _validator(name: str, mark: Any) -> Iterator[tuple[str, Any]]:
    # A validator that is not listed (``instance_of``, ``not_`` …) still runs when the
    # object is built: it is enforced, only the schema cannot tell of it.
    match name:
        case "_NumberValidator":
            yield _COMPARISONS[mark.compare_op], mark.bound
        case "_MinLengthValidator":
            yield "least", mark.min_length
        case "_MaxLengthValidator":
            yield "most", mark.max_length
        case "_InValidator":
            # attrs keeps a set as a tuple, in an order that differs in every process.
            yield "in", getattr(mark, "_original_options", mark.options)
        case "_MatchesReValidator":
            yield "pattern", _expression(mark.pattern, mark.match_func)
        case "_OptionalValidator":
            inner = mark.validator
            for each in inner if isinstance(inner, list | tuple) else (inner,):
                yield from keywords(each)
        case "_DeepIterable":
            yield from keywords(mark.iterable_validator)
        case "_DeepMapping":
            yield from keywords(mark.mapping_validator)


def _expression(pattern: re.Pattern[str], match_func: Any) -> str | None:
    # A schema has no flags; re.UNICODE is what text patterns always carry.
    if pattern.flags & ~re.UNICODE:
        return None
    text = pattern.pattern
    how = getattr(match_func, "__name__", "fullmatch")
    if how == "search":
        return text
    if "|" in text:
        text = f"(?:{text})"
    return f"^{text}" if how == "match" else f"^{text}$"


def apply(schema: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Put constraints into a schema; into the fitting branches of a union.

    Raises:
        ValueError: a constraint fits no part of the schema.
    """
    for keyword, value in found.items():
        if value is not None and not _apply_one(schema, keyword, value):
            kind = schema.get("type") or "this type"
            text = f"{_NAMES.get(keyword, keyword)} cannot be said of {kind}"
            raise ValueError(text)
    return schema


_NAMES = {"least": "a length", "most": "a length", "in": "a list of values"}


def _apply_one(schema: dict[str, Any], keyword: str, value: Any) -> bool:
    branches = schema.get("anyOf")
    if branches is not None:
        return sum(_apply_one(branch, keyword, value) for branch in branches) > 0
    kind: str = schema.get("type", "")
    if keyword == "in":
        return _restrict(schema, value)
    if kind not in _FITS.get(keyword, ()) or "enum" in schema:
        return False
    name = _SIZED[kind][keyword == "most"] if keyword in ("least", "most") else keyword
    schema[name] = value
    return True


def _restrict(schema: dict[str, Any], options: Any) -> bool:
    values = list(options)
    if isinstance(options, set | frozenset):
        values.sort(key=lambda value: (type(value).__name__, value))
    if schema.get("type") == "null":
        return False
    if not all(isinstance(v, str | int | float | bool | None) for v in values):
        return "enum" in schema  # members of an enum: the type itself lists them
    schema["enum"] = values
    return True
