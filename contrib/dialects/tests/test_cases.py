"""Twenty-three schemas in the forms of Gemini and of the plain dialects."""

from __future__ import annotations

import json

from pathlib import Path

import pytest

from toolcrib.projection import project
from toolcrib.tool import Description, Tool

from toolcrib_dialects import DIALECTS


CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text(encoding="utf-8"))
SPEAKERS = {
    "gemini_json": ["gemini"],
    "gemini_openapi": ["gemini-openapi"],
    "plain": ["bedrock", "mistral", "cohere", "ollama", "groq", "xai"],
}


def _shown(schema, name):
    tool = Tool(id="demo.tool", title="", description=Description("D."), input_schema=schema)
    projected = project((tool,), DIALECTS[name])
    assert projected.refusals == ()
    return projected.entries[0]


def _schema(projection):
    declaration = projection.declaration
    if "toolSpec" in declaration:
        return declaration["toolSpec"]["inputSchema"]["json"]
    declaration = declaration.get("function", declaration)
    return declaration.get("parameters", declaration.get("parametersJsonSchema"))


@pytest.mark.parametrize(
    ("case", "form", "name"),
    [
        pytest.param(case, form, name, id=f"{case['id']}-{name}")
        for case in CASES
        for form in case["forms"]
        for name in SPEAKERS[form]
    ],
)
def test_the_form_is_what_the_provider_wants(case, form, name):
    """The projected schema is the expected one."""
    projection = _shown(case["schema"], name)
    wanted = case["forms"][form]
    if wanted == "omit":
        assert _schema(projection) is None
    elif wanted == "json":
        assert "parametersJsonSchema" in projection.declaration
        assert "parameters" not in projection.declaration
        assert projection.losses[0].text
    else:
        assert _schema(projection) == wanted
        if form == "gemini_openapi":
            assert "parameters" in projection.declaration


@pytest.mark.parametrize(
    ("schema", "sent", "gives"),
    [
        (
            {
                "type": "object",
                "properties": {"$top": {"type": "string"}, "in": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"type": "object", "properties": {"x-y": {"type": "string"}}}},
            },
            {"_top_81bf98": "5", "in": {"x_y_2c9d5b": "v"}},
            {"$top": "5", "in": {"x-y": "v"}},
        ),
        (
            {
                "type": "object",
                "properties": {
                    "labels": {"type": "object", "additionalProperties": {"type": "integer"}}
                },
            },
            {"labels": [{"key": "a", "value": 1}]},
            {"labels": {"a": 1}},
        ),
    ],
)
def test_what_gemini_sends_becomes_what_the_tool_declares(schema, sent, gives):
    """Renamed properties and pairs are undone below the root as well."""
    projection = _shown(schema, "gemini-openapi")
    assert projection.inverse.encode(gives).keys() == sent.keys()
    assert projection.inverse(projection.inverse.encode(gives)) == gives


def test_a_map_that_may_be_null_stays_null():
    """A null that is only a mark is not taken for a list of pairs."""
    sub = {
        "anyOf": [
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "null"},
        ]
    }
    schema = {"type": "object", "properties": {"m": sub}, "required": ["m"]}
    projection = _shown(schema, "gemini-openapi")
    assert projection.inverse({"m": None}) == {"m": None}
    assert projection.inverse({"m": [{"key": "a", "value": "b"}]}) == {"m": {"a": "b"}}


def test_branches_that_only_rename_need_not_be_told_apart():
    """A renamed property carries a hash of its name, so it is nobody else's."""
    sub = {
        "anyOf": [
            {"type": "object", "properties": {"b": {"type": "string"}}},
            {"type": "object", "properties": {"$ref": {"type": "string"}}},
        ]
    }
    schema = {"type": "object", "properties": {"a": sub}}
    projection = _shown(schema, "gemini")
    for value in ({"a": {"b": "x"}}, {"a": {"$ref": "x"}}, {"a": {}}):
        assert projection.inverse(projection.inverse.encode(value)) == value
