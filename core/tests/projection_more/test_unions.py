"""``anyOf`` and ``oneOf`` in a form that is rebuilt."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def test_alternatives_that_only_require_are_said_in_words(show_v):
    """A union that says which properties go together is a sentence, not a union."""
    shown = show_v(
        {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT, "c": TEXT},
            "oneOf": [{"required": ["a", "b"]}, {"required": ["c"]}],
        }
    )
    assert "anyOf" not in shown.v
    assert shown.v["description"] == "(exactly one of: a with b; c)"
    assert shown.losses == [("/properties/v", "oneOf", "folded")]


def test_what_stands_beside_a_union_is_given_to_each_branch(show_v):
    """A branch without it would promise what the tool refuses."""
    shown = show_v({"maxLength": 9, "anyOf": [{"type": "string", "minLength": 2}, NUMBER]})
    assert shown.v == {
        "anyOf": [
            {"type": "string", "maxLength": 9, "minLength": 2},
            {"type": "integer", "maxLength": 9},
        ]
    }


def test_a_branch_that_nothing_can_take_is_left_out(show_v):
    """The type beside the union rules a branch out."""
    shown = show_v({"type": "string", "anyOf": [{"minLength": 2}, {"type": "integer"}, True]})
    assert shown.v == {"anyOf": [{"type": "string", "minLength": 2}, TEXT]}


def test_a_union_that_nothing_can_take_is_refused(refuse_v):
    """A form that accepts nothing would make the model try for ever."""
    text = refuse_v({"type": "string", "anyOf": [NUMBER, {"type": "boolean"}, False]})
    assert "a union without branches accepts nothing" in text


def test_what_contradicts_a_branch_is_refused(refuse_v):
    """It is neither dropped nor given to the branch that differs."""
    text = refuse_v({"pattern": "a", "anyOf": [{"type": "string", "pattern": "b"}, NUMBER]})
    assert "what stands beside anyOf cannot be said in each branch: pattern" in text


def test_branches_that_overlap_lose_exactly_one(show_v):
    """``oneOf`` becomes ``anyOf``; where several may hold, that is recorded."""
    shown = show_v({"oneOf": [{"type": "string", "minLength": 2}, {"type": "string"}]})
    assert shown.losses == [("/properties/v", "oneOf", "widened")]
    assert len(shown.v["anyOf"]) == 2


def test_branches_apart_lose_nothing(show_v):
    """Of a text and a number never both hold."""
    shown = show_v({"oneOf": [TEXT, NUMBER]})
    assert shown.v == {"anyOf": [TEXT, NUMBER]}
    assert shown.losses == []


def test_two_unions_in_one_node_keep_the_first(show_v):
    """One of them is dropped, and the loss says which."""
    shown = show_v({"anyOf": [TEXT, NUMBER], "oneOf": [TEXT, {"type": "boolean"}]})
    assert shown.v == {"anyOf": [TEXT, NUMBER]}
    assert shown.losses == [("/properties/v", "oneOf", "dropped")]


def test_two_unions_in_one_node_do_not_fit_a_strict_form(refuse_v):
    """Strict promises arguments that fit, so nothing may be dropped."""
    text = refuse_v({"anyOf": [TEXT], "oneOf": [TEXT, NUMBER]}, strict=True)
    assert "anyOf and oneOf in one schema" in text


def _tagged(name, tag, sub):
    return {
        "type": "object",
        "properties": {"x": TEXT, name: tag, "value": sub},
        "required": [name, "value"],
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"const": "a"}, {"const": "b"}),
        ({"enum": ["a"]}, {"enum": ["b"]}),
        ({"type": "null"}, {"const": "b"}),
    ],
)
def test_the_property_that_tells_branches_apart_goes_first(show_v, one, other):
    """A model writes in order, so it should decide the branch first."""
    shown = show_v({"anyOf": [_tagged("kind", one, TEXT), _tagged("kind", other, NUMBER)]})
    assert [list(each["properties"]) for each in shown.v["anyOf"]] == [
        ["kind", "x", "value"]
    ] * 2


@pytest.mark.parametrize("tag", [True, TEXT, {"enum": ["a", "b"]}, {"const": "b"}])
def test_a_property_without_one_value_tells_nothing(show_v, tag):
    """Order stays as declared where no constant tells the branches apart."""
    branches = [_tagged("kind", {"const": "b"}, TEXT), _tagged("kind", tag, NUMBER)]
    shown = show_v({"anyOf": branches})
    assert list(shown.v["anyOf"][0]["properties"]) == ["x", "kind", "value"]


def test_a_union_of_null_alone_is_a_mark(show_v):
    """Where null is only a mark, a value that is always null is a marked text."""
    shown = show_v({"anyOf": [{"type": "null"}]}, nullable=True)
    assert shown.v["nullable"] is True


def test_null_beside_one_branch_is_a_mark_on_it(show_v):
    """``anyOf: [T, null]`` is T, nullable, and both descriptions are kept."""
    shown = show_v(
        {"description": "Out.", "anyOf": [{**TEXT, "description": "In."}, {"const": None}]},
        nullable=True,
    )
    assert shown.v == {"description": "Out. In.", "nullable": True, "type": "string"}


def test_a_description_inside_a_union_of_one_is_kept(show_v):
    """A union of one branch is that branch with its text."""
    shown = show_v({"anyOf": [{**TEXT, "description": "In."}]})
    assert shown.v == {"type": "string", "description": "In."}


def test_a_reference_alone_in_a_union_keeps_its_text(show_v):
    """Some readers ignore what stands beside a reference, so it stays in its union."""
    defs = {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}
    shown = show_v({"description": "First.", "anyOf": [{"$ref": "#/$defs/node"}]}, defs=defs)
    assert shown.v == {"description": "First.", "anyOf": [{"$ref": "#/$defs/node"}]}


def test_inner_unions_are_taken_up(show_v):
    """A union of unions is one union, and each branch is undone as before."""
    maps = {"type": "object", "additionalProperties": NUMBER}
    shown = show_v({"anyOf": [{"anyOf": [TEXT, maps]}, {"type": "boolean"}]}, maps="pairs")
    assert [each["type"] for each in shown.v["anyOf"]] == ["string", "array", "boolean"]
    sent = {"v": [{"key": "a", "value": 1}]}
    assert shown.undo(sent) == {"v": {"a": 1}}
    assert shown.undo({"v": "text"}) == {"v": "text"}


def test_equal_branches_are_sent_once(show_v):
    """What reads the same is one branch."""
    assert show_v({"anyOf": [TEXT, {"type": "string"}, NUMBER]}).v == {"anyOf": [TEXT, NUMBER]}


def test_inner_unions_without_undoing_are_taken_up(show_v):
    """The commonest case: nothing is undone in any branch."""
    shown = show_v({"anyOf": [{"anyOf": [TEXT, NUMBER]}, {"anyOf": [TEXT, {"type": "null"}]}]})
    assert shown.v == {"anyOf": [TEXT, NUMBER, {"type": "null"}]}
