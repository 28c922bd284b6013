"""Lossless repairs, and what is never repaired."""

from __future__ import annotations

import json

import pytest

from toolcrib import admission
from toolcrib.call import AdmittedCall, Call
from toolcrib.repair import LOSSLESS, OPTIONAL, expand_parallel, unwrap_name
from toolcrib.tool import Description, Tool
from toolcrib.validator import Validators


SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        "number_or_list": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/list"}]},
        "ids": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "opts": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["integer", "null"]},
        "mode": {"enum": ["Fast", "slow"]},
        "pair": {"enum": ["up", "UP"]},
        "one": {"const": "Only"},
    },
    "required": [],
    "$defs": {"list": {"type": "array", "items": {"type": "integer"}}},
}


def _admit(arguments, schema=SCHEMA, **options):
    tool = Tool(id="a.b", title="", description=Description("d"), input_schema=schema)
    call = Call(id="1", wire_name="a_b", arguments=arguments)
    return admission.admit(call, tool, validators=Validators(), **options)


def _mended(arguments, **options):
    admitted = _admit(arguments, **options)
    assert isinstance(admitted, AdmittedCall), admitted.text
    return admitted.arguments, [repair.rule for repair in admitted.repairs]


@pytest.mark.parametrize(
    ("text", "value", "rules"),
    [
        ("", {}, ["R1"]),
        ("  \n", {}, ["R1"]),
        ("null", {}, ["R1"]),
        (None, {}, ["R1"]),
        ('""', {}, ["R1"]),
        (json.dumps('{"n": 1}'), {"n": 1}, ["R2"]),
        (json.dumps(json.dumps({"n": 1})), {"n": 1}, ["R2"]),
        ('{"ids": "[\\"a\\"]"}', {"ids": ["a"]}, ["R3"]),
        ('{"opts": "{\\"deep\\": true}"}', {"opts": {"deep": True}}, ["R3"]),
        ('{"opts": "{\\"deep\\": \\"true\\"}"}', {"opts": {"deep": True}}, ["R3", "R4"]),
        ('{"numbers": "[\\"1\\"]"}', {"numbers": [1]}, ["R3", "R4"]),
        ('{"n": "5"}', {"n": 5}, ["R4"]),
        ('{"x": "1.5"}', {"x": 1.5}, ["R4"]),
        ('{"x": "-2"}', {"x": -2}, ["R4"]),
        ('{"flag": "false"}', {"flag": False}, ["R4"]),
        ('{"number_or_list": "5"}', {"number_or_list": 5}, ["R4"]),
        ('{"number_or_list": "[5]"}', {"number_or_list": [5]}, ["R3"]),
        ('{"n": 5.0}', {"n": 5}, ["R5"]),
        ('{"x": 5.0}', {"x": 5.0}, []),
        ('{"numbers": [1.0]}', {"numbers": [1]}, ["R5"]),
        ('{"n": null}', {}, ["R6"]),
        ('{"maybe": null}', {"maybe": None}, []),
        ('{"mode": "FAST"}', {"mode": "Fast"}, ["R7"]),
        ('{"one": "only"}', {"one": "Only"}, ["R7"]),
        ('```json\n{"n": 1}\n```', {"n": 1}, ["R8"]),
        ('{"n": 1}}', {"n": 1}, ["R8"]),
        ('{"ids": ["a",], "n": 1,}', {"ids": ["a"], "n": 1}, ["R9"]),
        ('{"text": "a\nb\tc"}', {"text": "a\nb\tc"}, ["R9"]),
        ('{"text": "a,]\n"}', {"text": "a,]\n"}, ["R9"]),
    ],
)
def test_what_has_one_reading_is_mended(text, value, rules):
    """Each rule mends its slip, once, and is recorded."""
    assert _mended(text) == (value, rules)


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "[1]", "either": "{\\"a\\": 1}"}',
        '{"text": "5", "either": "true"}',
        '{"text": "null"}',
        '{"text": "```json\\n{}\\n```"}',
        '{"mode": "Fast", "pair": "UP"}',
        '{"x": 1e3, "n": 12345678901234567890}',
    ],
)
def test_valid_values_are_never_touched(text):
    """Text that looks like JSON stays text where text is accepted."""
    assert _mended(text) == (json.loads(text), [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"n": "05"}', "invalid"),
        ('{"n": "+5"}', "invalid"),
        ('{"n": " 5"}', "invalid"),
        ('{"n": "5.5"}', "invalid"),
        ('{"n": "1e3"}', "invalid"),
        ('{"n": true}', "invalid"),
        ('{"flag": "True"}', "invalid"),
        ('{"flag": "yes"}', "invalid"),
        ('{"flag": 1}', "invalid"),
        ('{"flag": "0"}', "invalid"),
        ('{"ids": "a,b"}', "invalid"),
        ('{"ids": "{}"}', "invalid"),
        ('{"ids": "[1"}', "invalid"),
        ('{"ids": [null]}', "invalid"),
        ('{"ids": "a"}', "invalid"),
        ('{"pair": "Up"}', "invalid"),
        ('{"gone": null}', "invalid"),
        ('{"gone": 1}', "invalid"),
        ('{"n": 1, "n": 2}', "malformed"),
        ('{"n": 1}{"n": 2}', "malformed"),
        ('{"n": NaN}', "malformed"),
        ('{"n": 01}', "malformed"),
        ("{'n': 1}", "malformed"),
        ('{"n": 1 "x": 2}', "malformed"),
        ('{"ids": [,]}', "malformed"),
        ('{"n": 1] ', "malformed"),
        ('Here you are: {"n": 1}', "malformed"),
        ('{"n": 1', "truncated"),
        ('{"text": "rm -rf out/x', "truncated"),
        ('{"text": "a\\', "truncated"),
        ('```json\n{"n": [1\n```', "truncated"),
        ('["n"]', "not_object"),
        ('"n"', "not_object"),
        ("3", "not_object"),
        ("true", "not_object"),
        (json.dumps("[1]"), "not_object"),
    ],
)
def test_what_could_mean_two_things_is_refused(text, code):
    """Nothing is guessed, completed, split or dropped."""
    assert _admit(text).code == f"arguments.{code}"


def test_null_of_a_required_property_stays_wrong():
    """A required value is never left out."""
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    refusal = _admit('{"a": null}', schema)
    assert refusal.details["problems"][0]["pointer"] == "/a"


def test_no_arguments_for_a_required_property_name_it():
    """Empty text is not mended where something is needed."""
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    refusal = _admit("", schema)
    assert refusal.code == "arguments.invalid"
    assert "/a: missing" in refusal.text


def test_mending_can_be_turned_off():
    """With no rules, every slip is refused."""
    for text in ("", '{"n": "5"}', '{"n": 1,}', '{"n": 1}}', '{"ids": "[]"}', '{"n": null}'):
        assert _admit(text, repairs=frozenset()).status == "invalid"


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ('{"numbers": 3}', {"numbers": [3]}, "R12"),
        ('{"ids": "a"}', {"ids": ["a"]}, "R12"),
        ('{"gone": null}', {}, "R13"),
    ],
)
def test_lossy_repairs_are_only_for_those_who_ask(text, value, rule):
    """The two optional rules are off by default."""
    assert _admit(text).code == "arguments.invalid"
    assert _mended(text, repairs=LOSSLESS | OPTIONAL) == (value, [rule])


def test_optional_rules_keep_their_limits():
    """Text with separators is no single value, a value with content is not dropped."""
    every = LOSSLESS | OPTIONAL
    assert _admit('{"ids": "a,b"}', repairs=every).code == "arguments.invalid"
    assert _admit('{"gone": 0}', repairs=every).code == "arguments.invalid"


def test_repairs_say_where_and_what():
    """A repair carries its rule, pointer and a text."""
    (repair,) = _admit('{"opts": {"deep": "true"}}').repairs
    assert (repair.rule, repair.pointer) == ("R4", "/opts/deep")
    assert repair.text


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("functions.a_b", "a_b"),
        ("default_api.a_b", "a_b"),
        ("default_api:a_b", "a_b"),
        ("tool:a_b", "a_b"),
        ("a_b", None),
        ("A_b", None),
        ("functions.b", None),
        ("other.a_b", None),
        ("functions.functions.a_b", None),
    ],
)
def test_names_are_unwrapped_from_one_known_wrapper_only(name, found):
    """Neither case nor likeness finds a tool."""
    assert unwrap_name(name, {"a_b", "c_d"}) == found


def test_parallel_calls_are_expanded():
    """Each inner call gets its own id and position."""
    uses = [
        {"recipient_name": "functions.a_b", "parameters": {"n": 1}},
        {"recipient_name": "c_d"},
    ]
    call = Call(
        id="7",
        wire_name="multi_tool_use.parallel",
        provider_id="p",
        arguments=json.dumps({"tool_uses": uses}),
    )
    one, two = expand_parallel(call, positions=[3, 4])
    assert (one.id, one.wire_name, one.arguments, one.position) == ("7.0", "a_b", {"n": 1}, 3)
    assert (two.id, two.wire_name, two.arguments, two.position) == ("7.1", "c_d", None, 4)
    assert expand_parallel(one) is None


def test_one_wrapper_is_taken_off_a_name_inside_a_parallel_call():
    """Two would be a guess."""
    uses = [{"recipient_name": "functions.tool:a_b"}]
    call = Call(id="7", wire_name="multi_tool_use.parallel", arguments={"tool_uses": uses})
    (one,) = expand_parallel(call)
    assert one.wire_name == "tool:a_b"


@pytest.mark.parametrize(
    "arguments", ["{", "[]", '{"tool_uses": []}', '{"tool_uses": [{"parameters": {}}]}']
)
def test_parallel_calls_of_another_form_become_one_problem(arguments):
    """What cannot be expanded is one refused call."""
    call = Call(id="7", wire_name="multi_tool_use.parallel", arguments=arguments)
    (broken,) = expand_parallel(call)
    assert broken.problem.code == "arguments.invalid"
    assert "Nothing ran" in broken.problem.text
