"""Constraints, single values and lists of types in a form that is rebuilt."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
BOUNDS = frozenset({"minimum", "maximum"})


@pytest.mark.parametrize(
    ("sub", "wire"),
    [
        ({"type": "integer", "exclusiveMinimum": 1}, {"type": "integer", "minimum": 2}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"type": "integer", "maximum": 8}),
        (
            {"type": "integer", "minimum": 5, "exclusiveMinimum": 1},
            {"type": "integer", "minimum": 5},
        ),
        (
            {"type": "number", "exclusiveMaximum": 9.5},
            {"type": "number", "maximum": 9.5, "description": "(exclusiveMaximum=9.5)"},
        ),
    ],
)
def test_exclusive_bounds_become_inclusive(show_v, sub, wire):
    """Exactly for integers; for other numbers the description says the rest."""
    assert show_v(sub, inclusive=True, keeps=BOUNDS).v == wire


def test_an_exclusive_bound_that_is_only_described_is_a_loss(show_v):
    """A wider bound is recorded, an exact one is none."""
    sub = {"type": "number", "exclusiveMinimum": 0.5}
    shown = show_v(sub, inclusive=True, keeps=BOUNDS)
    assert shown.losses == [("/properties/v", "exclusiveMinimum", "folded")]
    sub = {**sub, "type": "integer"}
    assert show_v(sub, inclusive=True, keeps=BOUNDS).losses == []


@pytest.mark.parametrize(
    ("sub", "facts"),
    [
        ({"type": "string", "format": "x-own"}, {"formats": frozenset({"date"})}),
        ({"type": "string", "pattern": "(?=a)b"}, {"plain_patterns": True}),
        ({"type": "array", "items": TEXT, "minItems": 3}, {"most_min_items": 1}),
    ],
)
def test_what_a_form_sends_only_in_part_is_folded(show_v, sub, facts):
    """A value that the provider refuses stands in the description."""
    keyword = list(sub)[-1]
    shown = show_v(sub, **facts)
    assert keyword not in shown.v
    assert shown.v["description"].startswith(f"({keyword}=")
    assert shown.losses == [("/properties/v", keyword, "folded")]


@pytest.mark.parametrize(
    ("sub", "facts"),
    [
        ({"type": "string", "format": "date"}, {"formats": frozenset({"date"})}),
        ({"type": "string", "pattern": "^a+$"}, {"plain_patterns": True}),
        ({"type": "array", "items": TEXT, "minItems": 1}, {"most_min_items": 1}),
    ],
)
def test_what_a_form_sends_in_part_is_sent_where_it_can_be(show_v, sub, facts):
    """Nothing is lost that the provider accepts."""
    assert show_v(sub, **facts).v == sub


@pytest.mark.parametrize(
    ("sub", "wire"),
    [
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"const": 3}, {"type": "integer", "enum": [3]}),
        ({"enum": [1, 2.5, 1]}, {"type": "number", "enum": [1, 2.5, 1]}),
        ({"type": "number", "enum": [1, "a"]}, {"type": "integer", "enum": [1]}),
        ({"type": ["string"], "enum": [1, "a"]}, {"type": "string", "enum": ["a"]}),
        ({"const": None}, {"type": "null"}),
        (
            {"type": "string", "const": "a", "description": "D."},
            {"type": "string", "enum": ["a"], "description": "D."},
        ),
    ],
)
def test_values_become_enums_of_one_type(show_v, sub, wire):
    """A constant is an enum of one; members of another type are nothing to offer."""
    assert show_v(sub).v == wire


def test_an_enum_of_several_types_stays_where_it_may(show_v):
    """Some providers take it as it is."""
    assert show_v({"enum": ["a", 1, None]}).v == {"enum": ["a", 1, None]}


def test_an_enum_of_several_types_is_a_union_elsewhere(show_v):
    """Each type has an enum of its own."""
    shown = show_v({"enum": ["a", 1, 1.5, None]}, mixed_enums=False)
    assert shown.v == {
        "anyOf": [
            {"type": "string", "enum": ["a"]},
            {"type": "number", "enum": [1, 1.5]},
            {"type": "null"},
        ]
    }


def test_an_enum_with_null_is_marked_where_null_is_a_mark(show_v):
    """The mark stands beside the enum of the rest."""
    shown = show_v({"enum": ["a", None]}, mixed_enums=False, nullable=True)
    assert shown.v == {"type": "string", "enum": ["a"], "nullable": True}


def test_null_alone_is_a_marked_text(show_v):
    """A form without the type null says that only null is right."""
    for sub in ({"type": "null"}, {"const": None}):
        shown = show_v(sub, nullable=True)
        assert shown.v["nullable"] is True
        assert "const=null" in shown.v["description"]


@pytest.mark.parametrize(
    ("sub", "said"),
    [
        ({"type": "integer", "enum": [1, 2]}, "(enum=[1,2])"),
        ({"const": 7}, "(const=7)"),
        ({"const": True}, "(const=true)"),
        ({"const": 1.5, "description": "D."}, "D. (const=1.5)"),
    ],
)
def test_values_that_no_enum_may_hold_are_said_in_words(show_v, sub, said):
    """A provider whose enums hold texts alone is told the rest."""
    shown = show_v(sub, enum_types=frozenset({"string"}))
    assert shown.v["description"] == said
    assert [kind for _, _, kind in shown.losses] == ["folded"]


def test_both_booleans_are_just_a_boolean(show_v):
    """There is nothing to say about an enum of all values."""
    shown = show_v({"enum": [True, False]}, enum_types=frozenset({"string"}))
    assert shown.v == {"type": "boolean"}
    assert shown.losses == []


def test_a_long_enum_is_said_in_part(show_v):
    """A description has room for some of the members, and says how many are left."""
    shown = show_v({"enum": list(range(300))}, enum_types=frozenset({"string"}))
    assert shown.v["description"] == "(enum=[0,1,2,3,4,5,6,7,8,9] and 290 more)"


def test_a_huge_enum_is_not_sent(show_v):
    """A thousand members are the most that is sent of one enum."""
    shown = show_v({"type": "string", "enum": [f"m{i}" for i in range(1001)]})
    assert "enum" not in shown.v
    assert shown.v["description"].endswith("and 991 more)")


def test_an_enum_of_another_type_is_refused(refuse_v):
    """No value could be right."""
    text = refuse_v({"type": "string", "enum": [1, 2]})
    assert "no member of the enum has the type that is asked for" in text


def test_an_enum_of_objects_is_said_in_words(show_v):
    """Anything may be sent there, and the tool checks."""
    shown = show_v({"enum": [{"a": 1}, [2]], "description": "D."})
    assert shown.v == {"description": 'D. (enum=[{"a":1},[2]])'}
    assert shown.losses == [("/properties/v", "enum", "folded")]


def test_an_enum_of_objects_needs_a_form_without_types(refuse_v):
    """Where every node has a type, there is none for it."""
    assert "the enum holds objects or lists" in refuse_v({"enum": [{}]}, untyped=False)


def test_a_list_of_one_type_is_that_type(show_v):
    """Generators write it, and some providers refuse it."""
    assert show_v({"type": ["string"], "maxLength": 3}).v == {"type": "string", "maxLength": 3}


def test_a_list_of_scalar_types_is_sent_where_it_may_be(show_v):
    """One keyword instead of a union."""
    sub = {"type": ["string", "integer"], "maxLength": 3}
    assert show_v(sub).v == sub


def test_a_list_of_types_is_a_union_elsewhere(show_v):
    """Each branch has the constraints of its own type."""
    sub = {"type": ["string", "integer"], "maxLength": 3, "minimum": 1, "description": "D."}
    shown = show_v(sub, type_lists=False)
    assert shown.v == {
        "description": "D.",
        "anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 1}],
    }


def test_a_list_of_types_with_null_is_a_mark(show_v):
    """``[T, null]`` is T, nullable, and what it cannot carry is said in words."""
    sub = {"type": ["string", "null"], "maxLength": 3, "description": "D."}
    shown = show_v(sub, type_lists=False, nullable=True, keeps=frozenset())
    text = "D. (maxLength=3)"
    assert shown.v == {"type": "string", "description": text, "nullable": True}


def test_several_types_and_null_are_a_marked_union(show_v):
    """Null is no branch of its own where it is a mark."""
    shown = show_v({"type": ["string", "integer", "null"]}, type_lists=False, nullable=True)
    assert shown.v == {"anyOf": [TEXT, NUMBER], "nullable": True}


def test_an_object_among_types_is_undone(show_v):
    """The branch that fits is undone, the others are left alone."""
    sub = {"type": ["object", "null"], "additionalProperties": NUMBER}
    shown = show_v(sub, maps="pairs")
    assert shown.undo({"v": [{"key": "a", "value": 1}]}) == {"v": {"a": 1}}
    assert shown.undo({"v": None}) == {"v": None}


@pytest.mark.parametrize("sub", [{}, True, {"description": "D."}, {"type": "array"}])
def test_an_untyped_value_is_refused_where_every_node_has_a_type(refuse_v, sub):
    """The next form of the dialect is tried, or the tool is not shown."""
    assert "untyped value" in refuse_v(sub, untyped=False)


def test_an_untyped_value_is_sent_where_it_may_be(show_v):
    """Anything goes, and its text is kept."""
    assert show_v({"description": "D.", "minimum": 1}).v == {"description": "D.", "minimum": 1}


def test_a_schema_that_accepts_nothing_is_refused(refuse_v):
    """A required property that nothing can fill makes no tool."""
    text = refuse_v(
        {"type": "object", "additionalProperties": {"allOf": [True, False]}}, strict=True
    )
    assert "the members of allOf cannot be said as one: allOf" in text
    text = refuse_v({"type": "array", "prefixItems": [False]})
    assert "a schema that accepts nothing" in text


def test_an_unknown_type_is_refused_by_name(refuse_v):
    """It is neither guessed at nor left out."""
    assert "no such type: 'file'" in refuse_v({"type": "file"})


@pytest.mark.parametrize(
    ("sub", "kind"),
    [({"properties": {"a": TEXT}}, "object"), ({"prefixItems": [TEXT]}, "array")],
)
def test_a_type_that_is_given_away_is_said(show_v, sub, kind):
    """Whoever lists properties means an object."""
    shown = show_v(sub)
    assert shown.v["type"] == kind
    assert shown.losses[0] == ("/properties/v", "type", "widened")


def test_a_type_that_is_given_away_does_not_make_it_strict(refuse_v):
    """The tool accepts more than objects, and strict would forbid the rest."""
    assert "untyped value" in refuse_v(
        {"properties": {"a": TEXT}}, strict=True, untyped=False, closed=True
    )


def test_a_default_of_null_is_said_by_nobody(show):
    """It is what leaving the property out means anyway."""
    schema = {"type": "object", "properties": {"v": {"type": "string", "default": None}}}
    sent = show(schema, keeps=frozenset(), absent="null").schema["properties"]["v"]
    assert sent == {"type": ["string", "null"]}
