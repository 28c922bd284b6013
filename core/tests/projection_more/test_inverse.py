"""The way back: what a model sent, as its tool declares it, or a sentence."""

from __future__ import annotations

import re

import pytest

from toolcrib.projection import Inverse


NUMBER = {"type": "integer"}
TEXT = {"type": "string"}


def _undo(step, value, **facts):
    return Inverse({"fields": {"v": ["v", False, step]}}, **facts)({"v": value})["v"]


def _do(step, value, **facts):
    return Inverse({"fields": {"v": ["v", False, step]}}, **facts).encode({"v": value})["v"]


RENAMED = {"fields": {"a_1": ["a", False, None]}}
STEPS = {
    "fields": RENAMED,
    "items": {"items": RENAMED},
    "prefix": {"prefix": [RENAMED, None], "rest": RENAMED},
    "pairs": {"pairs": RENAMED},
    "tuple": {"tuple": [RENAMED, None]},
    "wrap": {"wrap": "it", "of": RENAMED},
}
BOTH_WAYS = [
    ("fields", {"a_1": 1}, {"a": 1}),
    ("items", [{"a_1": 1}, {}], [{"a": 1}, {}]),
    ("prefix", [{"a_1": 1}, {"a_1": 2}, {"a_1": 3}], [{"a": 1}, {"a_1": 2}, {"a": 3}]),
    ("pairs", [{"key": "k", "value": {"a_1": 1}}], {"k": {"a": 1}}),
    ("tuple", {"item_0": {"a_1": 1}, "item_1": 2}, [{"a": 1}, 2]),
    ("wrap", {"it": {"a_1": 1}}, {"a": 1}),
]


@pytest.mark.parametrize(("kind", "sent", "declared"), BOTH_WAYS)
def test_each_step_has_a_way_back(kind, sent, declared):
    """What was sent becomes what is declared."""
    assert _undo(STEPS[kind], sent) == declared


@pytest.mark.parametrize(("kind", "sent", "declared"), BOTH_WAYS)
def test_each_step_has_a_way_there(kind, sent, declared):
    """What is declared becomes what would have been sent: examples are shown so."""
    assert _do(STEPS[kind], declared) == sent


@pytest.mark.parametrize("kind", ["fields", "items", "prefix"])
def test_a_value_of_another_type_is_left_to_the_validator(kind):
    """Who knows the tool's schema says what is wrong with the value."""
    assert _undo(STEPS[kind], "no") == "no"


@pytest.mark.parametrize("kind", ["fields", "items", "prefix", "pairs", "tuple"])
def test_an_example_of_another_type_is_left_as_it_is(kind):
    """Showing it as declared is better than failing the tool."""
    assert _do(STEPS[kind], "no") == "no"


@pytest.mark.parametrize(
    ("kind", "sent", "said"),
    [
        ("pairs", {"k": 1}, "/v: expected a list of key/value pairs, got an object"),
        ("pairs", True, "/v: expected a list of key/value pairs, got a boolean"),
        ("pairs", 1.5, "/v: expected a list of key/value pairs, got a number"),
        ("pairs", [["k", 1]], '/v/0: expected {"key": …, "value": …}, got a list'),
        ("pairs", [{"key": "k"}], '/v/0: expected {"key": …, "value": …}, got an object'),
        ("pairs", [{"key": None, "value": 1}], "/v/0/key: expected text, got null"),
        (
            "pairs",
            [{"key": "k", "value": {}}, {"key": "k", "value": {}}],
            "/v/1/key: duplicate key 'k' in v",
        ),
        ("tuple", {"item_0": 1}, "/v: expected an object with item_0, item_1"),
        ("tuple", "no", "/v: expected an object with item_0, item_1"),
        ("wrap", {"other": 1}, "/v: expected an object with 'it'"),
        (
            "wrap",
            {"it": {}, "x": 1},
            "/v: unknown property 'x'; give everything in 'it'",
        ),
        ("fields", {"a": 1, "a_1": 2}, "/v: 'a_1' and 'a' are the same property; give one"),
    ],
)
def test_what_cannot_be_undone_is_said_in_terms_of_what_was_shown(kind, sent, said):
    """The model never saw the tool's own schema."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        _undo(STEPS[kind], sent)


def test_a_null_that_stands_for_absence_is_taken_away():
    """Only ours: a null in a property without the mark is a value."""
    step = {"fields": {"a": ["a", True, None]}}
    assert _undo(step, {"a": None, "b": None}) == {"b": None}
    assert _do(step, {"b": None}) == {"a": None, "b": None}


def test_further_properties_are_undone_by_the_rest():
    """What no field names goes the way of the rest."""
    step = {"fields": {}, "rest": {"pairs": None}}
    assert _undo(step, {"x": [{"key": "k", "value": 1}]}) == {"x": {"k": 1}}
    assert _do(step, {"x": {"k": 1}}) == {"x": [{"key": "k", "value": 1}]}


UNION = {
    "union": [
        [{"type": "array"}, {"pairs": None}],
        [{"type": "object", "required": ["it"]}, {"wrap": "it", "of": None}],
    ]
}


@pytest.mark.parametrize(
    ("sent", "declared"),
    [([{"key": "k", "value": 1}], {"k": 1}), ({"it": 3}, 3), ("neither", "neither")],
)
def test_a_union_is_undone_by_the_branch_that_fits(sent, declared):
    """What fits no branch is left to the tool's own validator."""
    assert _undo(UNION, sent) == declared


def test_an_example_that_fits_no_branch_is_an_error():
    """It cannot be shown as a model would send it."""
    step = {"union": [[TEXT, {"items": None}], [NUMBER, {"wrap": "n", "of": None}]]}
    with pytest.raises(ValueError, match="no branch of the union fits"):
        _do(step, [1])


def test_a_definition_is_undone_wherever_it_is_used():
    """A tree is undone as deep as it is."""
    tree = {"fields": {"kids_1": ["kids", False, {"items": {"ref": "tree"}}]}}
    step, definitions = {"ref": "tree"}, {"tree": tree}
    sent = {"kids_1": [{"kids_1": []}]}
    declared = {"kids": [{"kids": []}]}
    assert _undo(step, sent, definitions=definitions) == declared
    assert _do(step, declared, definitions=definitions) == sent


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_reference_to_the_root_undoes_the_root(wrapped):
    """A wrapped root is referred to without its wrapper."""
    root = {"fields": {"next_1": ["next", False, {"ref": "#"}]}}
    inverse = Inverse({"wrap": "input", "of": root} if wrapped else root)
    sent = {"next_1": {"next_1": {}}}
    arguments = {"input": sent} if wrapped else sent
    assert inverse(arguments) == {"next": {"next": {}}}
    assert inverse.encode({"next": {"next": {}}}) == arguments


def test_arguments_that_are_undone_to_no_object_are_refused():
    """A tool takes an object, whatever a wrapper held."""
    inverse = Inverse({"wrap": "input", "of": None})
    with pytest.raises(ValueError, match="expected an object, got a list"):
        inverse({"input": [1]})


def test_examples_that_are_encoded_to_no_object_are_refused():
    """Arguments are an object on the way there as well."""
    with pytest.raises(ValueError, match="expected an object, got a list"):
        Inverse({"pairs": None}).encode({"a": 1})


def test_arguments_that_are_nested_without_end_are_refused():
    """A model cannot exhaust the stack."""
    inverse = Inverse({"fields": {"n": ["n", False, {"ref": "#"}]}})
    deep = {}
    for _ in range(100_000):
        deep = {"n": deep}
    with pytest.raises(ValueError, match="nested too deeply"):
        inverse(deep)
    while deep:
        deep = deep.pop("n")


@pytest.mark.parametrize("way", ["__call__", "encode"])
def test_a_step_of_another_version_is_an_error(way):
    """An inverse read from a store that a later release wrote is not guessed at."""
    with pytest.raises(ValueError, match=r"an inverse has no step \['later'\]"):
        getattr(Inverse({"later": 1}), way)({"a": 1})


def test_an_inverse_survives_being_stored():
    """It is kept with a pending call and read in another process."""
    inverse = Inverse(STEPS["wrap"], {"d": None}, {"type": "object"})
    again = Inverse.from_json(inverse.to_json())
    assert again.to_json() == inverse.to_json()
    assert again({"it": {"a_1": 1}}) == {"a": 1}


@pytest.mark.parametrize(
    ("step", "sent", "declared", "wire"),
    [
        ({"wrap": "it", "of": RENAMED}, {"it": {"a_1": 1}}, "/a", "/it/a_1"),
        ({"wrap": "it", "of": RENAMED}, None, "/a/0", "/it/a_1/0"),
        ({"fields": {}, "rest": {"pairs": None}}, None, "/x/k", "/x"),
        ({"fields": {"v": ["v", False, STEPS["prefix"]]}}, None, "/v/2/a", "/v/2/a_1"),
        ({"fields": {"v": ["v", False, STEPS["tuple"]]}}, None, "/v/9/a", "/v/item_9/a"),
        ({"fields": {"v": ["v", False, STEPS["items"]]}}, {"v": []}, "/v/3/a", "/v/3/a_1"),
        ({"fields": {"v": ["v", False, UNION]}}, {"v": {"it": 1}}, "/v/x", "/v/it/x"),
        ({"fields": {"v": ["v", False, UNION]}}, {"v": "neither"}, "/v/x", "/v/x"),
        ({"fields": {"v": ["v", False, {"ref": "gone"}]}}, {"v": 1}, "/v/x", "/v/x"),
        ({"fields": {"v~": ["v/", False, None]}}, None, "/v~1", "/v~0"),
    ],
)
def test_a_pointer_is_told_where_the_model_finds_it(step, sent, declared, wire):
    """An error speaks of what was sent, never of what was made of it."""
    assert Inverse(step).wire_pointer(declared, sent) == wire
