"""Values of settings, each checked by what it is: a slip is told, never guessed away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolcrib import Effect


__all__ = [
    "Wrong",
    "as_effects",
    "as_flag",
    "as_names",
    "as_table",
    "as_text",
    "as_texts",
    "as_texts_by_name",
    "number_within",
    "one_of",
    "whole_within",
]


class Wrong(ValueError):  # noqa: N818 - as it reads where it is raised
    """Raised for a value that is none of those that are wanted; the text says which are."""


def number_within(low: float, high: float) -> Callable[[Any], float]:
    """Return what takes a number within two bounds."""

    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            text = f"a number is wanted, not {value!r}"
            raise Wrong(text)
        if not low <= value <= high:
            text = f"{value} is not within {low:g} and {high:g}"
            raise Wrong(text)
        return value

    return convert


def whole_within(low: int, high: int) -> Callable[[Any], int]:
    """Return what takes a whole number within two bounds."""
    number = number_within(low, high)

    def convert(value: Any) -> int:
        if isinstance(value, float):
            text = f"a whole number is wanted, not {value!r}"
            raise Wrong(text)
        return int(number(value))

    return convert


def as_flag(value: Any) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        text = f"true or false is wanted, not {value!r}"
        raise Wrong(text)
    return value


def as_text(value: Any) -> str:
    """Take a text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        text = f"a text is wanted, not {value!r}"
        raise Wrong(text)
    return value


def as_texts(value: Any) -> tuple[str, ...]:
    """Take a list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        text = "a list of texts is wanted"
        raise Wrong(text)
    return tuple(value)


def as_names(value: Any) -> frozenset[str]:
    """Take a list of names."""
    return frozenset(as_texts(value))


def as_texts_by_name(value: Any) -> dict[str, str]:
    """Take a table of texts; numbers are written out."""
    if not isinstance(value, Mapping):
        text = "a table of texts is wanted"
        raise Wrong(text)
    out = {}
    for key, each in value.items():
        if isinstance(each, bool) or not isinstance(each, str | int | float):
            text = f"the value of {key} is no text"
            raise Wrong(text)
        out[str(key)] = str(each)
    return out


def as_effects(value: Any) -> frozenset[Effect]:
    """Take a list of effects."""
    try:
        return frozenset(Effect(each) for each in as_texts(value))
    except ValueError as error:
        text = f"{error}; effects are {', '.join(Effect)}"
        raise Wrong(text) from error


def one_of(*words: str) -> Callable[[Any], str]:
    """Return what takes one of a few words."""

    def convert(value: Any) -> str:
        if value not in words:
            text = f"{value!r} is none of {', '.join(words)}"
            raise Wrong(text)
        return str(value)

    return convert


def as_table(value: Any) -> Mapping[str, Any]:
    """Take any table."""
    if not isinstance(value, Mapping):
        text = "a table is wanted"
        raise Wrong(text)
    return dict(value)
