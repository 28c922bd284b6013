"""Verdicts, explanations and caching of validators."""

from __future__ import annotations

import math
import sys
import threading

import pytest

from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.validator import Validator, Validators


def _check(schema, value):
    return Validators().get(schema).check(value)


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"type": "number"}, math.nan, False),
        ({"type": "number", "minimum": 1, "maximum": 60}, math.inf, False),
        ({}, [1, math.nan], False),
        ({"enum": [1]}, True, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": {"a": [False]}}, {"a": [0]}, False),
        ({"const": None}, None, True),
        ({"uniqueItems": True}, [1, True], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2], "a": 1}], False),
        ({"uniqueItems": True}, [[1], [True]], True),
        ({"multipleOf": 0.01}, 19.99, True),
        ({"multipleOf": 0.3}, 10**40, False),
        ({"multipleOf": 3}, 1e308, False),
        ({"multipleOf": 3}, 9, True),
        ({"maxLength": 1}, "\U0001f600", True),
        ({"type": "array"}, (1,), False),
        ({"type": "object"}, {1: 2}, False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"items": False}, [], True),
        ({"items": False}, [1], False),
        ({"prefixItems": [{"type": "null"}], "items": {"type": "string"}}, [None, "x"], True),
        ({"prefixItems": [{"type": "null"}], "items": {"type": "string"}}, [None, 1], False),
        ({"contains": {"const": 1}, "minContains": 2}, [1, 1], True),
        ({"contains": {"const": 1}, "minContains": 2}, [1, 2], False),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], False),
        ({"contains": {"const": 1}, "minContains": 0}, [], True),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, False),
        ({"dependentSchemas": {"a": {"minProperties": 2}}}, {"a": 1}, False),
        ({"if": {"const": 1}, "then": False, "else": True}, 1, False),
        ({"properties": {"a": False}}, {"a": 1}, False),
        ({"additionalProperties": False, "required": ["a"]}, {"a": 1}, False),
        ({"const": {"$ref": "#/x"}}, {"$ref": "#/x"}, True),
        ({"enum": [{"$id": "a"}, {"id": "b"}]}, {"id": "b"}, True),
        (
            {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
            {"a": 1},
            True,
        ),
        (
            {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
            {"b": 1},
            False,
        ),
        (
            {"properties": {"a-b": {"type": "string"}, "ab": {"type": "null"}}},
            {"ab": ""},
            False,
        ),
        ({"patternProperties": {"^x": {"type": "null"}}}, {"x1": 1}, False),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, False),
        ({"properties": {"a": {"type": "number"}}}, {"a": math.nan}, False),
        ({"properties": {"a": {"maximum": 1}}}, {"a": -math.inf}, False),
        ({"properties": {"a": {"type": "array"}}}, {"a": (1,)}, False),
        ({"properties": {"a": {"multipleOf": 3}}}, {"a": 1e308}, False),
    ],
)
def test_verdicts_are_exact(schema, value, valid):
    """Numbers, booleans, order and text are compared as JSON Schema says."""
    assert (not _check(schema, value)) is valid


@pytest.mark.parametrize("wrap", [lambda schema: schema, lambda schema: {"allOf": [schema]}])
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": ["string", "null"]}, None, 1),
        ({"enum": ["a", 1, None]}, 1, "b"),
        ({"const": [1, {"a": None}]}, [1, {"a": None}], [1, {"a": 0}]),
        ({"minimum": 1}, 1, 0.5),
        ({"maximum": 1}, 1, 1.5),
        ({"exclusiveMinimum": 1}, 1.5, 1),
        ({"exclusiveMaximum": 1}, 0, 1),
        ({"multipleOf": 2}, 4, 3),
        ({"minLength": 1}, "a", ""),
        ({"maxLength": 1}, "a", "ab"),
        ({"pattern": "^a+$"}, "aa", "b"),
        ({"minItems": 1}, [1], []),
        ({"maxItems": 1}, [1], [1, 2]),
        ({"uniqueItems": True}, [1, 2], [1, 1]),
        ({"minProperties": 1}, {"a": 1}, {}),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
        ({"required": ["a"]}, {"a": 1}, {"b": 1}),
        ({"properties": {"a": {"const": 1}}}, {"b": 2}, {"a": 2}),
        ({"additionalProperties": {"const": 1}}, {"b": 1}, {"b": 2}),
        ({"patternProperties": {"^a": {"const": 1}}}, {"ab": 1}, {"ab": 2}),
        ({"propertyNames": {"pattern": "^a"}}, {"ab": 1}, {"b": 1}),
        ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}),
        ({"items": {"const": 1}}, [1, 1], [1, 2]),
        ({"prefixItems": [{"const": 1}]}, [1, 2], [2]),
        ({"contains": {"const": 1}}, [2, 1], [2]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 2, 3),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 2, 3),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 1, 3),
        ({"not": {"const": 1}}, 2, 1),
        ({"if": {"minimum": 5}, "then": {"const": 9}, "else": {"const": 1}}, 9, 8),
        ({"if": {"minimum": 5}, "then": {"const": 9}, "else": {"const": 1}}, 1, 2),
    ],
)
def test_every_keyword_decides_and_is_explained(schema, good, bad, wrap):
    """Each keyword accepts and refuses, compiled and judged, alone and composed."""
    validator = Validator(normalize(wrap(schema)))
    assert validator.normal.engine == "fastjsonschema"
    assert validator.check(good) == ()
    (problem,) = validator.check(bad)
    assert problem.keyword != "schema"


def test_a_value_is_never_changed():
    """Checking fills nothing in, whatever defaults there are."""
    value = {}
    schema = {"properties": {"a": {"type": "integer", "default": 1}}}
    assert _check(schema, value) == ()
    assert value == {}


def test_every_problem_is_told_at_once():
    """One answer names each problem by pointer, and what was expected and sent."""
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maximum": 14},
            "list": {"type": "array", "items": {"type": "string"}},
            "mode": {"enum": ["fast", "slow"]},
            "a/b": {"type": "object", "properties": {"~": {"const": 1}}},
            "need": {"type": "string"},
        },
        "required": ["need"],
        "additionalProperties": False,
    }
    value = {"n": 99, "list": ["x", 2], "mode": "fats", "a/b": {"~": 2}, "nede": 1}
    problems = {problem.pointer: problem for problem in _check(schema, value)}
    assert problems.keys() == {"/n", "/list/1", "/mode", "/a~1b/~0", "/need", "/nede"}
    assert str(problems["/n"]) == "/n: expected a number up to 14, got 99"
    assert problems["/mode"].allowed == ('"fast"', '"slow"')
    assert problems["/mode"].hint == 'Did you mean "fast"?'
    assert problems["/need"].keyword == "required"
    assert problems["/nede"].hint == 'Did you mean "need"?'


def test_problems_are_bounded_in_number_and_size():
    """A thousand mistakes and huge values make a short answer."""
    schema = {"items": {"enum": [f"value {n} " + "x" * 200 for n in range(100)]}}
    problems = _check(schema, ["y" * 10_000] * 1_000)
    assert len(problems) == 10
    assert all(len(str(problem)) < 2_500 for problem in problems)


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_unions_are_explained_by_the_branch_that_was_meant(keyword):
    """A telling constant picks the branch; types are merged where none fits."""
    branch = {"type": "object", "required": ["kind", "size"]}
    schema = {
        keyword: [
            {**branch, "properties": {"kind": {"const": "a"}, "size": {"type": "string"}}},
            {**branch, "properties": {"kind": {"const": "b"}, "size": {"type": "integer"}}},
            {"type": "null"},
        ]
    }
    (problem,) = _check(schema, {"kind": "b", "size": "x"})
    assert (problem.pointer, problem.expected) == ("/size", "expected an integer")
    (problem,) = _check(schema, 3)
    assert problem.expected == "expected an object or null"


def test_schemas_that_cannot_be_enforced_raise_every_time():
    """A refused schema is remembered as refused."""
    validators = Validators()
    schema = {"type": "strng"}
    for _ in range(2):
        with pytest.raises(SchemaError) as caught:
            validators.get(schema)
        assert caught.value.pointer == "/type"


def test_validators_are_shared_by_equal_normal_forms():
    """Two tools with one schema compile it once."""
    validators = Validators()
    assert validators.get({"type": "float"}) is validators.get({"type": "number"})


def test_arguments_and_other_schemas_are_kept_apart():
    """One schema object is closed as arguments and open as anything else."""
    validators = Validators()
    schema = {"type": "object", "properties": {"a": {}}}
    assert validators.get(schema).is_valid({"b": 1})
    assert not validators.get(schema, arguments=True).is_valid({"b": 1})
    assert validators.get(schema).is_valid({"b": 1})


def test_the_cache_is_bounded():
    """Old schemas make room for new ones, and are still right when they come back."""
    validators = Validators(most=3)
    schemas = [{"const": number} for number in range(20)]
    for number, schema in enumerate(schemas):
        assert validators.get(schema).is_valid(number)
    assert len(validators._by_id) == len(validators._by_digest) == 3
    assert validators.get(schemas[0]).is_valid(0)


def test_validators_are_shared_by_threads():
    """Many threads that use one new validator at once get one right answer each."""
    validators = Validators()
    schema = {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    wrong = []

    def work():
        for number in range(50):
            good = validators.get(schema).check({"a": [number]})
            bad = validators.get(schema).check({"a": [str(number)]})
            if good or [problem.pointer for problem in bad] != ["/a/0"]:
                wrong.append((good, bad))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_defaults_are_filled_at_every_depth():
    """Missing keys get their default, each a value of its own."""
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "default": 3},
            "list": {"default": []},
            "o": {"type": "object", "properties": {"deep": {"default": "x"}}},
            "items": {"type": "array", "items": {"properties": {"k": {"default": False}}}},
            "opt": {
                "anyOf": [
                    {"properties": {"d": {"default": 1}}, "type": "object"},
                    {"type": "null"},
                ]
            },
            "bad": {"type": "string", "default": None},
        },
    }
    validator = Validator(normalize(schema))
    one, two = {"o": {}, "items": [{}], "opt": {}}, {}
    validator.fill(one)
    validator.fill(two)
    assert one == {
        "n": 3,
        "list": [],
        "o": {"deep": "x"},
        "items": [{"k": False}],
        "opt": {"d": 1},
    }
    assert two == {"n": 3, "list": []}
    assert one["list"] is not two["list"]


def test_defaults_of_a_recursive_schema_end():
    """A tree is filled as deep as it is sent."""
    schema = {
        "$ref": "#/$defs/n",
        "$defs": {
            "n": {
                "type": "object",
                "properties": {
                    "size": {"default": 1},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}},
                },
            }
        },
    }
    value = {"kids": [{}]}
    Validator(normalize(schema)).fill(value)
    assert value == {"size": 1, "kids": [{"size": 1}]}


def _asked_deep(calls, validator, value):
    """Ask a validator from within some calls of one another."""
    return _asked_deep(calls - 1, validator, value) if calls else validator.check(value)


@pytest.mark.parametrize("keyword", ["anyOf", "properties"])
def test_how_deep_an_app_asks_changes_no_verdict(keyword):
    """A value as deep as is taken is valid from the bottom of an app's own calls, too."""
    node = {"$ref": "#/$defs/n"}
    inner = {"type": "object", "properties": {"a": node}}
    choice = {"anyOf": [{**inner, "required": ["b"]}, inner]}
    schema = {"$ref": "#/$defs/n", "$defs": {"n": choice if keyword == "anyOf" else inner}}
    validator = Validator(normalize(schema))
    good, bad = {}, {"a": 1}
    for _ in range(60):
        good, bad = {"a": good}, {"a": bad}
    calls = sys.getrecursionlimit() - 150
    assert _asked_deep(calls, validator, good) == ()
    assert "deeper" not in str(_asked_deep(calls, validator, bad))
    assert _asked_deep(calls, validator, bad) != ()
