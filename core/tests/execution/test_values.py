"""What a handler may return, and what becomes of it."""

from __future__ import annotations

import asyncio
import base64
import functools

import attrs
import pytest

from toolcrib.implementation import Companions, Implementation
from toolcrib.outcome import Audio, File, Image, Json, Result, Text


async def returns(bench, value, **fields):
    async def handler(ctx):
        return value

    return await bench.run(handler, **fields)


@pytest.mark.parametrize(
    ("value", "content", "structured"),
    [
        ("text", (Text("text"),), None),
        (None, (), None),
        ({"a": [1]}, (Json({"a": [1]}),), {"a": [1]}),
        ([1, 2], (Json([1, 2]),), [1, 2]),
        (7, (Json(7),), 7),
        (False, (Json(False),), False),
        ((Text("a"), Text("b")), (Text("a"), Text("b")), None),
        (Text("a"), (Text("a"),), None),
        (
            b"\x00\xff",
            (
                File(
                    base64.b64encode(b"\x00\xff").decode(),
                    "application/octet-stream",
                    "output.bin",
                ),
            ),
            None,
        ),
    ],
)
def test_values_become_content(bench, go, value, content, structured):
    """Each kind of value has one form as content."""
    outcome = go(lambda: returns(bench, value))
    assert outcome.ok
    assert outcome.result.content == content
    assert outcome.result.structured == structured


class Called:
    """A handler that is an object."""

    async def __call__(self, ctx):
        """Answer."""
        return "called"

    async def method(self, ctx):
        """Answer."""
        return "called"

    def plain(self, ctx):
        """Answer."""
        return "called"

    def lazy(self, ctx):
        """Return what has to be awaited."""
        return self(ctx)


@pytest.mark.parametrize(
    "handler",
    [
        Called(),
        Called().method,
        Called().plain,
        Called().lazy,
        functools.partial(Called().method),
        functools.partial(Called().plain),
        lambda ctx: Called().method(ctx),
    ],
)
def test_handlers_of_every_shape_run(bench, go, handler):
    """Functions, methods, objects and partials, sync, async, or returning an awaitable."""
    outcome = go(lambda: bench.run(handler))
    assert outcome.result.content == (Text("called"),)


def test_picture_bytes_become_an_image(bench, go):
    """Bytes that start like a picture are shown as one."""
    outcome = go(lambda: returns(bench, b"\x89PNG\r\n\x1a\nrest"))
    assert isinstance(outcome.result.content[0], Image)
    assert outcome.result.content[0].media_type == "image/png"


def test_a_result_stays_as_it_is(bench, go):
    """A handler that returns a Result has said everything itself."""
    result = Result(summary="done", content=[Text("x")], notes=["degraded"])
    assert go(lambda: returns(bench, result)).result is result


@pytest.mark.parametrize("value", [object(), float("nan"), {"a": {1, 2}}, {1: object()}])
def test_what_is_not_json_is_refused_but_known_to_have_run(bench, go, value):
    """A value that nobody can read ends as output.invalid, with what can be shown."""
    outcome = go(lambda: returns(bench, value))
    assert (outcome.status, outcome.code) == ("failed", "output.invalid")
    assert "did run" in outcome.text
    assert outcome.attempts == 1
    assert outcome.result.content


def test_a_stranger_among_blocks_is_refused_and_the_blocks_are_kept(bench, go):
    """The readable part of a mixed answer is not thrown away."""
    outcome = go(lambda: returns(bench, (Text("kept"), 3)))
    assert outcome.code == "output.invalid"
    assert outcome.result.content == (Text("kept"),)


def test_typed_values_go_through_the_tools_unstructure(bench, go):
    """A typed value is turned into JSON by the function that the pack has for it."""

    @attrs.frozen
    class Point:
        x: int

    async def handler(ctx):
        return Point(3)

    tool = bench.tool()
    implementation = Implementation(tool=tool, handler=handler, unstructure=attrs.asdict)
    outcome = go(lambda: bench.run(None, tool=tool, implementation=implementation))
    assert outcome.result.structured == {"x": 3}


def test_output_outside_its_schema_keeps_text_and_drops_structure(bench, go):
    """A wrong output is still shown, but no program gets it as checked."""
    tool = bench.tool(output_schema={"type": "object"})
    outcome = go(
        lambda: returns(bench, [1], tool=tool, check_schema=lambda v: ["/ is not an object"])
    )
    assert outcome.code == "output.invalid"
    assert "/ is not an object" in outcome.text
    assert "did run" in outcome.text
    assert outcome.result.content == (Json([1]),)
    assert outcome.result.structured is None


def test_the_tools_own_output_check_is_asked_last(bench, go):
    """A companion that checks output sees the structured value and may reject it."""

    def check(value):
        msg = "too small"
        raise ValueError(msg)

    async def handler(ctx):
        return {"n": 1}

    tool = bench.tool()
    implementation = Implementation(
        tool=tool, handler=handler, companions=Companions(check_output=check)
    )
    outcome = go(lambda: bench.run(None, tool=tool, implementation=implementation))
    assert outcome.code == "output.invalid"
    assert "too small" in outcome.text


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        [10**5000],
        Json(float("nan")),
        Text(5),
        Image(None, None),
        (Text("a"), Json(object())),
        Result(summary=5),
        Result(content="abc"),
        Result(content=[Text("a"), 5]),
        Result(structured={"mean": float("nan")}),
        Result(notes=[object()]),
    ],
    ids=range(11),
)
def test_what_cannot_be_written_down_is_no_output(bench, go, value):
    """A result that a pack made by hand has an outcome too, one that everybody can read."""
    outcome = go(lambda: returns(bench, value))
    assert outcome.code == "output.invalid"
    assert outcome.result.structured is None
    assert all(isinstance(block, Text) for block in outcome.result.content)


def test_notes_are_no_way_around_the_budget(bench, go):
    """They are few and short."""
    outcome = go(lambda: returns(bench, Result(notes=["n" * 10_000] * 1000)))
    assert outcome.ok
    assert sum(map(len, outcome.result.notes)) <= 10_000


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3)])
def test_an_output_check_cannot_end_its_caller(bench, go, error):
    """What Python raises to end a task or a process is a failed check."""

    def check(value):
        raise error

    async def handler(ctx):
        return {"n": 1}

    tool = bench.tool()
    implementation = Implementation(
        tool=tool, handler=handler, companions=Companions(check_output=check)
    )
    outcome = go(lambda: bench.run(None, tool=tool, implementation=implementation))
    assert outcome.code == "output.invalid"


def test_text_under_an_output_schema_is_structured_too(bench, go):
    """A tool that declares its text as output gets it checked."""
    tool = bench.tool(output_schema={"type": "string"})
    seen = []
    outcome = go(
        lambda: returns(bench, "x", tool=tool, check_schema=lambda v: seen.append(v) or ())
    )
    assert outcome.result.structured == "x"
    assert seen == ["x"]


@pytest.mark.parametrize(
    "block",
    [
        Image("notbase64!!", "image/png"),
        Image("aGk", "image/png"),
        Audio("aGk=aGk=", "audio/wav"),
        File("näh=", "text/plain", "n.txt"),
    ],
)
def test_media_that_is_not_base64_reaches_nobody(bench, go, block):
    """A provider would refuse the whole request; what can be read is kept."""
    value = Result(content=(Text("before"), block))
    outcome = go(lambda: returns(bench, value))
    assert (outcome.status, outcome.code) == ("failed", "output.invalid")
    assert outcome.result.content == (Text("before"),)
    assert f"data of a {type(block).__name__} is not base64" in outcome.text


def test_base64_in_lines_is_joined(bench, go):
    """Mail wraps it, and providers do not take it so."""
    wrapped = base64.encodebytes(bytes(range(100))).decode()
    outcome = go(lambda: returns(bench, Image(wrapped, "image/png")))
    assert outcome.result.content == (Image("".join(wrapped.split()), "image/png"),)
