"""Maps: sent as maps, or as lists of pairs, and back."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def _map(**facts):
    return {"type": "object", **facts}


def test_a_map_becomes_pairs_and_back(show_v):
    """Where objects are closed, a map is a list of keys and values."""
    sub = _map(additionalProperties=_map(additionalProperties=NUMBER))
    shown = show_v(sub, maps="pairs", closed=True)
    assert shown.v["items"]["additionalProperties"] is False
    declared = {"v": {"a": {"b": 1}, "c": {}}}
    sent = {
        "v": [
            {"key": "a", "value": [{"key": "b", "value": 1}]},
            {"key": "c", "value": []},
        ]
    }
    assert shown.do(declared) == sent
    assert shown.undo(sent) == declared


def test_the_keys_of_a_map_say_their_pattern(show_v):
    """One pattern that every key matches is the key's own."""
    sub = _map(patternProperties={"^x": NUMBER}, additionalProperties=False)
    shown = show_v(sub, maps="pairs")
    assert shown.v["items"]["properties"]["key"] == {"type": "string", "pattern": "^x"}
    assert shown.losses == []


def test_the_names_of_a_map_are_merged_with_its_pattern(show_v):
    """``propertyNames`` and a pattern both hold for a key."""
    sub = _map(
        propertyNames={"maxLength": 4},
        patternProperties={"^x": NUMBER},
        additionalProperties=False,
    )
    shown = show_v(sub, maps="pairs")
    key = {"type": "string", "maxLength": 4, "pattern": "^x"}
    assert shown.v["items"]["properties"]["key"] == key


def test_names_that_contradict_the_pattern_are_a_loss(show_v):
    """Two patterns cannot be one, so one is dropped and recorded."""
    sub = _map(
        propertyNames={"pattern": "y$"},
        patternProperties={"^x": NUMBER},
        additionalProperties=False,
    )
    shown = show_v(sub, maps="pairs")
    assert ("/properties/v", "propertyNames", "dropped") in shown.losses


def test_several_patterns_are_said_in_words(show_v):
    """Which value goes with which key cannot be said, and is recorded."""
    sub = _map(patternProperties={"^x": NUMBER, "^y": TEXT}, additionalProperties=False)
    shown = show_v(sub, maps="pairs")
    pair = shown.v["items"]["properties"]
    assert pair["key"]["description"] == '(keys match "^x" or "^y")'
    assert pair["value"] == {"anyOf": [NUMBER, TEXT]}
    assert ("/properties/v", "patternProperties", "widened") in shown.losses


def test_an_open_map_with_patterns_has_no_pairs(refuse_v):
    """Keys outside the pattern may hold anything, which pairs cannot say."""
    text = refuse_v(_map(patternProperties={"^x": NUMBER}), maps="pairs")
    assert "other keys may have any value" in text


def test_a_map_that_can_hold_nothing_is_refused(refuse_v):
    """There is no value to give to a model."""
    sub = _map(patternProperties={"^x": False}, additionalProperties=False)
    assert "the map can hold nothing" in refuse_v(sub)


def test_a_map_that_stays_says_its_patterns_in_words(show_v):
    """Every key may have any such value; the pattern is advice."""
    sub = _map(patternProperties={"^x": NUMBER}, additionalProperties=False)
    shown = show_v(sub)
    assert shown.v == {
        "type": "object",
        "additionalProperties": NUMBER,
        "description": '(keys match "^x")',
    }
    assert ("/properties/v", "patternProperties", "widened") in shown.losses


def test_an_open_map_with_patterns_stays_open(show_v):
    """What other keys hold is not narrowed to the pattern's value."""
    shown = show_v(_map(patternProperties={"^x": NUMBER}))
    assert "additionalProperties" not in shown.v
    assert shown.v["description"] == '(keys match "^x")'


def test_a_map_of_patterns_and_more_holds_either(show_v):
    """A key may be of a pattern or of the rest."""
    shown = show_v(_map(patternProperties={"^x": NUMBER}, additionalProperties=TEXT))
    assert shown.v["additionalProperties"] == {"anyOf": [NUMBER, TEXT]}


def test_the_values_of_a_map_are_undone(show_v):
    """A tuple inside a map comes back as a list."""
    pair = {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False, "minItems": 2}
    shown = show_v(_map(additionalProperties=pair), tuples="object")
    assert shown.undo({"v": {"k": {"item_0": "a", "item_1": 1}}}) == {"v": {"k": ["a", 1]}}


@pytest.mark.parametrize("maps", ["keep", "pairs"])
def test_required_keys_of_a_map_are_said_in_words(show_v, maps):
    """No property declares them, so the description does."""
    shown = show_v(_map(additionalProperties=TEXT, required=["home"]), maps=maps)
    assert 'required=["home"]' in shown.v["description"]
