"""Replies, results and declarations of each dialect, and how the pack is found."""

from __future__ import annotations

import asyncio
import json

from importlib import resources

import pluggy
import pytest

from toolcrib import Context, Pack, Policy, Toolbox, authoring, hookspecs
from toolcrib.call import Call
from toolcrib.outcome import Audio, File, Image, Outcome, Result, Text
from toolcrib.projection import Dialect, dialect, project, spoken_by
from toolcrib.tool import Description, Tool
from toolcrib.vocabulary import Status

from toolcrib_dialects import DIALECTS, pack


NAMES = sorted(DIALECTS)
CHATLIKE = ["groq", "xai", "xai-sdk", "deepseek", "mistral"]
ENTRY = {"id": "c1", "type": "function", "function": {"name": "a_b", "arguments": '{"x":1}'}}
ONE = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
PNG = Image("aGk=", "image/png")


def _tool(schema=ONE, tool_id="demo.tool", **fields):
    return Tool(
        id=tool_id, title="", description=Description("D."), input_schema=schema, **fields
    )


def _call(provider_id="c1", position=0):
    return Call(
        id=f"x{position}",
        wire_name="a_b",
        provider_id=provider_id,
        position=position,
        response_digest="sha256:0123456789abcdef",
    )


def _outcome(status=Status.OK, **fields):
    return Outcome(call_id="x", tool_id="a.b", status=status, **fields)


# -- the hook ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_pack_speaks_through_the_hook(name):
    """Registered as any pack is, it answers with a dialect that the core then uses."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(pack, name="dialects")
    manager.check_pending()
    spoken = tuple(spoken_by(name, [manager.hook.toolcrib_project]))
    found = dialect(name, extra=spoken)
    assert isinstance(found, Dialect)
    assert found.name == name
    assert project((_tool(),), found).refusals == ()


def test_the_pack_leaves_single_tools_and_other_dialects_alone():
    """Silence leaves the question to the next pack."""
    assert pack.toolcrib_project(tool=_tool(), dialect="gemini") is None
    assert pack.toolcrib_project(tool=None, dialect="openai") is None


def test_the_manifest_is_what_the_pack_says():
    """It is written, not maintained by hand."""
    data = resources.files("toolcrib_dialects").joinpath("toolcrib.json").read_bytes()
    assert authoring.check(data, pack) == []


def test_a_toolbox_shows_and_answers_through_the_pack():
    """From policy to the provider's form and back, with nothing but the hook between."""
    demo = Pack("demo")

    @demo.tool(effects=())
    def add(ctx: Context, a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    policy = Policy(local=[demo, pack], projectors=("dialects",), develop=True)
    called = {"functionCall": {"name": "demo_add", "args": {"a": 1}}}

    async def main():
        async with Toolbox(policy) as box, box.session("c", mode="trust") as session:
            view = await session.view("gemini")
            batch = await session.submit(view.calls({"parts": [called]}))
            async with batch.run() as events:
                async for _ in events:
                    pass
            return view.declarations, view.results(batch)

    declarations, results = asyncio.run(main())
    assert declarations[0]["functionDeclarations"][0]["name"] == "demo_add"
    (part,) = results[0]["parts"]
    assert part["functionResponse"] == {"name": "demo_add", "response": {"output": "3"}}


# -- declarations ------------------------------------------------------------------


def test_gemini_puts_functions_into_one_tool():
    """A function without arguments has no schema."""
    tools = (_tool(), _tool({"type": "object"}, "demo.none"))
    (declaration,) = project(tools, DIALECTS["gemini"]).declarations
    first, second = declaration["functionDeclarations"]
    assert first["parametersJsonSchema"] == ONE
    assert second == {"name": "demo_none", "description": "D."}


def test_gemini_says_required_recursion_a_few_levels_deep():
    """Cycles outside optional properties are written out and widened, and it is said."""
    node = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
        "required": ["kids"],
    }
    schema = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/N"}},
        "required": ["n"],
        "$defs": {"N": node},
    }
    (entry,) = project((_tool(schema),), DIALECTS["gemini"]).entries
    text = json.dumps(entry.declaration)
    assert "$ref" not in text
    assert text.count("kids") == 6
    assert {loss.kind for loss in entry.losses} == {"widened"}


@pytest.mark.parametrize(
    ("sub", "sent"),
    [
        ({"const": "get"}, {"type": "string", "enum": ["get"]}),
        ({"const": 3}, {"type": "integer", "description": "(const=3)"}),
        ({"const": True}, {"type": "boolean", "description": "(const=true)"}),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {
                "type": "array",
                "description": "(uniqueItems=true)",
                "items": {"type": "string"},
            },
        ),
        (
            {"type": ["integer", "null"], "exclusiveMinimum": 0},
            {"type": "integer", "minimum": 1, "nullable": True},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            {"type": "string", "nullable": True, "default": None},
        ),
    ],
)
def test_the_older_form_of_gemini_has_no_unknown_keyword(sub, sent):
    """One unknown keyword would refuse the whole request."""
    schema = {"type": "object", "properties": {"a": sub}, "required": ["a"]}
    (entry,) = project((_tool(schema),), DIALECTS["gemini-openapi"]).entries
    assert entry.declaration["parameters"]["properties"]["a"] == sent


def test_bedrock_strict_is_marked_and_narrow():
    """Strict is a mark of the tool's specification; lax has none."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "s": {"type": "string"}},
    }
    strict = project((_tool(schema),), DIALECTS["bedrock"], strict=True).entries[0]
    spec = strict.declaration["toolSpec"]
    assert spec["strict"] is True
    assert spec["inputSchema"]["json"]["additionalProperties"] is False
    assert "minimum" not in spec["inputSchema"]["json"]["properties"]["n"]
    lax = project((_tool(schema),), DIALECTS["bedrock"]).entries[0]
    assert "strict" not in lax.declaration["toolSpec"]


def test_deepseek_strict_drops_the_bounds_of_lists():
    """As OpenAI's, without minItems and maxItems."""
    sub = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}
    schema = {"type": "object", "properties": {"a": sub}, "required": ["a"]}
    (entry,) = project((_tool(schema),), DIALECTS["deepseek"], strict=True).entries
    assert entry.strict
    said = entry.declaration["function"]["parameters"]["properties"]["a"]
    assert said["description"] == "(minItems=1; maxItems=3)"


def test_xai_sdk_takes_the_schema_as_text():
    """The gRPC message holds JSON."""
    (entry,) = project((_tool(),), DIALECTS["xai-sdk"]).entries
    assert json.loads(entry.declaration["function"]["parameters"]) == ONE


@pytest.mark.parametrize("name", ["cohere", "ollama"])
def test_providers_without_strict_tools_are_sent_no_such_flag(name):
    """Not even a false one: they do not know it."""
    (entry,) = project((_tool(),), DIALECTS[name], strict=True).entries
    assert entry.declaration["function"].keys() == {"name", "description", "parameters"}


@pytest.mark.parametrize("name", ["cohere", "mistral", "ollama", "groq", "xai"])
def test_strict_where_there_is_none_is_a_loss(name):
    """It is not dropped in silence."""
    (entry,) = project((_tool(),), DIALECTS[name], strict=True).entries
    assert not entry.strict
    assert entry.losses[0].kind == "lax"


# -- replies -----------------------------------------------------------------------

FUNCTION_CALL = {"functionCall": {"id": "c1", "name": "a_b", "args": {"x": 1}}}
TOOL_USE = {"toolUse": {"toolUseId": "c1", "name": "a_b", "input": {"x": 1}}}
MESSAGE = {"role": "assistant", "tool_calls": [ENTRY]}


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("gemini", {"candidates": [{"content": {"role": "model", "parts": [FUNCTION_CALL]}}]}),
        ("gemini", {"role": "model", "parts": [{"text": "hm"}, FUNCTION_CALL]}),
        ("gemini", [FUNCTION_CALL]),
        ("gemini", [{"function_call": FUNCTION_CALL["functionCall"]}]),
        ("gemini", {"type": "function_call", "id": "c1", "name": "a_b", "arguments": {"x": 1}}),
        ("gemini-openapi", json.dumps([FUNCTION_CALL])),
        ("bedrock", {"output": {"message": {"content": [TOOL_USE]}}, "stopReason": "tool_use"}),
        ("bedrock", {"role": "assistant", "content": [{"text": "hm"}, TOOL_USE]}),
        ("bedrock", [TOOL_USE]),
        ("cohere", {"message": MESSAGE, "finish_reason": "TOOL_CALL"}),
        ("cohere", MESSAGE),
        ("cohere", [ENTRY]),
        ("ollama", {"message": MESSAGE, "done_reason": "stop"}),
        ("ollama", MESSAGE),
        *((name, {"choices": [{"message": MESSAGE}]}) for name in CHATLIKE),
    ],
)
def test_a_reply_is_read_in_whatever_form_it_comes(name, reply):
    """A whole response, a message, parts, or JSON text."""
    (call,) = DIALECTS[name].parse(reply).calls
    assert (call.name, call.provider_id, call.problem) == ("a_b", "c1", None)
    assert call.arguments in ({"x": 1}, '{"x":1}')


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        (
            "gemini",
            {
                "candidates": [
                    {"content": {"parts": [FUNCTION_CALL]}, "finishReason": "MAX_TOKENS"}
                ]
            },
        ),
        (
            "bedrock",
            {
                "output": {"message": {"content": [TOOL_USE]}},
                "stopReason": "malformed_tool_use",
            },
        ),
        ("cohere", {"message": MESSAGE, "finish_reason": "MAX_TOKENS"}),
        ("ollama", {"message": MESSAGE, "done_reason": "length"}),
        ("xai", {"choices": [{"message": MESSAGE, "finish_reason": "length"}]}),
    ],
)
def test_a_reply_that_was_cut_off_refuses_its_last_call(name, reply):
    """The reason travels with the call."""
    (call,) = DIALECTS[name].parse(reply).calls
    assert call.problem.code == "arguments.truncated"


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("gemini", [{"functionCall": "run"}, FUNCTION_CALL]),
        ("gemini", [{"functionCall": {"args": {}}}, FUNCTION_CALL]),
        ("bedrock", [{"toolUse": 3}, TOOL_USE]),
        ("cohere", {"tool_calls": ["run", ENTRY]}),
        ("ollama", {"tool_calls": [{"function": {"name": ""}}, ENTRY]}),
        ("mistral", {"tool_calls": [None, ENTRY]}),
    ],
)
def test_a_malformed_call_is_answered_and_its_siblings_run(name, reply):
    """One bad call never voids a batch."""
    bad, good = DIALECTS[name].parse(reply).calls
    assert bad.problem.code == "call.malformed"
    assert good.problem is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reply", [[], {"content": "hi"}, {"role": "assistant", "content": ""}])
def test_a_reply_without_calls_has_none(name, reply):
    """Text alone is no call."""
    assert DIALECTS[name].parse(reply).calls == ()


@pytest.mark.parametrize(
    "reply",
    [{"candidates": []}, {"promptFeedback": {}}, {"candidates": [{"content": {}}]}],
)
def test_a_turn_of_gemini_may_be_empty(reply):
    """A malformed turn comes as empty content, a blocked one as none."""
    assert DIALECTS["gemini"].parse(reply).calls == ()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "reply",
    [
        None,
        {},
        {"error": {"message": "overloaded"}},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a_b"}]},
    ],
)
def test_what_is_no_reply_of_the_provider_is_refused(name, reply):
    """Nothing, an error, and calls in another provider's form are not 'no calls'."""
    with pytest.raises(ValueError, match="not a reply in the form of"):
        DIALECTS[name].parse(reply)


def test_groq_reads_what_it_refused_and_nothing_of_it_runs():
    """The failed generation is answered with the provider's own error."""
    written = json.dumps({"name": "a_b", "arguments": {"foo": 1}})
    error = {
        "code": "tool_use_failed",
        "message": "foo not allowed",
        "failed_generation": written,
    }
    (call,) = DIALECTS["groq"].parse({"error": error}).calls
    assert call.name == "a_b"
    assert call.problem.code == "call.malformed"
    assert "foo not allowed" in call.problem.text
    free = {**error, "failed_generation": "<function=a_b{}>"}
    (call,) = DIALECTS["groq"].parse({"error": free}).calls
    assert call.problem is not None


def test_mistral_takes_the_word_null_for_no_id():
    """The SDK fills a missing id with a word."""
    (call,) = DIALECTS["mistral"].parse({"tool_calls": [{**ENTRY, "id": "null"}]}).calls
    assert call.provider_id is None


# -- results -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_every_status_is_visible(name, status):
    """Status and code stand in the text of each result, which is JSON-safe."""
    outcome = _outcome(status, code="some.code", text="Do this.")
    results = DIALECTS[name].results([(_call(), outcome), (_call("c2", 1), _outcome())])
    text = json.dumps(results)
    assert text.count(f"{status} (some.code): Do this.") == 1
    assert text.index("some.code") < text.index("there is no output")


def test_gemini_answers_by_name_and_id_with_media_after():
    """Missing ids stay missing; order and name tell calls apart."""
    pairs = [
        (_call(None), _outcome(result=Result(content=[Text("see"), PNG]))),
        (_call("c2", 1), _outcome(Status.FAILED, code="tool.failed", text="No.")),
    ]
    (turn,) = DIALECTS["gemini"].results(pairs)
    first, second, label, media = turn["parts"]
    assert first["functionResponse"]["name"] == "a_b"
    assert "id" not in first["functionResponse"]
    assert "output" in first["functionResponse"]["response"]
    assert second["functionResponse"]["id"] == "c2"
    assert "error" in second["functionResponse"]["response"]
    assert label == {"text": "Media of a_b:"}
    assert media["inlineData"]["mimeType"] == "image/png"


def test_bedrock_answers_with_a_status_and_an_id_of_its_alphabet():
    """A foreign id is hashed, the same always."""
    pairs = [(_call("odd id"), _outcome(Status.BUSY, code="call.busy", text="Later."))] * 2
    (message,) = DIALECTS["bedrock"].results(pairs)
    one, two = message["content"]
    assert one["toolResult"]["status"] == "error"
    assert one["toolResult"]["toolUseId"].startswith("tooluse_")
    assert one == two


def test_bedrock_shows_images_and_documents_where_the_model_takes_them():
    """Base64 on the wire; what neither form can hold is named, as are all in text form."""
    pdf, wav = File("aGk=", "application/pdf", "../x"), Audio("aGk=", "audio/wav")
    pairs = [(_call(), _outcome(result=Result(content=[Text("see"), PNG, pdf, wav])))]
    (message,) = DIALECTS["bedrock"].results(pairs)
    text, image, document = message["content"][0]["toolResult"]["content"]
    assert "1 part(s) cannot be shown" in text["text"]
    assert image == {"image": {"format": "png", "source": {"bytes": "aGk="}}}
    assert document["document"]["format"] == "pdf"
    assert document["document"]["name"] == "part 2"
    assert json.loads(json.dumps(message)) == message

    (message,) = DIALECTS["bedrock-text"].results(pairs)
    (text,) = message["content"][0]["toolResult"]["content"]
    assert "3 part(s) cannot be shown" in text["text"]


@pytest.mark.parametrize("known", ["call_abc", None, "abcdefghi"])
def test_mistral_ids_have_nine_letters_or_digits(known):
    """A fitting id is kept."""
    (message,) = DIALECTS["mistral"].results([(_call(known), _outcome())])
    assert len(message["tool_call_id"]) == 9
    assert message["tool_call_id"].isalnum()
    if known == "abcdefghi":
        assert message["tool_call_id"] == known


def test_ollama_answers_in_order_with_names_and_images():
    """There are no ids."""
    pairs = [
        (_call("c1"), _outcome(result=Result(content=[PNG]))),
        (_call("c2", 1), _outcome(result=Result(content=[Audio("aGk=", "audio/wav")]))),
    ]
    one, two = DIALECTS["ollama"].results(pairs)
    assert one["images"] == ["aGk="]
    assert one["tool_name"] == "a_b"
    assert "cannot be shown" in two["content"]


@pytest.mark.parametrize("name", ["cohere", "groq", "xai", "deepseek", "mistral"])
def test_media_that_cannot_be_shown_are_noted(name):
    """A result never loses a part in silence."""
    pairs = [(_call(), _outcome(result=Result(content=[Text("see"), PNG])))]
    results = DIALECTS[name].results(pairs)
    assert len(results) == 1
    assert "1 part(s) cannot be shown" in results[0]["content"]
