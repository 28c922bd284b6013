"""Typed handlers: values of exactly the declared types, or a refusal."""

# ruff: noqa: FBT001 - handlers of every kind are the material

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import uuid

from typing import Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

import attrs
import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib.errors import Invalid
from toolcrib.outcome import Result
from toolcrib.typed.introspection import Field
from toolcrib.typed.structure import structurer, unstructurer
from toolcrib.typed.unstructuring import unstructure


T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


@attrs.frozen
class Node:
    name: str
    children: list[Node] = attrs.field(factory=list)
    _mark: int = attrs.field(default=0, validator=attrs.validators.ge(0))


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.5
    tags: list[str] = dataclasses.field(default_factory=list)


class Movie(TypedDict):
    title: str
    released: NotRequired[dt.date]


class Pair(NamedTuple):
    left: str
    right: int = 1


@attrs.frozen
class Box(Generic[T]):
    content: T


def structure(kind, value):
    """Structure one argument of a type."""
    made = structurer(fields=[Field("it", "it", kind, True)])
    return value if made is None else made({"it": value})["it"]


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (int, 1, 1),
        (int, 1.0, 1),
        (float, 1, 1.0),
        (float, 2**53 + 1, 2**53 + 1),
        (list[int], [1, 2.0], [1, 2]),
        (tuple[int, ...], [1], (1,)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Colour, "red", Colour.RED),
        (Colour, 1, Colour.ONE),
        (int | None, None, None),
        (int | str, "1", "1"),
        (float | int, 1, 1),
        (Node | Point, {"x": 1}, Point(1.0)),
        (pathlib.PurePosixPath, "a/b", pathlib.PurePosixPath("a/b")),
        (dt.date, "2026-01-31", dt.date(2026, 1, 31)),
        (dt.time, "09:30", dt.time(9, 30)),
        (
            dt.datetime,
            "2026-01-31T09:30:00Z",
            dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.UTC),
        ),
        (dt.timedelta, "-P1DT2H", -dt.timedelta(days=1, hours=2)),
        (
            uuid.UUID,
            "12345678-1234-5678-1234-567812345678",
            uuid.UUID(int=0x12345678123456781234567812345678),
        ),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (bytes, base64.b64encode(b"\0x").decode(), b"\0x"),
        (
            Node,
            {"name": "a", "children": [{"name": "b"}], "mark": 2},
            Node("a", [Node("b")], 2),
        ),
        (Point, {"x": 1}, Point(1.0)),
        (
            Movie,
            {"title": "M", "released": "2026-01-31"},
            {"title": "M", "released": dt.date(2026, 1, 31)},
        ),
        (Pair, {"left": "a"}, Pair("a")),
        (Box[int], {"content": 1.0}, Box(1)),
        (Any, {"a": [1]}, {"a": [1]}),
    ],
    ids=str,
)
def test_structure(kind, value, made):
    """A JSON value becomes an object of exactly the declared type."""
    found = structure(kind, value)
    assert found == made
    assert type(found) is type(made)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "1"),
        (int, 1.9),
        (int, True),
        (int, None),
        (float, "1.5"),
        (float, float("nan")),
        (float, False),
        (list[int], "12"),
        (list[int], ["1"]),
        (list[int], {"0": 1}),
        (set[int], 1),
        (tuple[int, int], [1]),
        (dict[str, int], [["a", 1]]),
        (int | None, "1"),
        (Colour, "RED"),
        (Colour, True),
        (Colour, 1.0),
        (pathlib.Path, 1),
        (pathlib.Path, "a\0b"),
        (dt.date, "20260131"),
        (dt.date, "2026-02-31"),
        (dt.datetime, 0),
        (dt.timedelta, "P"),
        (dt.timedelta, "PT"),
        (dt.timedelta, "P1Y"),
        (uuid.UUID, "{12345678123456781234567812345678}"),
        (decimal.Decimal, 1.5),
        (decimal.Decimal, "NaN"),
        (bytes, "a b"),
        (Node, {}),
        (Node, {"name": "a", "_mark": 1}),
        (Node, {"name": "a", "mark": -1}),
        (Node, ["a"]),
        (Point, {"x": 1, "z": 1}),
        (Movie, {"released": "2026-01-31"}),
        (Pair, ["a", 1]),
        (Literal[1, 2] | list[Node], [{"name": 1}]),
    ],
    ids=str,
)
def test_never_coerced(kind, value):
    """A value of another type is refused, however close it is."""
    with pytest.raises(Invalid):
        structure(kind, value)


def test_pointer_of_the_wrong_value():
    """The refusal leads to the value, through classes, lists and escaped keys."""
    with pytest.raises(Invalid, match='"1" is not a number') as raised:
        structure(dict[str, list[Point]], {"a/b": [{"x": 0}, {"x": "1"}]})
    assert raised.value.path == "/it/a~1b/1/x"


def test_message_of_a_validator_is_kept():
    """What an author's validator says reaches the model."""
    with pytest.raises(Invalid, match="must be >= 0"):
        structure(Node | None, {"name": "a", "mark": -1})


def test_nothing_to_do():
    """Handlers of plain JSON types get their arguments as they are."""

    def f(
        ctx, a: str, b: bool, c: list[str] | None = None, d: dict[str, Any] | None = None
    ): ...

    assert structurer(f) is None


def test_left_out_arguments_stay_out():
    """An argument that is not given is left to the handler's own default."""

    def f(ctx, a: int, b: int = 2): ...

    assert structurer(f)({"a": 1}) == {"a": 1}


def test_types_of_an_enclosing_function():
    """Classes of a function's own scope are found when their names are given."""

    @attrs.frozen
    class Local:
        other: Inner

    @attrs.frozen
    class Inner:
        x: int

    def f(ctx, a: Local): ...

    made = structurer(f, local=locals())
    assert made({"a": {"other": {"x": 1}}}) == {"a": Local(Inner(1))}


@attrs.frozen
class Everything:
    when: dt.datetime
    where: pathlib.PurePosixPath
    colour: Colour
    many: tuple[Pair, ...]
    some: frozenset[int]
    data: bytes
    table: dict[str, Point]
    money: decimal.Decimal
    length: dt.timedelta
    key: uuid.UUID


EVERYTHING = st.builds(
    Everything,
    when=st.datetimes(timezones=st.just(dt.UTC)),
    where=st.sampled_from([pathlib.PurePosixPath("a/b"), pathlib.PurePosixPath("/")]),
    colour=st.sampled_from(Colour),
    many=st.lists(st.builds(Pair, st.text(), st.integers())).map(tuple),
    some=st.frozensets(st.integers()),
    data=st.binary(max_size=20),
    table=st.dictionaries(st.text(), st.builds(Point, st.floats(-9, 9), st.floats(-9, 9))),
    money=st.decimals(allow_nan=False, allow_infinity=False, places=2),
    length=st.timedeltas(),
    key=st.uuids(),
)


@given(EVERYTHING)
def test_there_and_back(value):
    """What is written as JSON is read back as the same object."""
    plain = json.loads(json.dumps(unstructure(value)))
    assert structure(Everything, plain) == value


def test_unstructurer():
    """Only handlers of typed values need one."""

    def text(ctx) -> str: ...
    def result(ctx) -> Result: ...
    def plain(ctx) -> dict[str, bool]: ...
    def typed(ctx) -> Point: ...

    assert unstructurer(plain) is None
    assert unstructurer(typed)(Point(1)) == {"x": 1, "y": 0.5, "tags": []}
    assert unstructurer(text) is None
    assert unstructurer(result) is None


def test_sets_are_written_in_one_order():
    """A set has no order, its JSON has."""
    assert unstructure({"b", "a", "c"}) == ["a", "b", "c"]
    assert unstructure({10, 9}) == [10, 9]
