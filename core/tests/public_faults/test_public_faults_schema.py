"""Schemas that other frameworks lost, bent or passed on unchecked."""

from __future__ import annotations

import json

from typing import Any

import pytest

from toolcrib import Context, Description, Implementation, Pack, SchemaError, Tool
from toolcrib.schema import normalize


SLIPS = {
    "type": {"type": "object", "properties": {"a": {"type": "strng"}}},
    "required": {"type": "object", "properties": {"a": {"type": "string"}, "required": ["a"]}},
    "minimum": {"type": "object", "properties": {"a": {"type": "integer", "minimum": "1"}}},
    "enum": {"type": "object", "properties": {"a": {"enum": []}}},
    "pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
}


@pytest.mark.parametrize("keyword", SLIPS)
def test_a_slip_in_a_schema_is_refused_where_it_is_read(keyword):
    """With the keyword and where it stands, and not when the tool is called."""
    with pytest.raises(SchemaError) as caught:
        normalize(SLIPS[keyword])
    assert keyword in str(caught.value)


def live_pack(ran, schemas):
    """A pack whose tools come from a live source, with schemas that nobody looked at."""
    pack = Pack("p")

    def implementation(name, schema):
        async def handler(ctx: Context, **arguments: Any) -> str:
            ran.append((name, arguments))
            return "taken"

        tool = Tool(
            id=f"p.s.{name}",
            title=name,
            description=Description("Take what the schema says."),
            input_schema=schema,
            effects=frozenset(),
        )
        return Implementation(tool=tool, handler=handler)

    class Feed:
        name = "s"

        async def open(self, changed):
            pass

        async def tools(self):
            return [implementation(name, schema) for name, schema in schemas.items()]

        async def close(self):
            pass

    @pack.source
    def feed(host):
        return Feed()

    return pack


@pytest.mark.parametrize("keyword", SLIPS)
def test_a_slip_in_one_tool_costs_that_tool_alone(kit, keyword):
    """It never reaches the provider, and is named; its neighbours are there."""
    ran = []
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    schemas = {"one": plain, "bad": SLIPS[keyword], "two": plain}

    async def scenario(session):
        view = await session.view("openai")
        names = [d["function"]["name"] for d in view.declarations]
        outcome = await session.call("p.s.two", {"a": "x"})
        return names, session.toolbox.catalog.refusals, outcome.status

    names, refusals, status = kit.converse(scenario, live_pack(ran, schemas))
    assert [name for name in names if "bad" in name] == []
    assert sum("one" in name or "two" in name for name in names) == 2
    assert [r.subject for r in refusals] == ["p.s.bad"]
    assert keyword in refusals[0].text
    assert status == "ok"


@pytest.mark.parametrize("dialect", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("strict", [False, True])
def test_a_map_of_free_keys_never_becomes_an_object_that_holds_none(kit, dialect, strict):
    """Two labels arrive as two labels, and strict is never claimed for what cannot say them."""
    ran = []
    schema = {
        "type": "object",
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}}
        },
        "required": ["labels"],
    }

    async def scenario(session):
        view = await session.view(dialect, strict=strict)
        (declaration,) = [d for d in view.declarations if "take" in json.dumps(d)]
        outcome = await session.call("p.take", {"labels": {"a": "1", "b": "2"}})
        return declaration, outcome.status

    declaration, status = kit.converse(scenario, kit.schema_pack(schema, ran))
    assert status == "ok"
    assert ran == [{"labels": {"a": "1", "b": "2"}}]
    told = declaration.get("function", declaration)
    shown = told.get("parameters") or told.get("input_schema")
    labels = shown["properties"]["labels"]
    closed = labels.get("additionalProperties") is False and not labels.get("properties")
    assert not closed
    if declaration.get("strict") or told.get("strict"):
        assert labels["type"] == "array"


@pytest.mark.parametrize("dialect", ["openai", "openai-responses", "anthropic", "mcp"])
def test_the_real_route_shows_what_the_dialect_promises(kit, dialect):
    """A reference, a union and a constant, as they leave for the provider."""
    ran = []
    schema = {
        "type": "object",
        "$defs": {"F": {"type": "object", "properties": {"k": {"const": "f"}}}},
        "properties": {
            "f": {"$ref": "#/$defs/F", "description": "One."},
            "u": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
    }

    async def scenario(session):
        view = await session.view(dialect)
        return json.loads(json.dumps([d for d in view.declarations if "take" in json.dumps(d)]))

    (declaration,) = kit.converse(scenario, kit.schema_pack(schema, ran))
    told = declaration.get("function", declaration)
    shown = told.get("parameters") or told.get("input_schema") or told.get("inputSchema")
    for reference in references(shown):
        assert reference.startswith("#/")
        target = shown
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
    assert "f" in shown["properties"]
    assert "One." in json.dumps(shown["properties"]["f"])


def references(value):
    """Every reference in a schema."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_one_tool_without_an_object_at_its_root_hides_no_other(kit):
    """A union of objects takes what its branches take; the nine others are there."""
    union = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    }
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    schemas = {f"t{n}": plain for n in range(10)} | {"t5": union, "t7": {"type": "string"}}
    ran = []

    async def scenario(session):
        view = await session.view("openai")
        shown = len([d for d in view.declarations if "Take what" in json.dumps(d)])
        given = [("t1", {"a": "x"}), ("t5", {"b": "y"}), ("t5", {}), ("t9", {"a": "z"})]
        ended = [(await session.call(f"p.s.{name}", value)).status for name, value in given]
        return shown, ended, [r.subject for r in session.toolbox.catalog.refusals]

    shown, ended, refused = kit.converse(scenario, live_pack(ran, schemas))
    assert shown == 9
    assert ended == ["ok", "ok", "invalid", "ok"]
    assert refused == ["p.s.t7"]
