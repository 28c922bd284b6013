"""Copy, measure, compare and describe JSON values."""

from __future__ import annotations

import math

from collections.abc import Hashable, Mapping
from typing import Any


__all__ = [
    "TYPE_NAMES",
    "Budget",
    "BudgetError",
    "describe",
    "has_type",
    "identity",
    "shorten",
    "type_name",
]

TYPE_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
_ARTICLES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "null": "null",
}


class BudgetError(ValueError):
    """Raised when a value is no JSON value, or too much of one."""


class Budget:
    """How much of values a schema may still hold: characters and nested items."""

    def __init__(self, left: int = 512_000) -> None:
        self.left = left

    def copy(self, value: Any, depth: int = 0) -> Any:
        """Copy a JSON value.

        Raises:
            BudgetError: with the reason.
        """
        kind = type(value)
        self.spend(1 + (len(value) if kind is str else 0))
        if depth > 64:
            text = "is nested too deeply"
            raise BudgetError(text)
        if kind is dict:
            return {self.key(k): self.copy(v, depth + 1) for k, v in value.items()}
        if kind is list:
            return [self.copy(item, depth + 1) for item in value]
        if value is None or kind is bool or kind is str:
            return value
        return number(value)

    def spend(self, amount: int) -> None:
        """Take something off.

        Raises:
            BudgetError: nothing is left.
        """
        self.left -= amount
        if self.left < 0:
            text = "is too large"
            raise BudgetError(text)

    def key(self, value: Any) -> str:
        """Copy the key of an object."""
        if type(value) is not str:
            text = "has a key that is not text"
            raise BudgetError(text)
        self.spend(len(value))
        return value


def number(value: Any) -> int | float:
    """Return a number that JSON can say.

    Raises:
        BudgetError: it is none.
    """
    if type(value) is float and math.isfinite(value):
        return value
    # Longer integers cannot even be written as text without lifting a limit of Python.
    if type(value) is int and value.bit_length() < 4_096:
        return value
    text = "is not a JSON value"
    raise BudgetError(text)


def type_name(value: Any) -> str:
    """Return the JSON type of a value, ``number`` for every float."""
    return TYPE_NAMES.get(type(value)) or ("object" if isinstance(value, Mapping) else "none")


def describe(value: Any) -> str:
    """Name the type of a value in words, with its article."""
    return _ARTICLES.get(type_name(value), "something that is no JSON value")


def has_type(value: Any, kind: str, kinds: str | list[str]) -> bool:
    """Tell whether a value of a JSON type is of one of the types of a schema."""
    if kind == kinds or (not isinstance(kinds, str) and kind in kinds):
        return True
    if kind == "integer":
        return "number" in ((kinds,) if isinstance(kinds, str) else kinds)
    if kind == "number":
        whole = "integer" in ((kinds,) if isinstance(kinds, str) else kinds)
        return whole and isinstance(value, float) and value.is_integer()
    return False


def shorten(value: Any, most: int = 40) -> str:
    """Write a value for a message: scalars in short, containers by type and size."""
    if isinstance(value, str):
        text = value if len(value) <= most else value[: most - 1] + "…"
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        text = (
            repr(value)
            if not isinstance(value, int) or value.bit_length() < 256
            else "a huge number"
        )
        return text if len(text) <= most else text[: most - 1] + "…"
    if isinstance(value, dict) and not value:
        return "an empty object"
    if isinstance(value, list) and not value:
        return "an empty array"
    return describe(value)


def identity(value: Any) -> Hashable:
    """Return something that is equal for two values exactly if JSON calls them equal.

    ``1`` and ``1.0`` are equal, ``1`` and ``true`` are not.
    """
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, dict):
        return frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(identity(item) for item in value)
    hashable: Hashable = value
    return hashable
