"""Options, types and marks of a declaration: what is taken, and what is refused by name."""

from __future__ import annotations

import enum
import re

from typing import Annotated, Any, Literal, TypedDict, TypeVar, Unpack

import attrs
import pytest

from toolcrib.errors import DeclarationError, Invalid
from toolcrib.pack.definition import Pack
from toolcrib.typed.constraints import AtLeast, Length, Multiple, Pattern
from toolcrib.typed.introspection import Field
from toolcrib.typed.schema import schema_of
from toolcrib.typed.structure import structurer


def handler(ctx, x: int = 0) -> None:
    """Do it."""


def declare(function=handler, **options):
    pack = Pack("own")
    pack.tool(**options)(function)
    return pack.tools()[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effects": "net_read"}, "'net_read' is one word; write a set"),
        ({"effects": {"net_raed"}}, "net_read"),
        ({"tags": "one"}, "'one' is one text; write a list"),
        ({"tags": ["one", " "]}, "every item is a text that is not empty"),
        ({"title": 7}, "7 is no text"),
        ({"intent": "yes"}, "'yes' is not True or False"),
        ({"timeout": 0}, "0 is not"),
        ({"timeout": True}, "True is not"),
        ({"timeout": float("inf")}, "inf is not"),
        ({"requires": ["git"]}, "is no Requirements"),
        ({"examples": ["just a sentence"]}, "'just a sentence' is not (sentence, arguments)"),
        ({"examples": [(7, {})]}, "7 is no text"),
        ({"directives": ["stop_trun"]}, "'stop_trun' is not known"),
        ({"output_schema": 7}, "7 is no JSON Schema and no class"),
        ({"no_such": 1}, "there is no such option"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name(options, words):
    """The error names the option and says what to write."""
    with pytest.raises(DeclarationError) as caught:
        declare(**options)
    assert words in str(caught.value)
    assert next(iter(options)) in str(caught.value)


def test_examples_are_pairs_or_examples():
    """A sentence and the arguments that go with it."""
    tool = declare(examples=[("Do two.", {"x": 2})])
    assert [(e.description, dict(e.arguments)) for e in tool.description.examples] == [
        ("Do two.", {"x": 2})
    ]


class Options(TypedDict, total=False):
    limit: int


def no_dict(ctx, **options: Unpack[tuple[int]]) -> None:
    """Do it."""


def object_and_more(ctx, arguments: int, more: int) -> None:
    """Do it."""


@attrs.frozen
class Wanted:
    x: int


class Plain:
    pass


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (no_dict, {}, "Unpack needs a TypedDict"),
        (handler, {"input_schema": Plain}, "Plain is no attrs class"),
        (object_and_more, {"input_schema": Wanted}, "and nothing else"),
        (
            handler,
            {"input_schema": {"type": "array"}},
            "the arguments of a tool are an object with properties",
        ),
        (
            handler,
            {"input_schema": {"properties": ["x"]}},
            "the arguments of a tool are an object with properties",
        ),
    ],
)
def test_inputs_that_do_not_fit_their_handler_are_refused(function, options, words):
    """The tool and the place are named."""
    with pytest.raises(DeclarationError) as caught:
        tool = declare(function, **options)
        dict(tool.input_schema)
    assert words in str(caught.value)


def test_a_given_schema_is_declared_as_it_is():
    """And is nobody else's: changing it later changes no tool."""
    given = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}}
    tool = declare(input_schema=given)
    given["properties"]["x"]["minimum"] = 9
    assert tool.input_schema["properties"]["x"]["minimum"] == 1


# -- marks and validators ----------------------------------------------------------


def _checked(validator, kind: Any = int):
    return attrs.make_class("Checked", {"x": attrs.field(type=kind, validator=validator)})


V = attrs.validators


@pytest.mark.parametrize(
    ("validator", "kind", "schema"),
    [
        (V.ge(2), int, {"minimum": 2}),
        (V.and_(V.gt(1), V.lt(9)), int, {"exclusiveMinimum": 1, "exclusiveMaximum": 9}),
        (V.min_len(2), str, {"minLength": 2}),
        (V.max_len(3), str, {"maxLength": 3}),
        (V.in_(["a", "b"]), str, {"enum": ["a", "b"]}),
        (V.in_({"b", "a"}), str, {"enum": ["a", "b"]}),
        (V.matches_re("a+"), str, {"pattern": "^a+$"}),
        (V.matches_re("a|b"), str, {"pattern": "^(?:a|b)$"}),
        (V.matches_re("a", func=re.search), str, {"pattern": "a"}),
        (V.matches_re("a", func=re.match), str, {"pattern": "^a"}),
        (V.instance_of(int), int, {}),
        (V.deep_iterable(V.instance_of(str), V.min_len(1)), list[str], {"minItems": 1}),
        (
            V.deep_mapping(V.instance_of(str), V.instance_of(int), V.min_len(1)),
            dict[str, int],
            {"minProperties": 1},
        ),
    ],
)
def test_validators_are_said_in_the_schema(validator, kind, schema):
    """What a class checks anyway, the model is told before."""
    found = schema_of(_checked(validator, kind))["properties"]["x"]
    assert {key: found.get(key) for key in schema} == schema


def test_a_validator_of_what_may_be_none_is_said_of_the_rest():
    """``optional`` goes around others."""
    for inner in (V.ge(2), [V.ge(2), V.le(5)]):
        found = schema_of(_checked(V.optional(inner), int | None))["properties"]["x"]
        assert "minimum" in str(found)


def test_an_expression_with_flags_is_not_said():
    """A schema has no flags; the class still checks."""
    found = schema_of(_checked(V.matches_re("a", re.IGNORECASE), str))["properties"]["x"]
    assert "pattern" not in found


def test_a_mark_that_fits_no_part_of_its_type_is_refused():
    """A length of a number means nothing."""
    for kind, words in (
        (Annotated[int, Length(1, 2)], "a length cannot be said of integer"),
        (Annotated[str, AtLeast(1)], "minimum cannot be said of string"),
        (Annotated[Literal["a"], Pattern("a")], "pattern cannot be said of string"),
    ):
        with pytest.raises(DeclarationError, match=words):
            schema_of(attrs.make_class("C", {"x": attrs.field(type=kind)}))


@pytest.mark.parametrize("of", [0, -1])
def test_a_multiple_is_of_something(of):
    """Zero divides nothing."""
    with pytest.raises(ValueError, match="a multiple is of a number above zero"):
        Multiple(of)


# -- types -------------------------------------------------------------------------


T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Odd(enum.Enum):
    ONE = (1, 2)


class Nobody(enum.Enum):
    pass


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Odd, "is no JSON text, number, boolean or null"),
        (Nobody, "a type without any value fits nothing"),
        (T, "stands for nothing here: name a type"),
        (attrs.make_class("C", {"x": attrs.field(type=int, default="a")}), "not of its type"),
        (attrs.make_class("C", {"x": attrs.field(type=int, default=True)}), "not of its type"),
        (attrs.make_class("C", {"x": attrs.field(type=Colour, default=3)}), "not of its type"),
        (
            attrs.make_class("C", {"x": attrs.field(type=int | str, default=1.5)}),
            "not of its type",
        ),
    ],
)
def test_what_no_schema_can_say_is_refused_by_name(kind, words):
    """At declaration, not when a model calls."""
    with pytest.raises(DeclarationError, match=words):
        schema_of(kind)


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (tuple, {"type": "array"}),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
    ],
)
def test_types_of_few_values_and_tuples(kind, schema):
    """What a type says is what the schema says."""
    assert schema_of(kind) == schema


def _structure(kind, value):
    return structurer(fields=[Field("v", "v", kind, required=True)])({"v": value})["v"]


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (tuple[Colour, Any], ["red", {"a": 1}], (Colour.RED, {"a": 1})),
        (float, 2**60 + 1, 2**60 + 1),
        (float, 10**400, 10**400),
        (float, 2, 2.0),
        (int, 2.0, 2),
        (float | int, 1, 1),
        (int | float, 1.5, 1.5),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Colour, "red", Colour.RED),
    ],
)
def test_numbers_keep_their_value(kind, value, made):
    """1 and 1.0 are one JSON number, and none is rounded."""
    found = _structure(kind, value)
    assert found == made
    assert type(found) is type(made)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (float, float("inf"), "a number"),
        (float, True, "a number"),
        (list[int], {"a": 1}, "a list"),
        (set[Any], [[1]], "a set of plain values"),
        (dict[str, int], [1], "an object"),
        (int | str, [1], "any of"),
        (Colour, "green", "green"),
        (Wanted, 7, "an object"),
        (Wanted, {}, "needs 'x'"),
        (Wanted, {"x": 1, "y": 2}, "has no 'y'"),
    ],
)
def test_values_of_another_type_are_invalid(kind, value, words):
    """The sentence says what was wanted."""
    with pytest.raises(Invalid) as caught:
        _structure(kind, value)
    assert words in str(caught.value)
