"""Older drafts, OpenAPI and local references, read as 2020-12."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"type": "integer", "maximum": 9, "exclusiveMaximum": False},
            {"type": "integer", "maximum": 9},
        ),
        (
            {"type": "array", "items": [TEXT], "additionalItems": NUMBER},
            {"type": "array", "prefixItems": [TEXT], "items": NUMBER},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": ["string", "integer"], "nullable": True},
            {"type": ["string", "integer", "null"]},
        ),
        (
            {"anyOf": [TEXT, NUMBER], "nullable": True},
            {"anyOf": [TEXT, NUMBER, {"type": "null"}]},
        ),
        (
            {"$ref": "#/$defs/word", "nullable": True},
            {"anyOf": [{"$ref": "#/$defs/word"}, {"type": "null"}]},
        ),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {
                "type": "object",
                "properties": {"a": TEXT, "b": TEXT},
                "dependencies": {"a": ["b"], "b": {"required": ["a"]}},
            },
            {
                "type": "object",
                "properties": {"a": TEXT, "b": TEXT},
                "dependentRequired": {"a": ["b"]},
                "dependentSchemas": {"b": {"required": ["a"]}},
            },
        ),
        ({"type": "string", "x-order": 3}, TEXT),
    ],
)
def test_older_forms_are_read_as_new_ones(show_v, old, new):
    """Nothing of an older draft or of OpenAPI is lost on the way."""
    assert show_v(old, defs={"word": TEXT}, narrow=False).v == new


def test_definitions_of_older_drafts_are_definitions(show):
    """``definitions`` are moved to where references look for them."""
    schema = {
        "type": "object",
        "properties": {"v": {"$ref": "#/definitions/word"}},
        "definitions": {"word": TEXT},
    }
    shown = show(schema, narrow=False)
    assert shown.v == {"$ref": "#/$defs/word"}
    assert shown.schema["$defs"] == {"word": TEXT}


@pytest.mark.parametrize("keyword", ["$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize("narrow", [True, False])
def test_dynamic_references_are_refused_by_name(refuse_v, keyword, narrow):
    """They are not followed, and not ignored either."""
    text = refuse_v({keyword: "#node"}, narrow=narrow)
    assert "dynamic references are not supported" in text
    assert keyword in text


def test_a_reference_may_be_percent_encoded(show_v):
    """A pointer in a URI fragment is encoded as URIs are."""
    shown = show_v({"$ref": "#/$defs/a%20b"}, defs={"a b": NUMBER}, refs="inline")
    assert shown.v == NUMBER


def test_a_reference_may_lead_into_a_list(show):
    """A pointer counts the members of a list."""
    schema = {
        "type": "object",
        "properties": {
            "one": {"anyOf": [TEXT, NUMBER]},
            "v": {"$ref": "#/properties/one/anyOf/1"},
        },
    }
    assert show(schema).v == NUMBER


@pytest.mark.parametrize("ref", ["#/properties/one/anyOf/7", "#/$defs/gone", "#/type"])
def test_a_reference_that_leads_to_no_schema_is_refused(refuse, ref):
    """It is named, and the tool alone is not shown."""
    schema = {
        "type": "object",
        "properties": {"one": {"anyOf": [TEXT, NUMBER]}, "v": {"$ref": ref}},
    }
    assert f"the reference to {ref} leads to no schema" in refuse(schema)


@pytest.mark.parametrize("ref", ["https://example.com/schema", "other.json#/a", "#anchor", 7])
def test_a_reference_outside_the_schema_is_never_followed(refuse_v, ref):
    """Nothing is fetched because a schema asks for it."""
    assert "only references inside the schema are followed" in refuse_v({"$ref": ref})


def test_what_stands_beside_a_reference_of_draft_07_does_not_count(show):
    """Until draft-07, only annotations beside a reference mean anything."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"v": {"$ref": "#/definitions/word", "maxLength": 1, "title": "T"}},
        "definitions": {"word": TEXT},
    }
    assert show(schema).v == TEXT


def test_properties_with_slashes_have_pointers(show):
    """A loss names its node, whatever characters are in the name."""
    schema = {"type": "object", "properties": {"a/b~c": False, "v": TEXT}}
    assert show(schema).losses[0] == ("/properties/a~1b~0c", "false", "dropped")


@pytest.mark.parametrize("narrow", [True, False])
def test_what_is_no_schema_costs_its_tool_alone(refuse_v, narrow):
    """A live source can send anything."""
    assert "a schema is an object or a boolean, not 7" in refuse_v(7, narrow=narrow)


def test_properties_that_are_no_object_cost_their_tool_alone(refuse):
    """A form that is rebuilt has nothing to rebuild."""
    assert "not a JSON Schema" in refuse({"properties": ["v"]})


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("properties", ["a"]), ("anyOf", {"a": {}}), ("patternProperties", "x")],
)
def test_a_keyword_that_holds_no_schemas_is_dropped_and_recorded(show_v, keyword, value):
    """Where everything may be sent, what is no schema is left out, never silently."""
    shown = show_v({"type": "object", keyword: value}, narrow=False)
    assert shown.v == {"type": "object"}
    assert shown.losses == [("/properties/v", keyword, "dropped")]


def test_a_declaration_shares_nothing_with_its_tool(show_v):
    """Whoever changes a declaration does not change the tool."""
    members = [{"a": [1]}, {"a": [2.5]}]
    shown = show_v({"enum": members, "examples": ({"a": 1},)}, narrow=False)
    assert shown.v["enum"] == members
    shown.v["enum"][0]["a"].append(2)
    assert members[0] == {"a": [1]}
