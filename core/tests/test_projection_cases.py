"""Twenty-three schemas, each in the forms of the core's dialects, and the way back."""

from __future__ import annotations

import json

from pathlib import Path

import jsonschema_rs
import pytest

from toolcrib.admission import admit
from toolcrib.call import Call
from toolcrib.projection import dialect, project
from toolcrib.tool import Description, Tool
from toolcrib.validator import Validators


CASES = json.loads(
    (Path(__file__).parent / "data" / "projection_cases.json").read_text(encoding="utf-8")
)
FORMS = {
    "openai_strict": ("openai", True),
    "openai_lax": ("openai", False),
    "anthropic": ("anthropic", False),
    "anthropic_strict": ("anthropic", True),
}


def _tool(schema):
    return Tool(
        id="demo.tool",
        title="Demo",
        description=Description("Do it."),
        input_schema=schema,
    )


def _shown(case, form):
    name, strict = FORMS[form]
    projected = project((_tool(case["schema"]),), dialect(name), strict=strict)
    assert projected.refusals == ()
    return projected.entries[0]


def _schema(projection):
    declaration = projection.declaration
    if "function" in declaration:
        return declaration["function"]["parameters"]
    return declaration["input_schema"]


def _each(what):
    return [
        pytest.param(case, each, id=f"{case['id']}-{i}")
        for case in CASES
        for i, each in enumerate(case[what])
    ]


def _decodes(*, repaired):
    return [p for p in _each("decode") if p.values[1].get("repaired", False) is repaired]


@pytest.mark.parametrize(("case", "form"), _each("forms"))
def test_the_form_is_what_the_provider_wants(case, form):
    """The projected schema is the expected one, or strict is off with the reason said."""
    projection = _shown(case, form)
    wanted = case["forms"][form]
    if wanted == "lax":
        assert not projection.strict
        assert projection.losses[0].kind == "lax"
        assert projection.losses[0].text
    else:
        assert _schema(projection) == wanted
        assert projection.strict is FORMS[form][1]


@pytest.mark.parametrize(("case", "form"), _each("forms"))
def test_strict_lists_properties_in_the_order_of_the_declaration(case, form):
    """Property order is part of the prompt cache's key, and the tag of a union is first."""
    projection = _shown(case, form)
    wanted = case["forms"][form]
    if wanted != "lax":
        assert list(_schema(projection)["properties"]) == list(wanted["properties"])


@pytest.mark.parametrize(("case", "example"), _decodes(repaired=False))
def test_what_a_model_sends_becomes_what_the_tool_declares(case, example):
    """The inverse gives the declared value, which the tool's own schema then judges."""
    inverse = _shown(case, example["form"]).inverse or dict
    validator = jsonschema_rs.validator_for(_closed(case["schema"]))
    if "error" not in example:
        assert inverse(example["sent"]) == example["gives"]
        assert validator.is_valid(example["gives"])
    elif "duplicate" in example["error"]:
        with pytest.raises(ValueError, match=example["error"]):
            inverse(example["sent"])
    else:
        assert not validator.is_valid(inverse(example["sent"]))


@pytest.mark.parametrize(("case", "example"), _decodes(repaired=True))
def test_what_only_admission_can_mend_is_left_to_it(case, example):
    """Empty text, a number that is whole and a member in another case are repairs."""
    projection = _shown(case, example["form"])
    sent = example["sent"]
    call = Call(
        id="c",
        wire_name=projection.wire_name,
        tool_id="demo.tool",
        arguments=sent if isinstance(sent, str | dict) else json.dumps(sent),
    )
    admitted = admit(
        call, _tool(case["schema"]), validators=Validators(), inverse=projection.inverse
    )
    assert admitted.arguments == example["gives"]


@pytest.mark.parametrize("case", [c for c in CASES if "says" in c], ids=lambda c: c["id"])
def test_what_stands_at_the_root_is_said_in_words(case):
    """Constraints between properties are folded into the tool's description."""
    form = next(iter(case["forms"]))
    if case["id"] == "C23":
        form = "anthropic"
    declaration = _shown(case, form).declaration
    text = declaration.get("function", declaration)["description"]
    assert case["says"] in text


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_mcp_is_given_the_schema_itself(case):
    """The protocol takes any schema whose root is an object."""
    projection = project((_tool(case["schema"]),), dialect("mcp")).entries[0]
    assert projection.declaration["inputSchema"] == {"type": "object", **case["schema"]}
    assert projection.inverse is None


def _closed(schema):
    """Close the root as the tool's validator does."""
    if "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema
