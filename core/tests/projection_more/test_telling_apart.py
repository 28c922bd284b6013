"""Which branch of a union a value belongs to, and whether that can be told at all."""

from __future__ import annotations

import pytest

from toolcrib.projection import Inverse


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
MAP = {"type": "object", "additionalProperties": NUMBER}


RENAMES = {"fields": {"a": ["A", False, None]}}


def _branch(schema, value, root=None, undo=RENAMES):
    """Tell whether a value belongs to a branch: only then it is undone."""
    step = {"union": [[schema, undo]]}
    inverse = Inverse({"fields": {"v": ["v", False, step]}}, {}, root or {})
    return inverse({"v": value})["v"] != value


HELD = {"a": 1}


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"type": ["object", "null"]},
        {"const": {"a": 1.0}},
        {"enum": [{}, {"a": 1}]},
        {"required": ["a"]},
        {"properties": {"a": {"const": 1}}},
        {"properties": {"a": {"enum": [2, 1]}}},
        {"properties": {"a": {"type": "number"}}},
        {"additionalProperties": NUMBER},
        {"additionalProperties": False, "patternProperties": {"a": NUMBER}},
        {"anyOf": [TEXT, {"type": "object"}]},
        {"oneOf": [{"required": ["a"]}]},
        {"$ref": "#/$defs/held"},
        {"$ref": "#/$defs/turning"},
    ],
)
def test_a_value_belongs_to_a_branch_of_its_shape(schema):
    """Structure alone decides; the tool's own validator says whether it is right."""
    defs = {"held": {"required": ["a"]}, "turning": {"$ref": "#/$defs/turning"}}
    assert _branch(schema, HELD, {"$defs": defs})


@pytest.mark.parametrize(
    "schema",
    [
        False,
        TEXT,
        {"type": ["array", "null"]},
        {"const": {"a": True}},
        {"enum": [{"a": 2}, 1]},
        {"const": "a"},
        {"enum": ["a"]},
        {"required": ["b"]},
        {"properties": {"a": TEXT}},
        {"properties": {"a": {"const": True}}},
        {"additionalProperties": False},
        {"additionalProperties": TEXT},
        {"anyOf": [TEXT, {"type": "null"}]},
        {"oneOf": [{"required": ["b"]}]},
        {"$ref": "#/$defs/other"},
    ],
)
def test_a_value_does_not_belong_to_a_branch_of_another_shape(schema):
    """It goes back as it came."""
    assert not _branch(schema, HELD, {"$defs": {"other": {"required": ["b"]}}})


@pytest.mark.parametrize(
    ("schema", "belongs"),
    [
        ({"type": "array", "items": {"properties": {"a": NUMBER}}}, True),
        ({"type": "array", "items": {"properties": {"a": TEXT}}}, False),
        ({"type": "array", "prefixItems": [{"properties": {"a": NUMBER}}], "items": {}}, True),
        ({"type": "array", "prefixItems": [{"properties": {"a": TEXT}}], "items": {}}, False),
        ({"type": "array", "prefixItems": [{}], "items": False}, False),
    ],
)
def test_the_items_of_a_list_decide(schema, belongs):
    """Each item is looked at in its place."""
    assert _branch(schema, [{"a": 1}, {"a": 2}], undo={"items": RENAMES}) is belongs


def test_a_null_belongs_to_a_branch_with_the_mark(show_v):
    """``nullable`` is a type of its own."""
    tagged = {"type": "object", "additionalProperties": NUMBER}
    shown = show_v({"anyOf": [tagged, {"type": "null"}, TEXT]}, nullable=True, maps="pairs")
    assert shown.undo({"v": None}) == {"v": None}
    assert shown.undo({"v": [{"key": "a", "value": 1}]}) == {"v": {"a": 1}}


def _tagged(tag, sub=MAP, **more):
    return {
        "type": "object",
        "properties": {"kind": tag, "value": sub},
        "required": ["kind", "value"],
        "additionalProperties": False,
        **more,
    }


APART = [
    (MAP, TEXT),
    (_tagged({"const": "a"}), _tagged({"const": "b"}, TEXT)),
    (_tagged({"enum": ["a", "b"]}), _tagged({"enum": ["c"]}, TEXT)),
    (_tagged({"type": "string"}), _tagged({"type": "integer"}, TEXT)),
    (_tagged({"const": 1}), _tagged({"const": "1"}, TEXT)),
    (
        _tagged(TEXT),
        {
            "type": "object",
            "properties": {"other": TEXT},
            "required": ["other"],
            "additionalProperties": False,
        },
    ),
    (_tagged({"const": "a"}), {"anyOf": [TEXT, _tagged({"const": "b"}, TEXT)]}),
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_branches_that_no_value_shares_may_be_undone_differently(show_v, one, other):
    """Each value has one way back."""
    shown = show_v({"anyOf": [one, other]}, maps="pairs")
    assert shown.entry.inverse is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_tagged(TEXT), _tagged(TEXT, {"type": "array", "items": TEXT})),
        (
            _tagged({"const": "a"}),
            _tagged(TEXT, {"type": "array", "items": TEXT}),
        ),
        (
            _tagged({"enum": ["a", "b"]}),
            _tagged({"enum": ["b"]}, {"type": "array", "items": TEXT}),
        ),
        (MAP, {"type": "array", "items": TEXT}),
        (MAP, {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}),
    ],
)
def test_branches_that_look_alike_cannot_be_undone_differently(refuse_v, one, other):
    """Nothing would say which way back is right."""
    text = refuse_v({"anyOf": [one, other]}, maps="pairs")
    assert "the branches cannot be told apart" in text


@pytest.mark.parametrize(
    ("one", "other", "kinds"),
    [
        ({"type": ["string", "null"]}, {"type": ["integer", "null"]}, ["widened"]),
        ({"const": "a"}, {"enum": ["b", "c"]}, []),
        ({"const": "a"}, {"enum": ["a", "c"]}, ["widened"]),
        ({"type": "number"}, {"type": "integer"}, ["widened"]),
        ({"anyOf": [TEXT, {"type": "boolean"}]}, NUMBER, []),
        ({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, []),
    ],
)
def test_exactly_one_is_lost_only_where_several_may_hold(show_v, one, other, kinds):
    """``oneOf`` of branches apart is ``anyOf``."""
    node = {"type": "object", "properties": {"n": {"$ref": "#/$defs/a"}}}
    defs = {"a": node, "b": TEXT}
    shown = show_v({"oneOf": [one, other]}, defs=defs)
    assert [kind for _, keyword, kind in shown.losses if keyword == "oneOf"] == kinds


def test_marked_nulls_overlap(show_v):
    """Two marked branches both take null."""
    one, other = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
    shown = show_v({"oneOf": [one, other]}, nullable=True, type_lists=False)
    assert ("/properties/v", "oneOf", "widened") in shown.losses
