"""One tool in a manifest: from and to its entry, quickly and closed.

A manifest of a thousand tools is read at every start, so an entry is read by one table
of small readers. What is left out has the default of :class:`toolcrib.Tool`; what has a
default is left out by the writer, except the words that decide something.
"""

from __future__ import annotations

import math
import sys

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import attrs

from toolcrib.tool import Description, Example, Requirements, Tool
from toolcrib.vocabulary import Audience, Cancellation, Concurrency, Effect, Idempotence, Label


__all__ = [
    "NEEDED",
    "FormError",
    "read_keys",
    "read_requires",
    "read_text",
    "read_texts",
    "read_tool",
    "write_requires",
    "write_tool",
]

# Deep enough for any schema that can be compiled, shallow enough for any reader.
_DEEPEST = 64
W = TypeVar("W", bound=StrEnum)
Reader = Callable[[Any], Any]


class FormError(ValueError):
    """Raised when a part of a manifest is not in its form; it names the place."""

    def __init__(self, text: str, *path: str | int) -> None:
        self.text = text
        self.path = path
        super().__init__(text)

    def __str__(self) -> str:
        where = "".join(f"/{part}" for part in self.path) or "/"
        return f"{where}: {self.text}"


def read_keys(
    value: Any, readers: Mapping[str, Reader], required: Iterable[str] = ()
) -> dict[str, Any]:
    """Read an object with a closed set of keys."""
    if type(value) is not dict:
        text = "an object is needed"
        raise FormError(text)
    found: dict[str, Any] = {}
    for key, each in value.items():
        reader = readers.get(key)
        if reader is None:
            raise FormError(_unknown(key, readers), key)
        try:
            found[key] = reader(each)
        except FormError as error:
            raise FormError(error.text, key, *error.path) from None
    for key in required:
        if key not in found:
            text = f"{key!r} is missing"
            raise FormError(text)
    return found


def _unknown(word: Any, known: Iterable[str]) -> str:
    names = sorted(known)
    import difflib  # noqa: PLC0415 - only for words that are wrong

    near = difflib.get_close_matches(str(word), names, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "known are: " + " ".join(names)
    return f"{word!r} is not known; {remedy}"


def read_text(value: Any) -> str:
    """Read a text that is not empty."""
    if type(value) is not str or not value or value.isspace():
        text = "a text that is not empty is needed"
        raise FormError(text)
    return value


def read_texts(value: Any) -> tuple[str, ...]:
    """Read a list of texts."""
    if type(value) is not list:
        text = "a list is needed"
        raise FormError(text)
    for index, each in enumerate(value):
        if type(each) is not str or not each:
            text = "a text that is not empty is needed"
            raise FormError(text, index)
    return tuple(value)


def _any_text(value: Any) -> str:
    if type(value) is not str:
        text = "a text is needed"
        raise FormError(text)
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        text = "true or false is needed"
        raise FormError(text)
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value < math.inf:
        text = "a number of seconds above zero is needed"
        raise FormError(text)
    return float(value)


def _count(value: Any) -> int:
    if type(value) is not int or value < 1:
        text = "a whole number above zero is needed"
        raise FormError(text)
    return value


def _word(kind: type[W]) -> Reader:
    table = {str(word): word for word in kind}

    def read(value: Any) -> W:
        try:
            return table[value]
        except (KeyError, TypeError):
            raise FormError(_unknown(value, table)) from None

    return read


def _words(kind: type[W]) -> Reader:
    table = {str(word): word for word in kind}
    every = frozenset(kind)

    def read(value: Any) -> frozenset[W]:
        if type(value) is not list:
            text = "a list is needed"
            raise FormError(text)
        try:
            found = frozenset([table[each] for each in value])
        except (KeyError, TypeError):
            index = next(i for i, v in enumerate(value) if type(v) is not str or v not in table)
            raise FormError(_unknown(value[index], table), index) from None
        return every if found == every else found

    return read


def _schema(value: Any) -> dict[str, Any]:
    if type(value) is not dict or value.get("type") != "object":
        text = 'a JSON Schema with "type": "object" is needed'
        raise FormError(text)
    if type(value.get("properties", {})) is not dict:
        text = "an object is needed"
        raise FormError(text, "properties")
    _shallow(value)
    return value


def _output(value: Any) -> Any:
    if type(value) not in (dict, bool):
        text = "a JSON Schema is needed"
        raise FormError(text)
    if value not in (True, False):
        _shallow(value)
    return value


def _shallow(value: Any, depth: int = _DEEPEST) -> None:
    for each in value.values() if type(value) is dict else value:
        kind = type(each)
        if kind is dict or kind is list:
            if not depth:
                text = f"it is nested deeper than {_DEEPEST}"
                raise FormError(text)
            _shallow(each, depth - 1)


def _arguments(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        text = "an object is needed"
        raise FormError(text)
    _shallow(value)
    return value


def _examples(value: Any) -> tuple[Example, ...]:
    if type(value) is not list:
        text = "a list is needed"
        raise FormError(text)
    found = []
    for index, each in enumerate(value):
        try:
            plain = read_keys(each, _EXAMPLE, ("description", "arguments"))
        except FormError as error:
            raise FormError(error.text, index, *error.path) from None
        found.append(Example(**plain))
    return tuple(found)


def _description(value: Any) -> Description:
    return Description(**read_keys(value, _DESCRIPTION, ("summary",)))


def read_requires(value: Any) -> Requirements:
    """Read what must be there."""
    return _NOTHING if value == {} else Requirements(**read_keys(value, _REQUIRES))


_NOTHING = Requirements()
_EXAMPLE: dict[str, Reader] = {"description": _any_text, "arguments": _arguments}
_REQUIRES: dict[str, Reader] = dict.fromkeys(
    ("executables", "capabilities", "flags"), read_texts
)
_DESCRIPTION: dict[str, Reader] = {
    "summary": read_text,
    "details": _any_text,
    "usage": read_texts,
    "cautions": read_texts,
    "examples": _examples,
}
_TOOL: dict[str, Reader] = {
    "name": _any_text,  # its grammar is judged apart, with its own code
    "title": read_text,
    "version": read_text,
    "category": read_text,
    "tags": read_texts,
    "description": _description,
    "input_schema": _schema,
    "output_schema": _output,
    "effects": _words(Effect),
    "audience": _words(Audience),
    "serves": read_texts,
    "idempotent": _word(Idempotence),
    "concurrency": _word(Concurrency),
    "cancellation": _word(Cancellation),
    "strict": _flag,
    "deferred": _flag,
    "labels": _words(Label),
    "requires": read_requires,
    "timeout": _seconds,
    "result_budget": _count,
    "delegate": read_text,
    "intent": _flag,
    "companions": lambda value: frozenset(read_texts(value)),
    "directives": lambda value: frozenset(read_texts(value)),
}
NEEDED = ("name", "description", "input_schema")


def read_tool(entry: Any, pack: str) -> Tool:
    """Read one entry.

    Raises:
        FormError: the first thing that is wrong with it, and where.
    """
    found = read_keys(entry, _TOOL, NEEDED)
    name = found.pop("name")
    if "title" not in found:
        found["title"] = name.replace("_", " ").capitalize()
    return Tool(id=sys.intern(f"{pack}.{name}"), **found)


def write_requires(requires: Requirements) -> dict[str, Any]:
    """Return what must be there as a JSON value."""
    every = {name: sorted(getattr(requires, name)) for name in _REQUIRES}
    return {name: values for name, values in every.items() if values}


# These are written even where they have their default: a reader of the manifest, or of
# a change to it, must not have to know the defaults to see what a tool may do.
_TELLING = frozenset(
    {"title", "effects", "idempotent", "concurrency", "cancellation", "labels"}
)
_DEFAULTS = {field.name: field.default for field in attrs.fields(Tool) if field.name in _TOOL}


def write_tool(tool: Tool) -> dict[str, Any]:
    """Return the entry of a tool."""
    entry: dict[str, Any] = {"name": tool.name}
    for field in _TOOL:
        if field == "name":
            continue
        value = getattr(tool, field)
        if field not in _TELLING and field in _DEFAULTS and value == _DEFAULTS[field]:
            continue
        plain = _plain(field, value)
        if plain is not None and (plain or field != "requires"):
            entry[field] = plain
    return entry


def _plain(field: str, value: Any) -> Any:
    if field == "description":
        parts = {
            "summary": value.summary,
            "details": value.details,
            "usage": list(value.usage),
            "cautions": list(value.cautions),
            "examples": [
                {"description": e.description, "arguments": dict(e.arguments)}
                for e in value.examples
            ],
        }
        return {name: part for name, part in parts.items() if part}
    if field == "requires":
        return write_requires(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value
