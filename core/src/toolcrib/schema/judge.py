"""Judge a value by a normal form, and say what is wrong with it.

The judge reads the schema as it goes. It is slower than a compiled validator, but it says
everything that is wrong at once, in words and with pointers, and it visits each pair of
subschema and value once, so no schema makes it take exponential time.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from . import alternatives, evaluating, judging, telling
from .failures import PatternError, UndecidableError
from .graph import target
from .problem import Problem
from .values import TYPE_NAMES, has_type, identity


__all__ = ["Judge"]

Schema = dict[str, Any]
Check = Callable[["Judge", Schema, Any, str], Iterator[Problem]]

_MOST_TRIED = 30
_MOST_STEPS = 3_000


class Judge:
    """Judge values by one normal form.

    Args:
        root: The normal form.
    """

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.definitions: dict[str, Schema] = root.get("$defs", {})
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._lists: dict[int, frozenset[Hashable]] = {}
        self._checks: dict[tuple[int, str], tuple[Check, ...]] = {}
        self._plain: dict[int, frozenset[type]] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self.quiet = 0
        self.lenient = False
        self.steps = 0

    def fresh(self, *, lenient: bool = False) -> Judge:
        """Return a judge of the same schema for one value; it is not shared by threads.

        A lenient one takes every text for a pattern that only another engine can match:
        it explains, and does not decide.
        """
        other = Judge(self.root)
        other.lenient = lenient
        other._patterns = self._patterns
        other._lists = self._lists
        other._checks = self._checks
        other._plain = self._plain
        return other

    def problems(self, value: Any, most: int = _MOST_TRIED) -> list[Problem]:
        """Return what is wrong with a value, at most some number of things."""
        return list(islice(self.walk(self.root, value, ""), most))

    def accepts(self, schema: Schema, value: Any) -> bool:
        """Tell whether a subschema accepts a value."""
        key = (id(schema), id(value))
        known = self._known.get(key)
        if known is None:
            self.quiet += 1
            try:
                known = next(self.walk(schema, value, ""), None) is None
            finally:
                self.quiet -= 1
            # Ids are stable: whoever asks holds the whole value.
            self._known[key] = known
        return known

    def part(self, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
        """Yield what is wrong with a part of a value."""
        if isinstance(value, dict | list) and self.accepts(schema, value):
            return
        yield from self.walk(schema, value, pointer)

    def again(self, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
        """Yield what is wrong by a further subschema of a value, judged at most once."""
        if not self.accepts(schema, value):
            yield from self.walk(schema, value, pointer)

    def walk(self, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
        """Yield what is wrong with a value by one subschema."""
        self.steps += 1
        kind = TYPE_NAMES[type(value)]
        kinds = schema.get("type")
        if kinds is not None and kinds != kind and not has_type(value, kind, kinds):
            yield telling.wrong_type(schema, value, pointer)
            return
        for check in self._checking(schema, kind):
            yield from check(self, schema, value, pointer)

    def plain(self, schema: Schema) -> frozenset[type]:
        """Return the types of values that a subschema asks nothing more of."""
        known = self._plain.get(id(schema))
        if known is None:
            kind = schema.get("type")
            one = isinstance(kind, str) and not self._checking(schema, kind)
            types = [each for each, name in TYPE_NAMES.items() if one and name == kind]
            known = self._plain[id(schema)] = frozenset(types)
        return known

    def _checking(self, schema: Schema, kind: str) -> tuple[Check, ...]:
        """Return what a subschema asks of values of one type, in its own order."""
        key = (id(schema), kind)
        known = self._checks.get(key)
        if known is None:
            found = map(_OF_TYPE[kind].get, schema)
            known = self._checks[key] = tuple(check for check in found if check is not None)
        return known

    def tired(self) -> bool:
        """Whether nobody asks for more than a verdict, or enough was tried to explain it."""
        return self.quiet > 0 or self.steps > _MOST_STEPS

    def listed(self, schema: Schema, value: Any) -> bool:
        """Tell whether a value is in the list of a schema."""
        key = id(schema)
        known = self._lists.get(key)
        if known is None:
            known = self._lists[key] = frozenset(map(identity, schema["enum"]))
        return identity(value) in known

    def pattern(self, text: str) -> re.Pattern[str]:
        """Return the compiled form of a pattern."""
        compiled = self._patterns.get(text)
        if compiled is None:
            from . import patterns  # noqa: PLC0415 - only schemas with patterns pay

            try:
                compiled = re.compile(patterns.read(text).python)
            except PatternError as error:
                if self.lenient:
                    return _ANYTHING
                raise UndecidableError from error
            self._patterns[text] = compiled
        return compiled


_ANYTHING = re.compile("")


def _reference(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    yield from judge.again(judge.definitions[target(schema) or ""], value, pointer)


_ANY_TYPE: dict[str, Check] = {
    "$ref": _reference,
    "enum": judging.enum,
    "const": judging.const,
    "allOf": alternatives.all_of,
    "anyOf": alternatives.any_of,
    "oneOf": alternatives.one_of,
    "not": alternatives.negation,
    "if": alternatives.condition,
}
_NUMBER: dict[str, Check] = {
    **{key: partial(judging.bound, key=key) for key in judging.BOUNDS},
    "multipleOf": judging.multiple,
    **_ANY_TYPE,
}
_OF_TYPE: dict[str, dict[str, Check]] = {
    "object": {
        "required": judging.required,
        "properties": judging.properties,
        "patternProperties": judging.pattern_properties,
        "additionalProperties": judging.additional,
        "propertyNames": judging.property_names,
        "minProperties": partial(judging.size, key="minProperties"),
        "maxProperties": partial(judging.size, key="maxProperties"),
        "dependentRequired": judging.dependent_required,
        "dependentSchemas": judging.dependent_schemas,
        "unevaluatedProperties": evaluating.properties,
        **_ANY_TYPE,
    },
    "array": {
        "prefixItems": judging.prefix_items,
        "items": judging.items,
        "contains": judging.contains,
        "minItems": partial(judging.size, key="minItems"),
        "maxItems": partial(judging.size, key="maxItems"),
        "uniqueItems": judging.unique,
        "unevaluatedItems": evaluating.items,
        **_ANY_TYPE,
    },
    "string": {
        "minLength": partial(judging.size, key="minLength"),
        "maxLength": partial(judging.size, key="maxLength"),
        "pattern": judging.pattern,
        **_ANY_TYPE,
    },
    "integer": _NUMBER,
    "number": _NUMBER,
    "boolean": _ANY_TYPE,
    "null": _ANY_TYPE,
}
