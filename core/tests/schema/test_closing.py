"""The closing rule."""

from __future__ import annotations

import pytest

from toolcrib.schema import normalize
from toolcrib.validator import Validator


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


def _accepts(schema, value):
    return Validator(normalize(schema, arguments=True)).is_valid(value)


def test_objects_that_list_properties_are_closed_at_every_depth():
    """Nested objects, also in lists and definitions, are closed and recorded."""
    schema = {
        "type": "object",
        "properties": {"o": OBJECT, "l": {"type": "array", "items": {"$ref": "#/$defs/d"}}},
        "$defs": {"d": OBJECT},
    }
    normal = normalize(schema, arguments=True)
    assert set(normal.closed) == {"", "/properties/o", "/$defs/d"}
    assert not _accepts(schema, {"x": 1})
    assert not _accepts(schema, {"o": {"b": 1}})
    assert not _accepts(schema, {"l": [{"b": 1}]})
    assert _accepts(schema, {"o": {"a": "x"}, "l": [{"a": "x"}]})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {**OBJECT, "additionalProperties": True},
        {**OBJECT, "additionalProperties": {"type": "integer"}},
        {**OBJECT, "patternProperties": {"^x": {"type": "integer"}}},
    ],
)
def test_maps_stay_open(schema):
    """Who lists no property, or speaks about others, is not closed."""
    assert normalize(schema, arguments=True).closed == ()
    assert _accepts(schema, {"x": 1})


def test_inherited_properties_are_known():
    """An object that is composed knows the properties of every part."""
    schema = {
        "type": "object",
        "properties": {"a": {}},
        "allOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/c"}],
        "$defs": {"c": {"properties": {"c": {}}}},
    }
    assert _accepts(schema, {"a": 1, "b": 1, "c": 1})
    assert not _accepts(schema, {"d": 1})


def test_root_alternatives_do_not_open_or_break():
    """Alternatives that only require leave the object closed."""
    schema = {**OBJECT, "anyOf": [{"required": ["a"]}, {"maxProperties": 0}]}
    assert _accepts(schema, {"a": "x"})
    assert not _accepts(schema, {"a": "x", "b": 1})


def test_a_union_with_a_map_stays_open():
    """One branch that takes any object keeps unknown keys allowed."""
    schema = {"properties": {"v": {"anyOf": [OBJECT, {"type": "object"}]}}}
    assert _accepts(schema, {"v": {"z": 1}})


def test_closing_never_accepts_more():
    """Two open branches that both match stay a conflict of oneOf."""
    schema = {
        "type": "object",
        "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}],
    }
    assert not _accepts(schema, {"a": 1})
    negated = {"type": "object", "properties": {"v": {"not": OBJECT}}}
    assert not _accepts(negated, {"v": {"a": "x", "z": 1}})


def test_a_definition_that_an_unsafe_place_uses_is_not_closed():
    """What not or oneOf refer to keeps its meaning everywhere."""
    schema = {
        "type": "object",
        "properties": {
            "v": {"$ref": "#/$defs/o"},
            "n": {"not": {"items": {"$ref": "#/$defs/o"}}},
        },
        "$defs": {"o": OBJECT},
    }
    normal = normalize(schema, arguments=True)
    assert "/$defs/o" not in normal.closed
    assert not _accepts(schema, {"v": {"z": 1}})
    assert not _accepts(schema, {"n": [{"z": 1}]})


def test_other_schemas_are_exact():
    """Without arguments nothing is closed."""
    assert Validator(normalize(OBJECT)).is_valid({"z": 1})
