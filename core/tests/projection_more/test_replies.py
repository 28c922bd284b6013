"""Replies in every form that an SDK gives them, and what is wrong with a call."""

from __future__ import annotations

import json

from types import MappingProxyType, SimpleNamespace

import attrs
import pytest

from toolcrib.call import Call
from toolcrib.outcome import Audio, Image, Outcome, Result, Text
from toolcrib.projection import (
    Projection,
    ProjectionCache,
    RequestLimits,
    cut_off,
    dialect,
    parsed,
    plain,
    project,
    wire_call,
)
from toolcrib.tool import Description, Tool
from toolcrib.vocabulary import Status


LONG = "9" * 5_000
CALL = {"id": "c1", "type": "function", "function": {"name": "a_b", "arguments": "{}"}}
BLOCK = {"type": "tool_use", "id": "c1", "name": "a_b", "input": {"x": 1}}
ITEM = {"type": "function_call", "call_id": "c1", "name": "a_b", "arguments": "{}"}
ONE = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@attrs.frozen
class Attrs:
    """A reply made of attrs classes."""

    a: int = 1


class Old:
    """An SDK's object before pydantic 2."""

    def dict(self):
        return {"a": 1}


class Dumps:
    """An SDK's object whose dump takes no mode."""

    def model_dump(self):
        return {"a": 1}


class Field:
    """A protobuf field."""

    def __init__(self, name):
        self.name = name


class Message:
    """A protobuf message."""

    def ListFields(self):  # noqa: N802 - protobuf's own name
        return [(Field("a"), (1, 2)), (Field("b"), "text")]


class Number(int):
    """A number that is not exactly an int."""


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'{"a": 1}', {"a": 1}),
        (bytearray(b'{"a": 1}'), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({1: (2, 3)}, {"1": [2, 3]}),
        ([Attrs()], [{"a": 1}]),
        (Old(), {"a": 1}),
        (Dumps(), {"a": 1}),
        (Message(), {"a": [1, 2], "b": "text"}),
        (SimpleNamespace(a=1, _b=2), {"a": 1}),
        ({"a": b"\x00\xff"}, {"a": "00ff"}),
        ([Number(3)], [3]),
    ],
)
def test_a_reply_is_read_in_whatever_form_it_comes(reply, value):
    """Text, values, and the objects of SDKs old and new."""
    assert plain(reply) == value


@pytest.mark.parametrize("reply", ["{", object()])
def test_what_is_no_reply_is_an_error(reply):
    """It is the app's mistake, not the model's."""
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own text, or ours
        plain(reply)


def test_a_reply_that_is_nested_without_end_is_an_error():
    """A model cannot exhaust the stack."""
    deep = []
    for _ in range(1_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        plain(deep)


def test_a_number_of_too_many_digits_costs_its_call_alone():
    """Other calls of the reply have their answers."""
    text = json.dumps({"tool_calls": [CALL, CALL]}).replace('"{}"', LONG, 1)
    first, second = dialect("openai").parse(text).calls
    assert first.problem.code == "arguments.not_object"
    assert second.problem is None


def test_replies_with_long_numbers_have_digests_of_their_own():
    """Two replies are one only if they are the same."""
    one, other = ({"a": [(1 << 20_000) + i], "b": "x"} for i in (0, 1))
    assert parsed(one, []).digest == parsed(dict(one), []).digest
    assert parsed(one, []).digest != parsed(other, []).digest


def test_a_reply_with_too_many_calls_is_refused_as_a_whole():
    """Nobody asks for a thousand things at once."""
    call = wire_call("a_b", "c", "{}")
    with pytest.raises(ValueError, match="holds 1001 calls, more than 1000"):
        parsed({}, [call] * 1_001)


@pytest.mark.parametrize("name", [None, "", 7, "x" * 257])
def test_a_call_without_a_name_is_malformed(name):
    """It is answered, and nothing runs."""
    assert wire_call(name, "c", "{}").problem.code == "call.malformed"


@pytest.mark.parametrize(("sent", "kept"), [(7, "7"), (True, None), ("", None), ("c", "c")])
def test_an_id_is_text_or_none(sent, kept):
    """Some servers number their calls."""
    assert wire_call("a_b", sent, "{}").provider_id == kept


def test_nothing_is_cut_off_where_no_call_is():
    """A reply of text that stopped early has no call to doubt."""
    assert cut_off([], "length") == []


def test_a_call_of_a_reply_that_was_cut_off_keeps_its_own_problem():
    """What is wrong with the call itself is said first."""
    (call,) = cut_off([wire_call(None, "c", "{}")], "length")
    assert call.problem.code == "call.malformed"


# -- forms of the core's dialects --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        (
            "openai",
            {"type": "function_call", "call_id": "c1", "name": "a_b", "arguments": "{}"},
        ),
        ("openai", [ITEM]),
        ("openai", CALL),
        (
            "openai",
            {"tool_calls": [{"id": "c1", "custom": {"name": "a_b", "input": "free"}}]},
        ),
        ("openai", {"type": "custom_tool_call", "call_id": "c1", "name": "a_b", "input": "x"}),
        ("openai", {"output": [ITEM], "status": "completed"}),
        ("anthropic", BLOCK),
        ("anthropic", [BLOCK]),
        ("anthropic", {"content": [BLOCK]}),
    ],
)
def test_a_part_of_a_reply_is_as_good_as_the_whole(name, reply):
    """An app may pass on what it has."""
    (call,) = dialect(name).parse(reply).calls
    assert (call.name, call.provider_id, call.problem) == ("a_b", "c1", None)


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", {"choices": []}),
        ("openai", {"choices": [{"message": "text"}]}),
        ("openai", {"output": [7, {"type": "message"}]}),
        ("anthropic", {"content": "text"}),
    ],
)
def test_a_reply_without_calls_has_none(name, reply):
    """Text alone is no call."""
    assert dialect(name).parse(reply).calls == ()


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", {"tool_calls": {"id": "c1"}}),
        ("openai", {"tool_calls": [7]}),
        ("openai", {"tool_calls": [{"id": "c1", "function": "a_b"}]}),
        ("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
        ("mcp", {"jsonrpc": "2.0", "id": 1, "params": 7}),
    ],
)
def test_what_stands_where_a_call_should_is_answered(name, reply):
    """It is malformed, and it is not passed over."""
    (call,) = dialect(name).parse(reply).calls
    assert call.problem.code == "call.malformed"


@pytest.mark.parametrize("name", ["openai", "anthropic", "mcp"])
@pytest.mark.parametrize("reply", [7, None, {}])
def test_what_is_no_reply_at_all_is_not_one_without_calls(name, reply):
    """An agent's loop would take it for the end."""
    with pytest.raises(ValueError, match="not a reply in the form of"):
        dialect(name).parse(reply)


def test_a_response_that_is_incomplete_ends_its_last_call():
    """What looks whole may not be."""
    reply = {"output": [ITEM], "status": "incomplete", "incomplete_details": "?"}
    (call,) = dialect("openai-responses").parse(reply).calls
    assert call.problem.code == "arguments.truncated"
    assert "(incomplete)" in call.problem.text


def test_an_id_that_cannot_be_sent_back_is_none():
    """A request without an id is answered with its result alone."""
    request = {"jsonrpc": "2.0", "id": float("nan"), "method": "tools/call"}
    (call,) = dialect("mcp").parse([{**request, "params": {"name": "a_b"}}]).calls
    assert call.provider_id is None


def _answer(name, outcome):
    call = Call(
        id="x", wire_name="a_b", provider_id='"c1"', position=0, response_digest="sha256:0"
    )
    (message,) = dialect(name).results([(call, outcome)])
    return message


def _outcome(*content, **fields):
    fields.setdefault("status", Status.OK)
    return Outcome(call_id="x", tool_id="a.b", result=Result("Done.", content), **fields)


def test_a_medium_that_a_protocol_cannot_show_is_counted():
    """The model is told that there is more."""
    outcome = _outcome(Image("aGk=", "image/png"), Audio("aGk=", "audio/wav"))
    parts = _answer("openai-responses", outcome)["output"]
    assert [part["type"] for part in parts] == ["input_text", "input_image"]
    assert "[1 part(s) cannot be shown here]" in parts[0]["text"]


def test_a_replayed_result_says_so_in_every_protocol():
    """The model should not think that it happened twice."""
    result = _answer("mcp", _outcome(Text("done"), replayed=True))["result"]
    first, second = (each["text"] for each in result["content"])
    assert first == "done"
    assert "replayed: recorded earlier" in second


def test_several_attempts_are_said():
    """A failure says how often it was tried."""
    outcome = _outcome(
        status=Status.UNAVAILABLE, code="tool.unavailable", text="Gone.", attempts=3
    )
    assert "3 attempts" in _answer("openai", outcome)["content"]


def test_an_output_schema_is_declared_where_the_protocol_has_one():
    """A client may check structured results."""
    tool = Tool(
        id="demo.tool",
        title="Demo",
        description=Description("Do it."),
        input_schema=ONE,
        output_schema=ONE,
    )
    declaration = project((tool,), dialect("mcp")).declarations[0]
    assert declaration["outputSchema"] == ONE
    assert declaration["outputSchema"] is not ONE


# -- the request as a whole --------------------------------------------------------


def _tool(schema=ONE, id_="demo.tool"):
    return Tool(id=id_, title="Demo", description=Description("Do it."), input_schema=schema)


BROKEN = {"type": "array"}


def test_a_pack_may_answer_with_a_whole_projection():
    """What the dialect cannot say, a pack says in its own words."""
    answer = Projection(tool_id="demo.tool", wire_name="own", declaration={"name": "own"})
    projected = project(
        (_tool(BROKEN),), dialect("openai"), projectors=[lambda tool, dialect: answer]
    )
    assert projected.declarations == ({"name": "own"},)
    assert projected.refusals == ()


@pytest.mark.parametrize(
    "answer", [7, Projection(tool_id="other.tool", wire_name="own", declaration={})]
)
def test_an_answer_for_no_tool_or_another_is_silence(answer):
    """The next pack is asked, and silence from all shows nothing."""
    projectors = [lambda tool, dialect: answer]
    projected = project((_tool(BROKEN),), dialect("openai"), projectors=projectors)
    assert projected.entries == ()


def test_a_tool_that_only_strict_can_say_is_refused_when_there_is_no_room():
    """It is named; the others are shown."""
    limited = attrs.evolve(dialect("openai"), profiles=(), limits=RequestLimits(strict_tools=1))
    tools = (_tool(id_="demo.a"), _tool(id_="demo.b"))
    projected = project(tools, limited, strict=True)
    assert [entry.tool_id for entry in projected.entries] == ["demo.a"]
    assert [refusal.subject for refusal in projected.refusals] == ["demo.b"]


def test_a_cache_forgets_what_is_not_asked_for():
    """It holds as many tools as it may, and answers the same without them."""
    cache = ProjectionCache(tools=1, requests=1)
    tools = [_tool(id_=f"demo.t{i}") for i in range(3)]
    for _ in range(2):
        for tool in tools:
            entry = project((tool,), dialect("openai"), cache=cache).entries[0]
            assert entry.tool_id == tool.id
