"""``allOf`` in a form that has none: two schemas said as one, or not at all."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
DEFS = {"word": {"type": "string", "minLength": 1}, "long": {"type": "string", "minLength": 9}}


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (
            {"type": ["integer", "null"]},
            {"type": "number", "minimum": 1},
            {"type": "integer", "minimum": 1},
        ),
        ({"type": "number"}, {"type": ["integer", "string"]}, {"type": "integer"}),
        (
            {"type": ["string", "integer", "null"]},
            {"type": ["null", "string"]},
            {"type": ["string", "null"]},
        ),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {"type": "string", "enum": ["b"]}),
        ({"enum": [1, 2]}, {"const": 2}, {"type": "integer", "enum": [2]}),
        (
            {"type": "integer", "multipleOf": 4},
            {"multipleOf": 6},
            {"type": "integer", "multipleOf": 12},
        ),
        (
            {"type": "number", "multipleOf": 0.5},
            {"multipleOf": 0.5},
            {"type": "number", "multipleOf": 0.5},
        ),
        (
            {"type": "integer", "minimum": 1, "maximum": 9},
            {"minimum": 3, "maximum": 12},
            {"type": "integer", "minimum": 3, "maximum": 9},
        ),
        (
            {"type": "array", "items": True, "uniqueItems": False},
            {"items": TEXT, "uniqueItems": True, "minItems": 1},
            {"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 1},
        ),
        (
            {"type": "array", "items": TEXT},
            {"items": True},
            {"type": "array", "items": TEXT},
        ),
        (
            {"type": "string", "description": "One."},
            {"description": "Two."},
            {"type": "string", "description": "Two."},
        ),
        ({"type": "string", "pattern": "^a"}, True, {"type": "string", "pattern": "^a"}),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
            {"properties": {"a": {"maximum": 5}, "b": TEXT}, "required": ["a"]},
            {
                "type": "object",
                "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 5}, "b": TEXT},
                "required": ["a"],
            },
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "dependentRequired": {"a": ["b"]}},
            {"properties": {"b": TEXT}, "dependentRequired": {"a": ["b", "c"], "b": ["a"]}},
            {
                "type": "object",
                "properties": {"a": TEXT, "b": TEXT},
                "dependentRequired": {"a": ["b", "c"], "b": ["a"]},
            },
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
            {"required": ["a"]},
            {
                "type": "object",
                "properties": {"a": TEXT},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_what_both_accept_is_said_as_one(show_v, one, other, merged):
    """Each keyword of two members becomes the tighter of both."""
    assert show_v({"allOf": [one, other]}).v == merged


@pytest.mark.parametrize(
    ("one", "other", "keyword"),
    [
        ({"type": "string"}, {"type": "integer"}, "type"),
        ({"enum": ["a"]}, {"enum": ["b"]}, "enum"),
        ({"enum": [1, 2]}, {"const": 3}, "enum"),
        ({"type": "number", "multipleOf": 0.5}, {"multipleOf": 0.3}, "multipleOf"),
        ({"type": "string", "pattern": "a"}, {"pattern": "b"}, "pattern"),
        (
            {"type": "array", "items": {"$ref": "#/$defs/word"}},
            {"items": {"$ref": "#/$defs/long"}},
            "$ref",
        ),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
            {"properties": {"b": TEXT}},
            "additionalProperties",
        ),
        ({"type": "string"}, False, "allOf"),
    ],
)
def test_what_cannot_be_said_as_one_is_a_recorded_loss(show_v, one, other, keyword):
    """The members are left out, never guessed at, and the loss names the keyword."""
    shown = show_v({"description": "About.", "allOf": [one, other]}, defs=DEFS)
    assert shown.v == {"description": "About."}
    assert shown.losses == [("/properties/v", "allOf", "dropped")]
    assert shown.reasons[0].endswith(f"differ in {keyword}")


def test_a_strict_form_does_not_drop_members(refuse_v):
    """What strict promises would be a lie without them."""
    text = refuse_v({"allOf": [{"type": "string"}, {"type": "integer"}]}, strict=True)
    assert "the members of allOf cannot be said as one: type" in text


def test_equal_references_of_two_members_stay_one(show_v):
    """A reference is compared, not opened."""
    item = {"$ref": "#/$defs/word"}
    shown = show_v(
        {"type": "object", "allOf": [{"properties": {"a": item}}, {"properties": {"a": item}}]},
        defs=DEFS,
    )
    assert shown.v["properties"]["a"] == item


@pytest.mark.parametrize(("one", "other"), [(True, TEXT), (TEXT, True)])
def test_a_property_that_may_be_anything_adds_nothing(show_v, one, other):
    """``true`` beside a schema is that schema."""
    shown = show_v({"allOf": [{"properties": {"a": one}}, {"properties": {"a": other}}]})
    assert shown.v["properties"] == {"a": TEXT}


def test_a_property_that_one_member_forbids_is_not_shown(show_v):
    """``false`` beside a schema is false."""
    members = [{"properties": {"a": False, "b": TEXT}}, {"properties": {"a": TEXT}}]
    shown = show_v({"type": "object", "allOf": members})
    assert shown.v["properties"] == {"b": TEXT}
    assert ("/properties/v/properties/a", "false", "dropped") in shown.losses


def test_a_member_that_is_a_reference_is_merged_in(show_v):
    """``allOf`` of a definition and more is how many generators say inheritance."""
    shown = show_v({"allOf": [{"$ref": "#/$defs/word"}, {"maxLength": 5}]}, defs=DEFS)
    assert shown.v == {"type": "string", "minLength": 1, "maxLength": 5}


def test_a_member_that_is_recursive_cannot_be_merged(show_v):
    """A definition that contains itself has no end to merge."""
    defs = {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}
    shown = show_v({"allOf": [{"$ref": "#/$defs/node"}, {"maxProperties": 5}]}, defs=defs)
    assert shown.reasons == ["its members differ in $ref"]


def test_a_member_that_refers_to_a_boolean_cannot_be_merged(show_v):
    """There is nothing in ``true`` to merge."""
    shown = show_v({"allOf": [{"$ref": "#/$defs/any"}, {"maxLength": 5}]}, defs={"any": True})
    assert shown.reasons == ["its members differ in $ref"]
