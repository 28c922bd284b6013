"""Objects with named properties, and properties that may be left out."""

from __future__ import annotations

import re

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
WORDS = re.compile(r"[A-Za-z_]+")


def _object(sub, required=()):
    return {"type": "object", "properties": {"v": sub}, "required": list(required)}


@pytest.mark.parametrize(
    ("sub", "wire"),
    [
        (TEXT, {"type": ["string", "null"]}),
        ({"type": "string", "pattern": "a"}, {"type": ["string", "null"], "pattern": "a"}),
        (
            {"type": ["string", "integer"]},
            {"type": ["string", "integer", "null"]},
        ),
        (
            {"enum": ["a"], "description": "D."},
            {
                "description": "D.",
                "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}],
            },
        ),
        (
            {"anyOf": [TEXT, NUMBER], "description": "D."},
            {"description": "D.", "anyOf": [TEXT, NUMBER, {"type": "null"}]},
        ),
    ],
)
def test_a_null_of_ours_says_that_a_property_is_left_out(show, sub, wire):
    """Where all properties are required, null means absent, and is taken away again."""
    shown = show(_object(sub), absent="null", closed=True)
    assert shown.v == wire
    assert shown.schema["required"] == ["v"]
    assert shown.undo({"v": None}) == {}


@pytest.mark.parametrize(
    "sub",
    [
        {"type": ["string", "null"]},
        {"type": "null"},
        {"enum": ["a", None]},
        {"const": None},
        {"anyOf": [TEXT, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, TEXT]},
        {"$ref": "#/$defs/maybe"},
        {"nullable": True, "type": "string"},
        True,
        {},
    ],
)
def test_a_null_that_is_a_value_cannot_mean_absent(refuse, sub):
    """Absent, null and a value are three things, and two cannot be told apart."""
    schema = {**_object(sub), "$defs": {"maybe": {"type": ["string", "null"]}}}
    assert "null is a value, so it cannot mean absent" in refuse(schema, absent="null")


@pytest.mark.parametrize(
    "sub",
    [
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"anyOf": [TEXT, NUMBER]},
        {"allOf": [{"type": "string"}, {"maxLength": 3}]},
        {"$ref": "#/$defs/word"},
    ],
)
def test_what_never_is_null_can_be_left_out(show, sub):
    """There null is free to mean absent."""
    shown = show({**_object(sub), "$defs": {"word": TEXT}}, absent="null")
    assert shown.undo({"v": None}) == {}
    assert shown.do({}) == {"v": None}


def test_a_null_default_makes_null_and_absent_one(show):
    """Leaving it out means null, and null can be said."""
    shown = show(_object({"type": ["string", "null"], "default": None}), absent="null")
    assert shown.undo({"v": None}) == {"v": None}


def test_an_optional_object_is_a_union_with_null(show):
    """What is inside it is undone as well."""
    inner = {"type": "object", "properties": {"w": TEXT}}
    shown = show(_object(inner), absent="null")
    assert shown.v["anyOf"][1] == {"type": "null"}
    assert shown.undo({"v": {"w": None}}) == {"v": {}}
    assert shown.undo({"v": None}) == {}


def test_a_property_that_is_never_accepted_is_not_shown(show):
    """``false`` is how a schema forbids a name."""
    schema = {"type": "object", "properties": {"v": TEXT, "gone": False}}
    shown = show(schema)
    assert list(shown.schema["properties"]) == ["v"]
    assert shown.losses == [("/properties/gone", "false", "dropped")]


def test_a_required_name_without_a_property_is_said_in_words(show):
    """The model is told at the root, and in the description below it."""
    inner = {"type": "object", "properties": {"a": TEXT}, "required": ["a", "x"]}
    shown = show({"type": "object", "properties": {"v": inner}, "required": ["v", "y"]})
    assert shown.v["required"] == ["a"]
    assert shown.v["description"] == '(required=["x"])'
    assert 'Required=["y"].' in shown.text
    assert ("", "required", "folded") in shown.losses


def test_a_required_name_without_a_property_does_not_fit_a_closed_form(refuse):
    """A closed object could never have it."""
    text = refuse({"type": "object", "properties": {"v": TEXT}, "required": ["y"]}, closed=True)
    assert "'y' is required but not declared" in text


def test_patterns_beside_properties_are_said_in_words(show):
    """Further names may be anything that any pattern allows."""
    schema = {**_object(TEXT), "patternProperties": {"^x": NUMBER}}
    shown = show(schema)
    assert ("", "patternProperties", "folded") in shown.losses
    assert 'PatternProperties={"^x":{"type":"integer"}}.' in shown.text


def test_what_further_properties_are_is_sent_and_undone(show):
    """A map beside named properties is undone name by name."""
    pair = {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False, "minItems": 2}
    shown = show({**_object(TEXT), "additionalProperties": pair}, tuples="object")
    assert shown.schema["additionalProperties"]["required"] == ["item_0", "item_1"]
    assert shown.undo({"v": "x", "p": {"item_0": "a", "item_1": 1}}) == {
        "v": "x",
        "p": ["a", 1],
    }


def test_further_properties_are_left_out_where_the_form_has_no_word(show):
    """The tool's own schema closes all the same."""
    shown = show({**_object(TEXT), "additionalProperties": False}, keeps=frozenset())
    assert "additionalProperties" not in shown.schema


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"additionalProperties": NUMBER}, "named properties and a map in one object"),
        ({"additionalProperties": True}, "open object"),
        ({"additionalProperties": {}}, "open object"),
    ],
)
def test_what_a_form_without_open_objects_refuses(refuse, schema, said):
    """The next form is tried, so that nothing expressible is lost."""
    assert said in refuse({**_object(TEXT), **schema}, mixed=False)


def test_an_object_that_says_nothing_is_open(show_v, refuse_v):
    """Anything may be in it, where a form can say so."""
    assert show_v({"type": "object", "description": "D."}).v == {
        "type": "object",
        "description": "D.",
    }
    assert "open object" in refuse_v({"type": "object"}, mixed=False)


def test_an_object_without_unevaluated_properties_is_closed(show_v):
    """``unevaluatedProperties: false`` closes what has no combinations."""
    sub = {"type": "object", "properties": {"a": TEXT}, "unevaluatedProperties": False}
    assert show_v(sub).v["additionalProperties"] is False


@pytest.mark.parametrize("everywhere", [True, False])
def test_names_are_cleaned_where_the_provider_asks_for_it(show, everywhere):
    """Everywhere, or at the root alone; the note says what stands for what."""
    inner = {"type": "object", "properties": {"$in": TEXT}}
    schema = {"type": "object", "properties": {"$out": inner}}
    shown = show(schema, key_pattern=WORDS, keys_everywhere=everywhere)
    (outer,) = shown.schema["properties"]
    (below,) = shown.schema["properties"][outer]["properties"]
    assert outer.startswith("_out_")
    assert below.startswith("_in_") if everywhere else below == "$in"
    assert f"{outer} stands for $out." in shown.text
    assert shown.undo({outer: {below: "x"}}) == {"$out": {"$in": "x"}}


def test_a_cleaned_name_that_another_has_is_refused(refuse, show):
    """Two properties are never merged under one name."""
    (sent,) = show({"properties": {"$v": TEXT}}, key_pattern=re.compile("[a-z0-9_]+")).schema[
        "properties"
    ]
    schema = {"type": "object", "properties": {"$v": TEXT, sent: TEXT}}
    text = refuse(schema, key_pattern=re.compile("[a-z0-9_]+"))
    assert f"the properties '$v' and '{sent}' would both be '{sent}'" in text


def test_cleaned_names_of_a_kept_form_are_required_and_undone(show):
    """What speaks of the old names is dropped, and recorded."""
    schema = {
        "type": "object",
        "properties": {"$a": TEXT, "b": TEXT},
        "required": ["$a"],
        "dependentRequired": {"$a": ["b"]},
    }
    shown = show(schema, narrow=False, key_pattern=WORDS)
    sent = next(name for name in shown.schema["properties"] if name != "b")
    assert shown.schema["required"] == [sent]
    assert ("", "dependentRequired", "dropped") in shown.losses
    assert shown.undo({sent: "x", "b": "y"}) == {"$a": "x", "b": "y"}


def test_a_reference_into_a_renamed_root_is_refused(refuse):
    """It would lead to a name that is no longer there."""
    schema = {"type": "object", "properties": {"$a": TEXT, "b": {"$ref": "#/properties/$a"}}}
    text = refuse(schema, narrow=False, key_pattern=WORDS)
    assert "a reference leads to a root whose properties are renamed" in text


@pytest.mark.parametrize("start", [None, re.compile("[A-Za-z]")])
def test_a_cleaned_name_begins_as_the_provider_wants(show, start):
    """Some refuse a name that begins with anything but a letter."""
    shown = show(
        {"properties": {"1-a": TEXT}}, key_pattern=re.compile("[a-z]+"), key_start=start
    )
    (sent,) = shown.schema["properties"]
    assert sent.startswith("p_1_a_" if start else "1_a_")
