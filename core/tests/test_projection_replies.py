"""Replies in, results out, in the forms of the core's dialects."""

from __future__ import annotations

import json

from types import SimpleNamespace

import pytest

from toolcrib.call import Call
from toolcrib.outcome import (
    ArtifactLink,
    Audio,
    File,
    Image,
    Json,
    Link,
    Outcome,
    Result,
    Text,
)
from toolcrib.projection import dialect, render
from toolcrib.vocabulary import Status


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "a_b", "arguments": "{}"}}
ITEM = {"type": "function_call", "call_id": "c1", "id": "fc", "name": "a_b", "arguments": "{}"}
BLOCK = {"type": "tool_use", "id": "c1", "name": "a_b", "input": {"x": 1}}
PNG = Image("aGk=", "image/png")


class Sdk:
    """An object as official SDKs return it."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self, mode="python"):
        """Return plain values, as pydantic does."""
        assert mode == "json"
        return self.fields


def _message(*calls):
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def _calls(name, reply):
    return dialect(name).parse(reply).calls


def _outcome(status=Status.OK, **fields):
    return Outcome(call_id="x", tool_id="a.b", status=status, **fields)


def _call(provider_id="c1", position=0):
    return Call(
        id=f"x{position}",
        wire_name="a_b",
        provider_id=provider_id,
        position=position,
        response_digest="sha256:0123456789abcdef",
    )


# -- replies -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", {"choices": [{"message": _message(CHAT_CALL), "finish_reason": "x"}]}),
        ("openai", _message(CHAT_CALL)),
        ("openai", [_message(CHAT_CALL)]),
        ("openai", [CHAT_CALL]),
        ("openai", json.dumps(_message(CHAT_CALL))),
        ("openai", json.dumps(_message(CHAT_CALL)).encode()),
        ("openai", Sdk(**_message(CHAT_CALL))),
        ("openai", {"choices": [{"message": Sdk(**_message(CHAT_CALL))}]}),
        ("openai", SimpleNamespace(**_message(CHAT_CALL))),
        ("openai", {"output": [{"type": "reasoning"}, ITEM]}),
        ("openai-responses", {"output": [ITEM]}),
        ("openai-responses", [Sdk(**ITEM)]),
        ("openai-responses", ITEM),
        ("openai-responses", _message(CHAT_CALL)),
        ("anthropic", {"content": [{"type": "text", "text": "hm"}, BLOCK]}),
        ("anthropic", [BLOCK]),
        ("anthropic", BLOCK),
        ("anthropic", [Sdk(**BLOCK)]),
        ("anthropic", json.dumps({"role": "assistant", "content": [BLOCK]})),
        ("mcp", {"name": "a_b", "arguments": {}}),
    ],
)
def test_a_reply_is_read_in_whatever_form_it_comes(name, reply):
    """A whole response, a message, a list of items, JSON text and SDK objects."""
    (call,) = _calls(name, reply)
    assert call.name == "a_b"
    assert call.provider_id == (None if name == "mcp" else "c1")
    assert call.problem is None
    assert call.arguments in ("{}", {"x": 1}, {})


def test_parallel_calls_keep_their_order():
    """Positions count calls, not items."""
    second = {**CHAT_CALL, "id": "c2"}
    calls = _calls("openai", _message(CHAT_CALL, second))
    assert [(c.provider_id, c.position) for c in calls] == [("c1", 0), ("c2", 1)]
    blocks = [BLOCK, {"type": "text", "text": "."}, {**BLOCK, "id": "c2"}]
    calls = _calls("anthropic", {"content": blocks})
    assert [(c.provider_id, c.position) for c in calls] == [("c1", 0), ("c2", 1)]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (None, "call.malformed"),
        ("run it", "call.malformed"),
        ({"id": "c9"}, "call.malformed"),
        ({"id": "c9", "function": {"arguments": "{}"}}, "call.malformed"),
        ({"id": "c9", "function": {"name": "", "arguments": "{}"}}, "call.malformed"),
        ({"id": "c9", "function": {"name": 7, "arguments": "{}"}}, "call.malformed"),
        ({"id": "c9", "function": {"name": "n" * 999}}, "call.malformed"),
        ({"id": "c9", "function": {"name": "a_b", "arguments": [1]}}, "arguments.not_object"),
        ({"id": "c9", "function": {"name": "a_b", "arguments": 3}}, "arguments.not_object"),
    ],
)
def test_a_malformed_call_is_answered_and_its_siblings_run(entry, code):
    """One bad call never voids a batch."""
    bad, good = _calls("openai", _message(entry, CHAT_CALL))
    assert bad.problem.code == code
    assert "Nothing ran" in bad.problem.text
    assert good.problem is None
    assert good.position == 1
    if isinstance(entry, dict):
        assert bad.provider_id == "c9"


@pytest.mark.parametrize("arguments", ["", "null", None, '{"a":', {"a": 1}])
def test_arguments_are_passed_on_as_they_came(arguments):
    """Admission reads them; text and object are both fine here."""
    entry = {"id": "c1", "function": {"name": "a_b", "arguments": arguments}}
    (call,) = _calls("openai", _message(entry))
    assert call.arguments == arguments
    assert call.problem is None


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}])
def test_a_missing_id_is_none_and_gets_one_in_the_result(missing):
    """The made id is the same in every process."""
    entry = {"function": {"name": "a_b", "arguments": "{}"}, **missing}
    (call,) = _calls("openai", _message(entry))
    assert call.provider_id is None
    results = dialect("openai").results([(_call(None), _outcome())])
    assert results[0]["tool_call_id"] == "call_0_0123456789"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        (
            "openai",
            {
                "choices": [
                    {"message": _message(CHAT_CALL, CHAT_CALL), "finish_reason": "length"}
                ]
            },
        ),
        (
            "openai-responses",
            {
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [ITEM, ITEM],
            },
        ),
        ("openai-responses", {"output": [ITEM, {**ITEM, "status": "incomplete"}]}),
        ("anthropic", {"content": [BLOCK, BLOCK], "stop_reason": "max_tokens"}),
    ],
)
def test_a_reply_that_was_cut_off_refuses_its_last_call(name, reply):
    """What ends at a comma can look whole, so the reason travels with the call."""
    first, last = _calls(name, reply)
    assert first.problem is None
    assert last.problem.code == "arguments.truncated"


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize(
    "reply",
    [
        [],
        {"content": "hello"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
    ],
)
def test_a_reply_without_calls_has_none(name, reply):
    """Text alone is no call."""
    assert _calls(name, reply) == ()


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", {"choices": []}),
        ("openai", {"tool_calls": []}),
        ("openai", {"choices": [{"message": _message(), "finish_reason": "stop"}]}),
        ("openai-responses", {"output": [], "error": None}),
        ("openai-responses", [{"type": "reasoning", "summary": []}]),
        ("anthropic", {"type": "message", "content": [], "stop_reason": "end_turn"}),
        ("anthropic", [{"type": "thinking", "thinking": "hm"}]),
    ],
)
def test_a_whole_response_without_calls_has_none(name, reply):
    """A response that only thinks or says something is in order."""
    assert _calls(name, reply) == ()


FOREIGN = {
    "openai": {"choices": [{"message": _message(CHAT_CALL)}]},
    "openai-responses": {"output": [ITEM]},
    "anthropic": {"role": "assistant", "content": [BLOCK], "stop_reason": "tool_use"},
    "bedrock": {"output": {"message": {"content": [{"toolUse": {}}]}}},
    "gemini": {"candidates": [{"content": {"parts": []}}]},
    "mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a_b"}},
}


@pytest.mark.parametrize("name", ["openai", "anthropic", "mcp"])
@pytest.mark.parametrize("other", FOREIGN)
def test_a_reply_of_another_form_is_refused_and_named(name, other):
    """Its calls must not pass for none, which ends a conversation as if all were said."""
    if other.startswith(name):
        return
    for reply in (FOREIGN[other], [FOREIGN[other]], json.dumps(FOREIGN[other])):
        with pytest.raises(ValueError, match=f"in the form of {name}; .* one of {other}$"):
            dialect(name).parse(reply)


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "mcp"])
@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (None, "it is null"),
        (7, "it is of type int"),
        ({}, "it is empty"),
        ([None], "it is of type list"),
        ({"id": "x", "model": "y"}, "it has the keys id, model"),
        ({"error": {"message": "Overloaded", "code": 529}}, "it is an error: Overloaded"),
        ({"type": "error", "error": {"message": "Overloaded"}}, "it is an error: Overloaded"),
    ],
)
def test_what_is_no_reply_at_all_is_refused(name, reply, why):
    """An error of the provider, or nothing, is no answer of the model."""
    with pytest.raises(ValueError, match=f"not a reply in the form of .*; {why}"):
        dialect(name).parse(reply)


def test_calls_that_the_provider_answers_itself_are_not_ours():
    """Server tools are left alone."""
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web", "input": {}}
    assert _calls("anthropic", {"content": [server]}) == ()


@pytest.mark.parametrize("reply", ["hello", "{", 3.5j, object()])
def test_what_is_no_reply_is_refused(reply):
    """Plain text or a foreign object names itself in the error."""
    named = r"(Expecting|JSON)" if isinstance(reply, str) else type(reply).__name__
    with pytest.raises(ValueError, match=named):
        dialect("openai").parse(reply)


def test_the_digest_is_of_the_whole_reply():
    """The same reply has the same digest in any form; another has another."""
    parse = dialect("openai").parse
    one = parse(_message(CHAT_CALL))
    assert one.digest == parse(json.dumps(_message(CHAT_CALL))).digest
    assert one.digest != parse({**_message(CHAT_CALL), "content": "x"}).digest
    assert parse({"tool_calls": [CHAT_CALL], "odd": float("nan")}).digest.startswith("sha256:")


def test_mcp_reads_requests_and_answers_them_by_their_id():
    """A JSON-RPC id keeps its type."""
    requests = [
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a_b"}},
        {"jsonrpc": "2.0", "id": "7", "method": "tools/call", "params": {"name": "a_b"}},
        {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}},
    ]
    calls = _calls("mcp", requests)
    assert [c.problem.code if c.problem else None for c in calls] == [
        None,
        None,
        "call.malformed",
    ]
    answers = dialect("mcp").results([(_call(c.provider_id), _outcome()) for c in calls])
    assert [a["id"] for a in answers] == [7, "7", 9]


# -- results -----------------------------------------------------------------------


def test_a_failure_says_status_code_and_what_to_do():
    """Status and code are visible in the text, whatever flag there is beside it."""
    outcome = _outcome(
        Status.BUSY, code="call.busy", text="Too many calls. Try later.", retryable=True
    )
    rendered = render(outcome)
    assert rendered.failed
    assert rendered.text == "busy (call.busy, retryable): Too many calls. Try later."


def test_content_is_said_in_order_and_notes_are_visible():
    """Text, JSON, links, artifacts and media, then the notes."""
    result = Result(
        content=[
            Text("one"),
            Json({"b": 1, "a": None}),
            PNG,
            Link("https://x.example/", "X"),
            ArtifactLink("sha256:ab", 12, "text/plain", "log"),
            File("aGk=", "text/csv", "t.csv"),
        ],
        notes=["degraded"],
    )
    rendered = render(_outcome(result=result, replayed=True))
    assert rendered.text.split("\n") == [
        "one",
        '{"a":null,"b":1}',
        "[image 1: image/png]",
        "[link: X <https://x.example/>]",
        "[artifact sha256:ab: log, text/plain, 12 bytes; page it with crib_read]",
        "[file 2: t.csv, text/csv]",
        "[notes: degraded; replayed: recorded earlier, nothing ran now]",
    ]
    assert [m.type for m in rendered.media] == ["image", "file"]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (Result(structured={"n": 1}), '{"n":1}'),
        (Result(structured=0), "0"),
        (Result(summary="Deleted."), "Deleted."),
        (Result(), "Done; there is no output."),
        (Result(content=[Text("")]), "Done; there is no output."),
        (Result(content=[Text("a\ud800b")]), "a?b"),
    ],
)
def test_a_result_is_never_empty_and_always_text(result, text):
    """Structured output stands in for content; no provider gets an empty result."""
    assert render(_outcome(result=result)).text == text


def test_a_budget_keeps_head_and_tail():
    """What is left out is counted."""
    rendered = render(_outcome(result=Result(content=[Text("a" * 50 + "b" * 50)])), 30)
    assert rendered.text == "a" * 20 + "\n[… 70 characters left out …]\n" + "b" * 10


def test_chat_answers_each_call_in_order_and_images_follow():
    """Tool messages hold text alone, so images come in one message of the user."""
    pairs = [
        (_call("c1", 0), _outcome(result=Result(content=[Text("see"), PNG]))),
        (_call("c2", 1), _outcome(Status.FAILED, code="tool.failed", text="No.")),
        (_call("c3", 2), _outcome(result=Result(content=[Audio("aGk=", "audio/wav")]))),
    ]
    one, two, three, after = dialect("openai").results(pairs)
    assert [m["tool_call_id"] for m in (one, two, three)] == ["c1", "c2", "c3"]
    assert {m["role"] for m in (one, two, three)} == {"tool"}
    assert "images follow" in one["content"]
    assert two["content"] == "failed (tool.failed): No."
    assert "cannot be shown" in three["content"]
    assert after["role"] == "user"
    assert after["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="


def test_responses_answer_with_items_that_hold_images_and_files():
    """Output is text, or parts where there is more than text."""
    pairs = [
        (_call("c1", 0), _outcome()),
        (
            _call("c2", 1),
            _outcome(result=Result(content=[PNG, File("aGk=", "text/csv", "t.csv")])),
        ),
    ]
    one, two = dialect("openai-responses").results(pairs)
    assert one == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "Done; there is no output.",
    }
    assert [p["type"] for p in two["output"]] == ["input_text", "input_image", "input_file"]
    assert two["output"][2]["filename"] == "t.csv"


def test_anthropic_answers_all_calls_in_one_message_with_the_error_flag():
    """Results come first and alone; a failure is flagged and says its status."""
    pairs = [
        (_call("toolu_1", 0), _outcome(result=Result(content=[Text("see"), PNG]))),
        (_call("odd id!", 1), _outcome(Status.REFUSED, code="rule.denied", text="No.")),
        (
            _call("toolu_3", 2),
            _outcome(result=Result(content=[File("aGk=", "application/pdf", "a.pdf")])),
        ),
    ]
    (message,) = dialect("anthropic").results(pairs)
    one, two, three = message["content"]
    assert message["role"] == "user"
    assert [p["type"] for p in one["content"]] == ["text", "image"]
    assert "is_error" not in one
    assert two["is_error"] is True
    assert two["content"] == "refused (rule.denied): No."
    assert two["tool_use_id"].startswith("toolu_")
    assert three["content"][1]["type"] == "document"
    assert dialect("anthropic").results([]) == []


def test_mcp_answers_with_content_structure_and_flag():
    """Blocks keep their type; failures say their status first."""
    result = Result(
        content=[Text("t"), PNG, Link("https://x.example/"), File("aGk=", "text/csv", "t.csv")],
        structured={"n": 1},
    )
    (answer,) = dialect("mcp").results([(_call(None), _outcome(result=result))])
    assert [c["type"] for c in answer["content"]] == [
        "text",
        "image",
        "resource_link",
        "resource",
    ]
    assert answer["structuredContent"] == {"n": 1}
    assert "isError" not in answer
    failed = _outcome(Status.TIMEOUT, code="call.timeout", text="Late.", result=result)
    (answer,) = dialect("mcp").results([(_call(None), failed)])
    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("timeout (call.timeout): Late.")


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "mcp"])
@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_every_status_is_visible_in_every_dialect(name, status):
    """A model reads what happened, flag or not, and results are JSON-safe."""
    outcome = _outcome(status, code="some.code", text="Do this.")
    provider_id = "1" if name == "mcp" else "c1"
    text = json.dumps(dialect(name).results([(_call(provider_id), outcome)]))
    assert f"{status} (some.code): Do this." in text
