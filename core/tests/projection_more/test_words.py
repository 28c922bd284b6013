"""What a form cannot say, said in words in the description."""

from __future__ import annotations

import attrs
import pytest

from toolcrib.projection import Profile, SchemaLimits, dialect, project
from toolcrib.tool import Description, Tool


TEXT = {"type": "string"}
PROPERTIES = {"a": TEXT, "b": TEXT, "c": TEXT}


def _words(show, **constraints):
    inner = {"type": "object", "properties": PROPERTIES, **constraints}
    shown = show({"type": "object", "properties": {"v": inner}}, keeps=frozenset())
    return shown.v["description"]


IF_A = {"properties": {"a": {"const": "x"}}}


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (
            {"dependentRequired": {"a": ["b"], "b": ["a", "c"], "c": []}},
            "(if a is given, b is required; if b is given, a and c are required)",
        ),
        (
            {"if": IF_A, "then": {"required": ["b"]}, "else": {"required": ["b", "c"]}},
            '(if a is "x", b is required; unless a is "x", b and c are required)',
        ),
        (
            {
                "if": {"properties": {"a": {"enum": [1, 2.5]}}, "required": ["a"]},
                "then": {"required": ["b"]},
            },
            "(if a is one of [1,2.5], b is required)",
        ),
        (
            {"if": IF_A, "then": True, "else": {"maxProperties": 2}},
            '(unless a is "x", {"maxProperties":2})',
        ),
        ({"if": IF_A, "then": False}, '(if a is "x", false)'),
        (
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
            '(if {"required":["a"]}, b is required)',
        ),
        (
            {"if": {"properties": {"a": {"minLength": 3}}}, "then": {"required": ["b"]}},
            '(if {"properties":{"a":{"minLength":3}}}, b is required)',
        ),
        (
            {"if": {"not": {}}, "then": {"required": ["b"]}},
            '(if {"not":{}}, b is required)',
        ),
        (
            {"if": {"properties": ["a"]}, "then": {"required": ["b"]}},
            '(if {"properties":["a"]}, b is required)',
        ),
        ({"maxProperties": 2, "minProperties": 1}, "(minProperties=1; maxProperties=2)"),
        (
            {"minProperties": 1, "dependentRequired": {"a": ["b"]}},
            "(minProperties=1; if a is given, b is required)",
        ),
    ],
)
def test_constraints_are_said_in_words(show, constraints, words):
    """Conditions that only compare and require read as a person would say them."""
    assert _words(show, **constraints) == words


def test_a_long_value_is_said_in_part(show):
    """A description is no place for a page."""
    said = _words(show, propertyNames={"pattern": "x" * 1_000})
    assert len(said) < 500
    assert said.endswith("…)")


def test_a_branch_of_a_condition_alone_says_nothing(show):
    """``then`` without ``if`` means nothing in JSON Schema."""
    shown = show(
        {"type": "object", "properties": {"v": {**TEXT, "then": {"maxLength": 3}}}},
        keeps=frozenset(),
    )
    assert shown.v == TEXT
    assert shown.losses == []


def _tool(schema, **fields):
    fields.setdefault("description", Description("Do it."))
    return Tool(id="demo.tool", title="Demo", input_schema=schema, **fields)


MAX = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}


@pytest.mark.parametrize("forbidden", ["maxLength", "folded", "*"])
def test_a_forbidden_loss_refuses_the_tool(forbidden):
    """By keyword, by kind, or all of them: what a build wants to know."""
    projected = project(
        (_tool(MAX),), dialect("anthropic"), strict=True, forbid_losses=frozenset({forbidden})
    )
    assert projected.entries == ()
    assert "maxLength" in projected.refusals[0].text


def test_closing_is_no_loss_that_all_forbids():
    """The tool's own validator closes as well."""
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    projected = project(
        (_tool(schema),), dialect("openai"), strict=True, forbid_losses=frozenset({"*"})
    )
    assert projected.refusals == ()
    assert [loss.kind for loss in projected.entries[0].losses] == ["closed"]


def _dialect(*forms, **facts):
    return attrs.evolve(dialect("openai"), name="own", profiles=forms, **facts)


def test_the_first_form_that_can_say_it_is_used():
    """What the better form could not say is a recorded loss."""
    forms = (
        Profile(name="closed", narrow=True, closed=True, mixed=False),
        Profile(name="open"),
    )
    projected = project((_tool({"additionalProperties": True, **MAX}),), _dialect(*forms))
    entry = projected.entries[0]
    assert entry.form == "open"
    assert (entry.losses[0].keyword, entry.losses[0].kind) == (
        "additionalProperties",
        "widened",
    )
    assert "said in the form open: open object" in entry.losses[0].text


def test_a_dialect_without_a_form_refuses_every_tool():
    """It names itself, and nothing is sent that nobody understands."""
    projected = project((_tool(MAX),), _dialect(strict=None))
    assert "own has no form" in projected.refusals[0].text


def test_strict_without_a_strict_form_is_a_recorded_loss():
    """The app asked for a promise that the provider does not make."""
    projected = project((_tool(MAX),), _dialect(Profile(name="lax"), strict=None), strict=True)
    loss = projected.entries[0].losses[0]
    assert (loss.keyword, loss.kind, loss.text) == ("strict", "lax", "own has no strict form")


def test_a_dialect_that_takes_everything_refuses_a_root_that_is_no_object():
    """Arguments are an object in every protocol."""
    tool = _tool({"type": "array", "items": TEXT})
    projected = project((tool,), dialect("mcp"))
    assert "the root is 'array'" in projected.refusals[0].text


@pytest.mark.parametrize(
    ("limit", "keyword"),
    [("properties", "properties"), ("enum_values", "enum"), ("characters", "properties")],
)
def test_a_tool_that_is_too_large_for_its_form_says_by_what(refuse, limit, keyword):
    """The next form is tried; here there is none."""
    properties = {f"p{i}": {"enum": ["x", "y"]} for i in range(3)}
    text = refuse(
        {"type": "object", "properties": properties}, limits=SchemaLimits(**{limit: 2})
    )
    assert f"keyword '{keyword}'" in text
    assert "at most 2 are accepted" in text


def test_objects_that_are_nested_deeper_than_a_form_allows_are_refused(refuse):
    """Levels are counted, not characters."""
    inner = {"type": "object", "properties": {"a": TEXT}}
    schema = {"type": "object", "properties": {"v": inner}}
    text = refuse(schema, limits=SchemaLimits(depth=1))
    assert "objects are nested deeper than 1" in text
