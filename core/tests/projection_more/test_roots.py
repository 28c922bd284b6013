"""The root of a schema: an object without combinations, or wrapped."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
PROPERTIES = {"a": TEXT, "b": TEXT}


def test_a_root_that_is_a_reference_is_opened(show):
    """Generators put the arguments into a definition and refer to it."""
    schema = {
        "$ref": "#/$defs/args",
        "description": "About.",
        "$defs": {"args": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}},
    }
    shown = show(schema)
    assert shown.schema["properties"] == {"a": TEXT}
    assert shown.schema["required"] == ["a"]
    assert "$ref" not in shown.schema


@pytest.mark.parametrize("narrow", [True, False])
def test_a_root_that_refers_to_itself_is_refused(refuse, narrow):
    """It leads to no object, however long it is followed."""
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert "the reference #/$defs/a leads to no object" in refuse(schema, narrow=narrow)


def test_a_root_that_refers_to_a_boolean_is_refused(refuse):
    """Arguments are an object."""
    schema = {"$ref": "#/$defs/a", "$defs": {"a": True}}
    assert "the root is no object" in refuse(schema)


def test_a_root_whose_reference_is_contradicted_is_refused(refuse):
    """Neither the reference nor what stands beside it wins."""
    schema = {
        "$ref": "#/$defs/a",
        "type": "object",
        "$defs": {"a": {"type": "array", "items": TEXT}},
    }
    assert "what stands beside the root's reference contradicts it" in refuse(schema)


@pytest.mark.parametrize("narrow", [True, False])
def test_a_conjunction_at_the_root_is_merged(show, narrow):
    """Arguments that are inherited become one object."""
    schema = {
        "type": "object",
        "allOf": [
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"properties": {"b": NUMBER}},
        ],
    }
    shown = show(schema, narrow=narrow)
    assert shown.schema["properties"] == {"a": TEXT, "b": NUMBER}
    assert shown.schema["required"] == ["a"]


def test_a_conjunction_that_cannot_be_merged_is_wrapped(show):
    """Where everything may be sent, it stays whole, in a property of its own."""
    members = [{"properties": {"a": {"pattern": "x"}}}, {"properties": {"a": {"pattern": "y"}}}]
    shown = show({"type": "object", "allOf": members}, narrow=False)
    assert shown.schema["required"] == ["input"]
    assert shown.schema["properties"]["input"]["allOf"] == members
    assert shown.undo({"input": {"a": "xy"}}) == {"a": "xy"}


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_union_at_the_root_is_wrapped(show, narrow, keyword):
    """The branches stay told apart, and the wrapper goes on the way back."""
    branches = [
        {"type": "object", "properties": {k: TEXT}, "required": [k]} for k in ("a", "b")
    ]
    shown = show({"type": "object", keyword: branches}, narrow=narrow)
    assert len(shown.schema["properties"]["input"]["anyOf"]) == 2
    assert shown.undo({"input": {"a": "x"}}) == {"a": "x"}


def test_a_wrapper_never_takes_the_name_of_a_property(show):
    """Arguments called ``input`` stay what they are."""
    branches = [{"properties": {"input_2": TEXT}, "required": ["input_2"]}, {"required": ["x"]}]
    schema = {"type": "object", "properties": {"input": TEXT}, "anyOf": branches}
    shown = show(schema, narrow=False)
    assert list(shown.schema["properties"]) == ["input_3"]
    assert shown.undo({"input_3": {"input": "i"}}) == {"input": "i"}


@pytest.mark.parametrize("narrow", [True, False])
def test_alternatives_at_the_root_are_said_in_words(show, narrow):
    """Which of the properties are needed is a sentence of the tool's text."""
    schema = {
        "type": "object",
        "properties": PROPERTIES,
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    shown = show(schema, narrow=narrow)
    assert shown.schema["properties"] == PROPERTIES
    assert "At least one of: a; b." in shown.text
    assert ("", "anyOf", "folded") in shown.losses


def test_what_providers_refuse_at_the_root_is_said_in_words(show):
    """``not`` at the root is no reason to lose the tool."""
    shown = show(
        {"type": "object", "properties": PROPERTIES, "not": {"required": ["a", "b"]}},
        narrow=False,
    )
    assert "not" not in shown.schema
    assert 'not={"required":["a","b"]}.' in shown.text
    assert ("", "not", "folded") in shown.losses


def test_a_root_of_several_types_is_an_object(show):
    """Arguments are always an object, whatever else the schema admits."""
    shown = show({"type": ["object", "null"], "properties": PROPERTIES})
    assert shown.schema["type"] == "object"


def test_a_root_without_a_type_is_an_object(show):
    """What says nothing about its type means arguments."""
    assert show({"properties": PROPERTIES}).schema["type"] == "object"


@pytest.mark.parametrize("kind", ["array", ["string", "null"]])
def test_a_root_of_another_type_is_refused(refuse, kind):
    """No provider sends a list as arguments."""
    assert "arguments are an object, the root is" in refuse({"type": kind})
