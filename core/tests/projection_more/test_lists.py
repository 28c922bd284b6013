"""Lists and tuples in a form that is rebuilt."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
PAIR = {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False, "minItems": 2}
MAP = {"type": "object", "additionalProperties": NUMBER}


def test_a_list_without_items_is_a_list_of_anything(show_v):
    """Whether it says so or not."""
    assert show_v({"type": "array", "maxItems": 3}).v == {"type": "array", "maxItems": 3}
    assert show_v({"type": "array", "items": True}).v == {"type": "array", "items": {}}


def test_a_list_that_can_only_be_empty_is_refused(refuse_v):
    """There is nothing to ask a model for."""
    assert "a list that can only be empty" in refuse_v({"type": "array", "items": False})


def test_items_are_undone(show_v):
    """Each item of a list goes its way back."""
    shown = show_v({"type": "array", "items": MAP}, maps="pairs")
    assert shown.undo({"v": [[{"key": "a", "value": 1}], []]}) == {"v": [{"a": 1}, {}]}


def test_a_closed_tuple_is_sent_as_one(show_v):
    """Its length says that nothing follows."""
    shown = show_v(PAIR)
    assert shown.v == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "prefixItems": [TEXT, NUMBER],
    }


def test_an_open_tuple_keeps_what_follows(show_v):
    """Positions and the rest are undone apart."""
    sub = {"type": "array", "prefixItems": [TEXT, MAP], "items": MAP}
    shown = show_v(sub, maps="pairs")
    assert shown.v["items"]["type"] == "array"
    pairs = [{"key": "a", "value": 1}]
    assert shown.undo({"v": ["x", pairs, pairs]}) == {"v": ["x", {"a": 1}, {"a": 1}]}
    assert shown.do({"v": ["x", {"a": 1}, {"a": 1}]}) == {"v": ["x", pairs, pairs]}


def test_an_open_tuple_without_undoing_has_no_inverse(show_v):
    """Nothing was rewritten."""
    shown = show_v({"type": "array", "prefixItems": [TEXT], "items": NUMBER})
    assert shown.v["items"] == NUMBER
    assert shown.entry.inverse is None


def test_a_tuple_of_one_length_is_an_object_where_lists_have_one_schema(show_v):
    """Positions become names, and come back as positions."""
    shown = show_v(PAIR, tuples="object")
    assert shown.v["required"] == ["item_0", "item_1"]
    assert "tuple sent as an object: item_0, item_1" in shown.v["description"]
    assert shown.undo({"v": {"item_0": "a", "item_1": 1}}) == {"v": ["a", 1]}


@pytest.mark.parametrize(
    "change", [{"items": NUMBER}, {"minItems": 1}, {"maxItems": 1}, {"minItems": 0}]
)
def test_a_tuple_of_varying_length_is_no_object(refuse_v, change):
    """Names that may be missing would not say how long it is."""
    assert "a tuple of varying length" in refuse_v({**PAIR, **change}, tuples="object")


def test_a_tuple_is_widened_where_there_is_no_other_way(show_v):
    """Any position may hold any of them; the description says which is which."""
    shown = show_v(PAIR, tuples="widen")
    assert shown.v == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "description": "(position 0: string; position 1: integer)",
        "items": {"anyOf": [TEXT, NUMBER]},
    }
    assert shown.losses == [("/properties/v", "prefixItems", "widened")]


def test_a_widened_tuple_of_one_schema_has_that_schema(show_v):
    """Equal positions need no union, and are undone alike."""
    sub = {"type": "array", "prefixItems": [MAP, MAP], "items": False}
    shown = show_v(sub, tuples="widen", maps="pairs")
    assert shown.v["items"]["type"] == "array"
    assert shown.undo({"v": [[{"key": "a", "value": 1}]]}) == {"v": [{"a": 1}]}


def test_a_widened_tuple_includes_what_follows(show_v):
    """The schema of further items is one of those that an item may have."""
    sub = {"type": "array", "prefixItems": [{"anyOf": [TEXT, NUMBER]}], "items": NUMBER}
    shown = show_v(sub, tuples="widen")
    assert NUMBER in shown.v["items"]["anyOf"]
    assert shown.v["description"].startswith('(position 0: {"anyOf":')


def test_positions_that_are_undone_differently_cannot_be_widened(refuse_v):
    """Nothing would say how an item came about."""
    sub = {"type": "array", "prefixItems": [TEXT, MAP], "items": False}
    text = refuse_v(sub, tuples="widen", maps="pairs")
    assert "positions of a tuple need different undoing" in text


def test_further_items_of_any_kind_need_a_form_without_types(refuse_v):
    """An open tuple may go on with anything."""
    sub = {"type": "array", "prefixItems": [TEXT]}
    assert "further items of a tuple" in refuse_v(sub, tuples="widen", untyped=False)


def test_a_list_of_schemas_is_a_tuple_below_the_root_too(show_v):
    """As drafts before 2020-12 wrote one, with no other keyword beside it."""
    shown = show_v({"type": "array", "items": [TEXT, NUMBER]})
    assert shown.v == {"type": "array", "prefixItems": [TEXT, NUMBER]}
