"""The keywords that combine subschemas for one value, and which branch to explain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .graph import target
from .problem import Problem
from .telling import expected_type
from .values import has_type, shorten, type_name


if TYPE_CHECKING:
    from .judge import Judge


__all__ = ["all_of", "any_of", "condition", "negation", "one_of"]

Schema = dict[str, Any]

_MOST_EXPLAINED = 20


def all_of(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``allOf``: every branch accepts the value."""
    for branch in schema["allOf"]:
        yield from judge.again(branch, value, pointer)


def any_of(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``anyOf``: at least one branch accepts the value."""
    if not any(judge.accepts(branch, value) for branch in schema["anyOf"]):
        yield from _explain(judge, "anyOf", schema["anyOf"], value, pointer)


def one_of(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``oneOf``: exactly one branch accepts the value."""
    found = sum(1 for branch in schema["oneOf"] if judge.accepts(branch, value))
    if not found:
        yield from _explain(judge, "oneOf", schema["oneOf"], value, pointer)
    elif found > 1:
        sent = f"a value that fits {found} of them"
        yield Problem(pointer, "oneOf", "expected exactly one of the alternatives", sent)


def negation(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``not``: the branch does not accept the value."""
    if judge.accepts(schema["not"], value):
        yield Problem(pointer, "not", "not allowed here", shorten(value))


def condition(judge: Judge, schema: Schema, value: Any, pointer: str) -> Iterator[Problem]:
    """``if``: decides which of two branches counts."""
    branch = schema.get("then" if judge.accepts(schema["if"], value) else "else")
    if branch:
        yield from judge.again(branch, value, pointer)


def _explain(
    judge: Judge, keyword: str, branches: list[Schema], value: Any, pointer: str
) -> Iterator[Problem]:
    """Say why no branch accepts a value: by the branch that was most likely meant."""
    if judge.tired():
        yield Problem(pointer, keyword, "fits none of the alternatives", shorten(value))
        return
    kind = type_name(value)
    wanted: list[str] = []
    told: list[list[Problem]] = []
    for branch in branches:
        types = _typed(judge, branch)
        if types is not None and not has_type(value, kind, types["type"]):
            wanted.append(expected_type(types))
            continue
        told.append(list(islice(judge.walk(branch, value, pointer), _MOST_EXPLAINED)))
    if told:
        yield from min(told, key=lambda problems: _distance(problems, pointer))
    else:
        expected = "expected " + " or ".join(dict.fromkeys(wanted))
        hint = "Send JSON, not text." if kind == "string" and "a string" not in wanted else ""
        yield Problem(pointer, "type", expected, shorten(value), hint=hint)


def _typed(judge: Judge, schema: Schema) -> Schema | None:
    """Return the subschema that names the types of a branch, references followed."""
    for _ in range(8):
        if "type" in schema:
            return schema
        name = target(schema)
        if name is None:
            return None
        schema = judge.definitions[name]
    return None


def _distance(problems: list[Problem], pointer: str) -> tuple[int, int]:
    """Measure how far a value is from a branch: its telling constants count most."""
    depth = pointer.count("/") + 1
    wrong = sum(
        1
        for problem in problems
        if problem.keyword in ("const", "enum") and problem.pointer.count("/") <= depth
    )
    return wrong, len(problems)
