"""From types to JSON Schema."""

# ruff: noqa: B008, FBT001, PLR0917 - handlers of every kind are the material

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import uuid

from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
)

import attrs
import jsonschema_rs
import pytest

from toolcrib.errors import DeclarationError
from toolcrib.outcome import Image, Result, Text
from toolcrib.schema import normalize
from toolcrib.typed.constraints import AtLeast, AtMost, Between, Length, Multiple, Pattern, Url
from toolcrib.typed.schema import input_schema, output_schema, schema_of


T = TypeVar("T")
UserId = NewType("UserId", str)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@attrs.frozen
class Node:
    """A node of a tree."""

    name: str
    children: "list[Node]" = attrs.field(factory=list)


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Pair(NamedTuple):
    left: str
    right: int = 1


@attrs.frozen
class Box(Generic[T]):
    content: T


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (int | int, {"type": "integer"}),
        (list, {"type": "array"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (
            set[int],
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        ),
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
        (
            dict[Literal["a"], int],
            {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "propertyNames": {"enum": ["a"]},
            },
        ),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (Url, {"type": "string", "format": "uri"}),
        (dt.datetime, {"type": "string", "format": "date-time"}),
        (dt.date, {"type": "string", "format": "date"}),
        (dt.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (decimal.Decimal, {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?$"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (UserId, {"type": "string"}),
        (Annotated[str, "Town"], {"type": "string", "description": "Town"}),
        (Annotated[int, Between(1, 14)], {"type": "integer", "minimum": 1, "maximum": 14}),
        (Annotated[float, AtLeast(0)], {"type": "number", "minimum": 0}),
        (Annotated[float, AtMost(1.5)], {"type": "number", "maximum": 1.5}),
        (Annotated[int, Multiple(5)], {"type": "integer", "multipleOf": 5}),
        (Annotated[str, Length(1, 9)], {"type": "string", "minLength": 1, "maxLength": 9}),
        (Annotated[list[Any], Length(2)], {"type": "array", "items": {}, "minItems": 2}),
        (Annotated[str, Pattern("^a$")], {"type": "string", "pattern": "^a$"}),
        (
            Annotated[int | None, Between(1, 2)],
            {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2}, {"type": "null"}]},
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "integer", "default": 0},
                },
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
        (
            Movie,
            {
                "type": "object",
                "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
                "required": ["title"],
                "additionalProperties": False,
            },
        ),
        (
            Pair,
            {
                "type": "object",
                "properties": {
                    "left": {"type": "string"},
                    "right": {"type": "integer", "default": 1},
                },
                "required": ["left"],
                "additionalProperties": False,
            },
        ),
        (
            Box[int],
            {
                "type": "object",
                "properties": {"content": {"type": "integer"}},
                "required": ["content"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=str,
)
def test_types(kind, schema):
    """Each type has one schema, which is in the normal form already."""
    found = schema_of(kind)
    assert found == schema
    jsonschema_rs.validator_for(found)
    normal = normalize(found)
    assert not normal.losses
    assert not normal.repairs


def test_recursive_class():
    """A class that contains itself stands at the root and under ``$defs``."""
    schema = schema_of(Node)
    assert schema["type"] == "object"
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid({"name": "a", "children": [{"name": "b", "children": []}]})
    assert not validator.is_valid({"name": "a", "children": [{"name": 1}]})


def test_class_used_twice_is_defined_once():
    """A class that occurs twice is a definition, one that occurs once stands inside."""

    def move(ctx, start: Point, end: Point, colour: Box[str]): ...

    schema = input_schema(move)
    assert schema["properties"]["start"] == {"$ref": "#/$defs/Point"}
    assert schema["properties"]["colour"]["type"] == "object"
    assert list(schema["$defs"]) == ["Point"]


def test_classes_of_one_name_are_told_apart():
    """Two classes of one name get two definitions, whatever the case of the name."""
    one = attrs.make_class("Thing", {"a": attrs.field(type=int)})
    other = attrs.make_class("THING", {"b": attrs.field(type=int)})
    schema = schema_of(tuple[one, one, other, other])
    assert len({name.casefold() for name in schema["$defs"]}) == 2


def test_parameters_named_like_keywords():
    """Parameters may have the names of JSON Schema keywords."""

    def odd(
        ctx, title: str, type: str, description: int, default: bool, enum: str, items: str
    ): ...

    schema = input_schema(odd)
    names = ["title", "type", "description", "default", "enum", "items"]
    assert list(schema["properties"]) == names
    assert schema["required"] == names


def test_a_default_that_looks_like_a_reference_stays_data():
    """Data in a default is never taken for a reference."""

    def f(ctx, node: Node, extra: dict[str, str] = {"$ref": "Node"}): ...  # noqa: B006

    assert input_schema(f)["properties"]["extra"]["default"] == {"$ref": "Node"}


def test_defaults_travel_as_json():
    """Defaults are emitted in the form in which an argument would come."""

    def f(
        ctx,
        colour: Colour = Colour.RED,
        where: pathlib.PurePosixPath = pathlib.PurePosixPath("a"),
        when: dt.timedelta = dt.timedelta(hours=1, seconds=1.5),
        tags: frozenset[str] = frozenset({"b", "a"}),
        point: Point = Point(1),
        nothing: int | None = None,
    ): ...

    found = {k: v["default"] for k, v in input_schema(f)["properties"].items()}
    assert found == {
        "colour": "red",
        "where": "a",
        "when": "PT3601.5S",
        "tags": ["a", "b"],
        "point": {"x": 1, "y": 0},
        "nothing": None,
    }
    assert "required" not in input_schema(f)


def test_attrs_validators_are_keywords():
    """What attrs validates at construction, the schema says in advance."""
    v = attrs.validators

    @attrs.frozen
    class Order:
        count: int = attrs.field(validator=[v.ge(1), v.lt(10)])
        code: str = attrs.field(validator=v.matches_re(r"[a-z]+|\d"))
        size: str = attrs.field(validator=v.in_(["s", "l"]), metadata={"doc": "The size"})
        tags: list[str] = attrs.field(validator=[v.min_len(1), v.max_len(3)])
        note: str | None = attrs.field(default=None, validator=v.optional(v.max_len(5)))
        made: list[str] = attrs.field(factory=lambda: ["x"])
        _hidden: int = attrs.field(default=1, validator=v.instance_of(int))

    schema = schema_of(Order)
    assert schema["properties"] == {
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
        "code": {"type": "string", "pattern": r"^(?:[a-z]+|\d)$"},
        "size": {"type": "string", "enum": ["s", "l"], "description": "The size"},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        "note": {
            "anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}],
            "default": None,
        },
        "made": {"type": "array", "items": {"type": "string"}},
        "hidden": {"type": "integer", "default": 1},
    }
    assert schema["required"] == ["count", "code", "size", "tags"]


def test_inherited_generic_fields():
    """A type variable of a base class is what the subclass says."""

    @attrs.frozen
    class Names(Box[list[str]]):
        more: int = 0

    assert schema_of(Names)["properties"]["content"]["items"] == {"type": "string"}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (complex, "complex"),
        (dict[int, str], "keys of a JSON object"),
        (enum.Flag("F", "A B"), "F"),
        (T, "type variable"),
        (Annotated[str, Between(1, 2)], "minimum"),
        (Annotated[Literal["a"], Pattern("a")], "pattern"),
        (Literal[b"x"], "b'x'"),
        (type[int], "type"),
        (list["Nowhere"], "Nowhere"),  # noqa: F821
    ],
)
def test_inexpressible(kind, words):
    """What JSON Schema cannot say is refused, with the parameter's name."""

    def f(ctx, value): ...

    f.__annotations__["value"] = kind
    with pytest.raises(DeclarationError, match=r"f: parameter 'value'") as raised:
        input_schema(f)
    assert words in str(raised.value)


def test_every_problem_is_named():
    """One error lists every parameter that is wrong."""

    def f(ctx, a: complex, b: int, c: int = "x"): ...

    with pytest.raises(DeclarationError) as raised:
        input_schema(f)
    assert len(raised.value.problems) == 2
    assert "parameter 'c': the default 'x'" in raised.value.problems[1]


def test_missing_annotation():
    """A parameter without a type is refused."""

    def f(ctx, a): ...

    with pytest.raises(DeclarationError, match="'a' has no annotation"):
        input_schema(f)


def test_bounds_are_ordered():
    """A bound that nothing fits is refused where it is written."""
    with pytest.raises(ValueError, match="above the upper bound"):
        Between(2, 1)
    with pytest.raises(ValueError, match="no regular expression"):
        Pattern("(")


def test_outputs():
    """Structured values have an output schema, content has none."""

    def text(ctx) -> str: ...
    def result(ctx) -> Result: ...
    def blocks(ctx) -> list[Text | Image]: ...
    def unsaid(ctx): ...
    def both(ctx) -> Result | Point | None: ...
    def numbers(ctx) -> dict[str, int]: ...

    assert [output_schema(f) for f in (text, result, blocks, unsaid)] == [None] * 4
    assert output_schema(both) == schema_of(Point)
    assert output_schema(numbers) == schema_of(dict[str, int])


def test_texts_of_the_docstring_are_descriptions():
    """A parameter is described by its annotation, or else by the docstring."""

    def f(ctx, a: Annotated[int, "own"], b: int): ...

    found = input_schema(f, texts={"a": "other", "b": "of b"})["properties"]
    assert found["a"]["description"] == "own"
    assert found["b"]["description"] == "of b"


def test_type_alias_type():
    """An alias statement is what it stands for."""
    alias = pytest.importorskip("typing_extensions").TypeAliasType("Alias", list[int])
    assert schema_of(alias) == {"type": "array", "items": {"type": "integer"}}
