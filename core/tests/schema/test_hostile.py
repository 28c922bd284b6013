"""Schemas made to hurt: they end in a refusal or in a verdict, soon."""

from __future__ import annotations

import sys

import pytest

from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.schema.engines import compile_fast
from toolcrib.schema.lowering import lower
from toolcrib.validator import Validator, Validators


# Lines of Python; what needs most of these tests, 50,000 properties, runs through 520,000.
SOON = 2_000_000


def _nested(depth, wrap, inner):
    schema = inner
    for _ in range(depth):
        schema = wrap(schema)
    return schema


def _cycle():
    schema = {"type": "object"}
    schema["properties"] = {"a": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        _nested(10_000, lambda inner: {"properties": {"a": inner}}, {}),
        {"properties": {f"p{n}": {} for n in range(50_000)}},
        {"enum": ["x" * 100_000] * 10},
        {"const": _nested(500, lambda inner: [inner], 1)},
        {"pattern": "(" * 3_000},
        {"minimum": 10**5_000},
        {"properties": {1: {}}},
        _cycle(),
    ],
    ids=["deep", "wide", "large", "deep value", "long pattern", "huge", "keys", "cycle"],
)
def test_oversized_schemas_are_refused(schema, at_most):
    """Depth, size and numbers have limits; no other exception gets out."""
    with at_most(SOON), pytest.raises(SchemaError) as caught:
        normalize(schema)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    ("wrap", "good", "bad"),
    [
        (lambda inner: {"type": "array", "items": inner}, lambda value: [value], 1),
        (lambda inner: {"anyOf": [inner, {"type": "null"}]}, lambda value: value, "x"),
        (
            lambda inner: {"type": "object", "properties": {"a": inner}},
            lambda value: {"a": value},
            {"a": {"a": 1}},
        ),
        (lambda inner: {"not": {"not": inner}}, lambda value: value, "x"),
    ],
    ids=["items", "anyOf", "properties", "not"],
)
def test_nesting_that_python_cannot_indent_is_compiled_in_parts(wrap, good, bad, at_most):
    """Thirty levels are deeper than Python nests blocks, and still decided at speed."""
    normal = normalize(_nested(30, wrap, {"type": "integer"}))
    assert normal.engine == "fastjsonschema"
    accepts = compile_fast(lower(normal.schema))
    with at_most(SOON):
        assert accepts(_nested(30, good, 1)) is True
        assert accepts(bad) is False
        assert accepts(_nested(30, good, "x")) is False


def _doubling(keyword):
    steps = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
        for n in range(40)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**steps, "d40": {"type": "string"}}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_are_judged_once_each(keyword, at_most):
    """Forty doublings of one value do not take 2**40 steps."""
    with at_most(SOON):
        validator = Validator(normalize(_doubling(keyword)))
        assert validator.normal.engine == "toolcrib"
        assert validator.is_valid("x") is (keyword != "oneOf")
        assert not validator.is_valid(1)


def _forking(keyword):
    node = {"$ref": "#/$defs/n"}
    branches = [
        {"type": "object", "properties": {"k": {"const": n}, "a": node}} for n in range(2)
    ]
    return {"$ref": "#/$defs/n", "$defs": {"n": {keyword: branches}}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_recursion_that_forks_is_judged_once_each(keyword, at_most):
    """A recursive union does not take 2**depth steps for a deep value."""
    validator = Validator(normalize(_forking(keyword)))
    good = _nested(40, lambda inner: {"a": inner}, {})
    bad = _nested(40, lambda inner: {"a": inner}, 1)
    with at_most(SOON):
        assert validator.is_valid(good) is (keyword != "oneOf")
        assert validator.check(bad)


def test_deep_values_are_refused_without_recursion(at_most):
    """A value deeper than any schema needs is a problem, not an exception."""
    validator = Validators().get(
        {"$ref": "#/$defs/l", "$defs": {"l": {"items": {"$ref": "#"}}}}
    )
    deep = _nested(sys.getrecursionlimit() * 3, lambda inner: [inner], [])
    with at_most(SOON):
        (problem,) = validator.check(deep)
    assert problem.keyword == "value"


def test_code_in_names_and_values_is_data():
    """Nothing of a schema reaches the generated code as code."""
    evil = '"]; raise SystemExit("owned") #\n{0}{data}{__class__}'
    schema = {
        "properties": {evil: {"const": evil, "pattern": "^" + "[\"'{}]" * 3}},
        "required": [evil],
        "additionalProperties": False,
        "dependentRequired": {evil: [evil]},
        "enum": [{evil: evil}],
    }
    validator = Validator(normalize(schema))
    assert not validator.is_valid({})
    assert not validator.is_valid({evil: 1})
    assert validator.check({"{data}": 1})
