"""The stage admit."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib import admission, canonical
from toolcrib.call import AdmittedCall, Call
from toolcrib.codes import refuse
from toolcrib.errors import Invalid, NotFound
from toolcrib.projection import dialect, project
from toolcrib.tool import Description, Tool
from toolcrib.validator import Validators


SCHEMA = {
    "type": "object",
    "properties": {
        "topic": {"type": "string", "default": ""},
        "depth": {"type": "integer", "minimum": 1, "default": 1},
        "opts": {"type": "object", "properties": {"raw": {"type": "boolean"}}},
    },
}


def _tool(schema=SCHEMA, **fields):
    return Tool(
        id="docs.read", title="", description=Description("d"), input_schema=schema, **fields
    )


def _admit(arguments, tool=None, **options):
    call = Call(id="1", wire_name="docs_read", arguments=arguments)
    return admission.admit(call, tool or _tool(), validators=Validators(), **options)


def _checked(arguments, check, **options):
    """Admit a call and have a check look at it, as a pack would be asked."""

    async def run(values):
        check(**values)

    admitted = _admit(arguments)
    assert isinstance(admitted, AdmittedCall)
    return asyncio.run(admission.checked(admitted, run, **options))


def test_valid_arguments_are_frozen_and_digested():
    """The text is canonical, with defaults, and the digest is of the text."""
    admitted = _admit('{ "topic": "a",\n"depth": 3 }')
    assert isinstance(admitted, AdmittedCall)
    assert admitted.text == '{"depth":3,"topic":"a"}'
    assert admitted.digest == canonical.digest_bytes(admitted.text.encode())
    assert admitted.repairs == ()


def test_arguments_that_a_library_parsed_are_copied():
    """A later change of the provider's object changes nothing."""
    sent = {"topic": "a", "opts": {"raw": True}}
    admitted = _admit(sent)
    sent["opts"]["raw"] = "no"
    assert admitted.arguments == {"topic": "a", "depth": 1, "opts": {"raw": True}}


@pytest.mark.parametrize(
    "arguments", [{"topic": b"x"}, {1: "x"}, {"depth": float("nan")}, {"opts": {"raw": {1, 2}}}]
)
def test_what_json_cannot_say_is_refused(arguments):
    """Bytes, sets, NaN and keys that are not text are no arguments."""
    assert _admit(arguments).code == "arguments.malformed"


@pytest.mark.parametrize(
    ("arguments", "pointer", "hint"),
    [
        ('{"path": "x"}', "/path", ""),
        ('{"topic": "a", "depht": 3}', "/depht", 'Did you mean "depth"?'),
        ('{"opts": {"rwa": true}}', "/opts/rwa", ""),
    ],
)
def test_unknown_keys_are_refused_by_name(arguments, pointer, hint):
    """A misspelt argument never runs with defaults."""
    refusal = _admit(arguments)
    assert refusal.code == "arguments.invalid"
    assert f"{pointer}: unknown property" in refusal.text
    assert hint in refusal.text


def test_extra_keys_run_where_the_schema_allows_them():
    """A map is a map."""
    schema = {**SCHEMA, "additionalProperties": True}
    assert _admit('{"path": "x"}', _tool(schema)).arguments["path"] == "x"


def test_a_refusal_says_what_to_do_in_the_models_words():
    """Wire name, numbered problems, that nothing ran, and what to do."""
    text = _admit('{"depth": 0, "topic": 5}').text
    assert text.splitlines()[0] == "Invalid arguments for `docs_read`. Nothing ran."
    assert "\n1. /depth: expected a number from 1, got 0\n" in text
    assert "\n2. /topic: expected a string, got 5\n" in text
    assert text.endswith("Call `docs_read` again with all arguments corrected.")


def test_refusals_are_bounded():
    """Neither many mistakes nor long values make a long text."""
    sent = {f"k{number}" * 50: "v" * 1_000 for number in range(500)}
    assert len(_admit(canonical.dumps(sent)).text) < 4_200


def test_size_and_depth_are_limited():
    """Too much is refused before it is looked at."""
    assert _admit('{"topic": "' + "x" * 200 + '"}', max_bytes=100).code == "arguments.too_large"
    assert _admit({"topic": "x" * 200}, max_bytes=100).code == "arguments.too_large"
    deep = '{"opts": ' + "[" * 80 + "]" * 80 + "}"
    assert _admit(deep).code == "arguments.too_large"
    assert _admit('{"topic": ' + "9" * 5_000 + "}").status == "invalid"


def test_a_call_with_a_problem_keeps_it():
    """What a dialect refused stays refused as it said."""
    problem = refuse("arguments.truncated", "x", "cut off")
    call = Call(id="1", wire_name="docs_read", arguments="{}", problem=problem)
    assert admission.admit(call, _tool(), validators=Validators()) is problem


def test_unknown_tools_are_suggested_never_guessed():
    """A wrong name is refused with the nearest names."""
    call = Call(id="1", wire_name="docs_raed", arguments="{}")
    refusal = admission.admit(
        call, None, validators=Validators(), known=["docs_read", "web_fetch"]
    )
    assert refusal.code == "tool.unknown"
    assert "`docs_read`" in refusal.text
    assert "`web_fetch`" not in refusal.text
    assert "Nothing ran" in refusal.text


def test_a_schema_that_cannot_be_enforced_refuses_the_call():
    """The call is unavailable, and says why."""
    refusal = _admit("{}", _tool({"type": "object", "properties": {"a": {"type": "strng"}}}))
    assert refusal.code == "schema.unsupported"
    assert "/properties/a/type" in refusal.text


def test_the_projection_is_undone_before_the_schema_is_asked():
    """Arguments are judged in the tool's own form."""

    def inverse(sent):
        if "pairs" not in sent:
            text = "expected pairs"
            raise ValueError(text)
        return {pair["key"]: pair["value"] for pair in sent["pairs"]}

    admitted = _admit('{"pairs": [{"key": "depth", "value": 2}]}', inverse=inverse)
    assert admitted.arguments == {"depth": 2, "topic": ""}
    refusal = _admit("{}", inverse=inverse)
    assert refusal.code == "arguments.invalid"
    assert "expected pairs" in refusal.text


def test_paths_are_told_in_wire_form():
    """An inverse that knows the wire's paths is asked for them."""

    class Inverse:
        def __call__(self, sent):
            return sent

        def wire_pointer(self, pointer, sent):
            return f"/wire{pointer}/{sent['depth']}"

    assert "/wire/depth/0: expected" in _admit('{"depth": 0}', inverse=Inverse()).text


def test_a_refusal_speaks_the_names_that_the_model_was_shown():
    """Where a projection renamed, wrapped and listed, so does the refusal."""
    schema = {
        "type": "object",
        "properties": {
            "due date": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["labels"],
        "additionalProperties": False,
    }
    tool = _tool(schema)
    (entry,) = project((tool,), dialect("anthropic"), strict=True).entries

    shown = sorted(entry.declaration["input_schema"]["properties"])
    assert shown[0].startswith("due_date_")

    sent = {"labels": [{"key": "a", "value": "x"}], shown[0]: 3}
    text = _admit(sent, tool, inverse=entry.inverse).text
    assert "/labels/0/value: expected an integer" in text
    assert f"/{shown[0]}: expected" in text

    text = _admit({"labels": [], shown[0] + "x": "now"}, tool, inverse=entry.inverse).text
    assert f"/{shown[0]}x: unknown property" in text
    assert f'Allowed: {", ".join(shown)}. Did you mean "{shown[0]}"?' in text


def test_a_default_that_breaks_the_whole_is_not_filled_in():
    """Defaults are checked together with what was sent."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}},
        "dependentRequired": {"b": ["a"]},
    }
    assert _admit("{}", _tool(schema)).text == "{}"
    assert _admit('{"a": "x"}', _tool(schema)).text == '{"a":"x","b":1}'


def test_the_tools_own_check_gets_a_copy():
    """It gets the arguments by name, and cannot change them."""
    seen = []

    def check(*, topic, depth, opts=None):
        seen.append((topic, depth))
        opts["raw"] = "changed"

    admitted = _checked('{"opts": {"raw": true}}', check)
    assert seen == [("", 1)]
    assert admitted.arguments["opts"] == {"raw": True}


@pytest.mark.parametrize(
    ("error", "code", "status", "words"),
    [
        (
            Invalid("/topic", "no such topic"),
            "tool.invalid",
            "invalid",
            "/topic: no such topic",
        ),
        (Invalid("", "x", code="docs.odd"), "docs.odd", "invalid", "Nothing ran"),
        (NotFound("no document"), "tool.not_found", "not_found", "no document"),
        (KeyError("x"), "tool.crashed", "failed", "KeyError"),
        (TimeoutError("no answer"), "check.late", "refused", "did not end in time"),
    ],
)
def test_what_the_tools_own_check_raises_is_a_refusal(error, code, status, words):
    """Nothing that a pack's check raises gets out."""

    def check(**_arguments):
        raise error

    refusal = _checked("{}", check)
    assert (refusal.code, refusal.status) == (code, status)
    assert words in refusal.text


def test_a_check_speaks_of_what_was_sent():
    """In the places that the model knows."""

    class Inverse:
        def wire_pointer(self, pointer, sent):
            return f"/{len(sent)}{pointer}"

    def check(**_arguments):
        raise Invalid("/topic", "no such topic")

    refusal = _checked('{"depth": 3}', check, inverse=Inverse())
    assert "/1/topic: no such topic" in refusal.text


def test_injected_arguments_cannot_be_sent():
    """A key that is not in the schema never reaches the tool."""
    assert _admit('{"topic": "inbox", "ctx": {"id": "other"}}').code == "arguments.invalid"


def test_output_is_checked_against_its_schema():
    """Structured output has its own schema, exact and open."""
    tool = _tool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    validators = Validators()
    assert admission.check_output(tool, {"n": 1, "more": 2}, validators) == ()
    (problem,) = admission.check_output(tool, {"n": "x"}, validators)
    assert problem.pointer == "/n"
    assert admission.check_output(_tool(), object(), validators) == ()
    (problem,) = admission.check_output(_tool(output_schema={"type": "strng"}), 1, validators)
    assert "cannot be enforced" in problem.expected
