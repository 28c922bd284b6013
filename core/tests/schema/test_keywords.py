"""What one keyword of a schema may say, and what is made of it."""

from __future__ import annotations

import pytest

from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.validator import Validators


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "built"),
    [
        ({"type": "string", "examples": ["a"]}, {"type": "string", "examples": ["a"]}),
        ({"type": "string", "examples": "a"}, {"type": "string"}),
        ({"type": "array", "uniqueItems": False}, {"type": "array"}),
        ({"type": "array", "uniqueItems": True}, {"type": "array", "uniqueItems": True}),
        ({"type": "object", "required": []}, {"type": "object"}),
        (
            {"type": "object", "required": ["a", "b", "a"]},
            {"type": "object", "required": ["a", "b"]},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"type": "integer", "maximum": 1, "exclusiveMaximum": False},
            {"type": "integer", "maximum": 1},
        ),
        (
            {"dependencies": {"a": "b", "c": [], "d": {"required": ["e"]}}},
            {
                "dependentRequired": {"a": ["b"]},
                "dependentSchemas": {"d": {"required": ["e"]}},
            },
        ),
        ({"type": "string", "title": None}, {"type": "string"}),
    ],
)
def test_a_keyword_is_brought_into_its_one_form(schema, built):
    """Older spellings and empty words leave one way to say a thing."""
    found = normalize({"type": "object", "properties": {"v": schema}}).schema
    part = found["properties"]["v"]
    assert {key: part[key] for key in built} == built
    assert part.keys() - built.keys() <= {"additionalProperties", "type"}


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"uniqueItems": "yes"}, "uniqueItems"),
        ({"required": "a"}, "required"),
        ({"required": [1]}, "required"),
        ({"pattern": 7}, "pattern"),
        ({"pattern": "("}, "pattern"),
        ({"patternProperties": ["a"]}, "patternProperties"),
        ({"patternProperties": {"(": {}}}, "patternProperties"),
        ({"properties": 7}, "properties"),
        ({"dependentRequired": {"a": {"required": ["b"]}}}, "dependentRequired"),
        ({"exclusiveMinimum": True}, "exclusiveMinimum"),
    ],
)
def test_a_keyword_that_says_nothing_meant_is_refused_by_name(schema, keyword):
    """The error names the keyword and where it stands."""
    with pytest.raises(SchemaError) as caught:
        normalize({"type": "object", "properties": {"v": schema}})
    assert caught.value.keyword == keyword
    assert caught.value.pointer.startswith("/properties/v")


def test_an_annotation_of_the_wrong_type_is_a_recorded_loss():
    """It changes no verdict, so it is left out and said."""
    normal = normalize({"type": "object", "title": 7})
    assert "title" not in normal.schema
    assert [loss.keyword for loss in normal.losses] == ["title"]


def test_a_boolean_bound_is_read_as_in_draft_4_and_said():
    """Its author means the older draft, whatever the schema says of itself."""
    schema = {"type": "object", "properties": {"v": {"minimum": 1, "exclusiveMinimum": True}}}
    normal = normalize(schema)
    assert [repair.keyword for repair in normal.repairs] == ["exclusiveMinimum"]
    assert normalize(schema, draft="4").repairs == ()


@pytest.mark.parametrize("names", [{}, {"propertyNames": {"maxLength": 5}}])
def test_a_slow_pattern_of_names_is_tried_on_short_names_alone(names):
    """Matching stays fast; the limit is recorded, and never wider than the author's."""
    slow = {"patternProperties": {"^a*a*a*$": TEXT}, "type": "object", **names}
    normal = normalize(slow)
    limit = normal.schema["propertyNames"]["maxLength"]
    assert limit <= names.get("propertyNames", {}).get("maxLength", limit)
    assert [repair.keyword for repair in normal.repairs] == ["patternProperties"]


def test_a_slow_pattern_limits_its_text():
    """A stated length that is shorter is kept."""
    wide = normalize({"type": "object", "properties": {"v": {"pattern": "^a*a*a*$"}}})
    limit = wide.schema["properties"]["v"]["maxLength"]
    narrow = normalize(
        {"type": "object", "properties": {"v": {"maxLength": 3, "pattern": "^a*a*a*$"}}}
    )
    assert limit > 3
    assert narrow.schema["properties"]["v"]["maxLength"] == 3


# -- the other engine --------------------------------------------------------------

HARD = {
    "type": "object",
    "properties": {"v": {"type": "string", "pattern": "^(a+)+$"}},
    "required": ["v"],
}


@pytest.fixture
def other():
    """Make the validator of a schema that only the other engine can judge."""
    pytest.importorskip("jsonschema_rs")

    def make(schema):
        normal = normalize(schema)
        assert normal.engine == "jsonschema-rs"
        return Validators().get(normal)

    return make


def test_the_other_engine_judges_what_the_first_cannot_say(other):
    """Valid is valid, and what is wrong is said with its place."""
    validator = other(HARD)
    assert validator.check({"v": "aa"}) == ()
    (problem,) = validator.check({"v": "ab"})
    assert (problem.pointer, problem.keyword) == ("/v", "pattern")


def test_the_place_of_a_problem_is_a_pointer(other):
    """Names with slashes are escaped."""
    schema = {"type": "object", "properties": {"a/b": {"items": HARD["properties"]["v"]}}}
    (problem,) = other(schema).check({"a/b": ["aa", "ab"]})
    assert problem.pointer == "/a~1b/1"


def test_a_value_that_takes_too_long_to_judge_is_refused(other):
    """What cannot be judged is not let through."""
    slow = {"type": "object", "properties": {"v": {"pattern": r"^(?=a)(a|a?)+\1$"}}}
    problems = other(slow).check({"v": "a" * 40 + "!"})
    assert problems


@pytest.mark.parametrize("ref", ["https://example.com/s.json", "file:///etc/hosts"])
def test_nothing_is_ever_fetched(ref):
    """A reference to another document is refused before anybody opens it."""
    with pytest.raises(SchemaError):
        properties = {**HARD["properties"], "w": {"$ref": ref}}
        Validators().get(normalize({"type": "object", "properties": properties}))
