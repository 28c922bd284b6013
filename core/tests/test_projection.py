"""What one request shows: choice of forms, names, budgets, refusals, caches."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

from pathlib import Path

import attrs
import pytest

from toolcrib.names import wire_name
from toolcrib.projection import (
    Dialect,
    Projection,
    ProjectionCache,
    RequestLimits,
    dialect,
    project,
    spoken_by,
)
from toolcrib.tool import Description, Example, Tool
from toolcrib.vocabulary import Effect


ONE = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
NAMES = ["openai", "openai-responses", "anthropic", "mcp"]
PROVIDERS = NAMES[:3]


def _tool(schema=ONE, tool_id="demo.tool", **fields):
    fields.setdefault("description", Description("Do it."))
    return Tool(id=tool_id, title="Demo", input_schema=schema, **fields)


def _schema(projection):
    declaration = projection.declaration
    declaration = declaration.get("function", declaration)
    for key in ("parameters", "input_schema", "inputSchema"):
        if key in declaration:
            return declaration[key]
    raise AssertionError(declaration)


def _one(schema, name="openai", **options):
    projected = project((_tool(schema),), dialect(name), **options)
    assert projected.refusals == ()
    return projected.entries[0]


# -- names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool_id", "sent"),
    [
        ("web.search", "web_search"),
        ("mcp.admin.tools.list", "mcp__admin__tools_list"),
        ("mcp.github.search issues", "mcp__github__search_issues"),
        ("mcp.tools.工具", "mcp__tools"),
        (
            "mcp.servicenow-catalog.post_api_sn_sc_items_by_sys_id_versioning_checkout",
            "mcp__servicenow-catalog__post_api_sn_sc_items_by_s",
        ),
    ],
)
def test_names_are_cleaned_and_suffixed_where_they_change(tool_id, sent):
    """A name that is changed carries ten digits of the hash of the whole id."""
    projected = project((_tool(tool_id=tool_id),), dialect("openai"))
    name = projected.entries[0].wire_name
    if name != sent:
        digest = hashlib.sha256(tool_id.encode()).hexdigest()[:10]
        assert name.endswith(f"_{digest}")
        assert name.startswith(sent[:40])
    assert len(name) <= 64
    assert projected.by_wire_name[name].tool_id == tool_id


def test_a_name_does_not_depend_on_other_tools():
    """Near-equal long names stay apart and are the same with and without each other."""
    ids = [f"mcp.{'s' * 40}.{verb}{'x' * 60}" for verb in ("create", "delete")]
    together = project(tuple(_tool(tool_id=i) for i in ids), dialect("openai"))
    alone = [project((_tool(tool_id=i),), dialect("openai")).entries[0] for i in ids]
    assert [e.wire_name for e in together.entries] == [e.wire_name for e in alone]
    assert len(together.by_wire_name) == 2


def test_tools_that_would_share_a_name_are_all_refused():
    """Nobody is picked: both are refused by name, and the third is shown."""
    short = attrs.evolve(dialect("openai"), wire_name=lambda tool_id: tool_id[:6])
    tools = (_tool(tool_id="demo.a1"), _tool(tool_id="demo.a2"), _tool(tool_id="web.get"))
    projected = project(tools, short)
    assert [e.tool_id for e in projected.entries] == ["web.get"]
    assert [(r.code, r.subject) for r in projected.refusals] == [
        ("name.contested", "demo.a1"),
        ("name.contested", "demo.a2"),
    ]
    assert "demo.a1 and demo.a2" in projected.refusals[0].text


def test_property_names_that_would_coincide_cost_strict_or_the_tool():
    """A cleaned name that another property already has is never merged with it."""
    schema = {
        "type": "object",
        "properties": {"$top": {"type": "string"}, "_top_81bf98": {"type": "string"}},
    }
    projected = project((_tool(schema),), dialect("anthropic"), strict=True)
    assert projected.entries == ()
    assert projected.refusals[0].code == "schema.unsupported"
    assert "_top_81bf98" in projected.refusals[0].text


def test_encoding_tries_the_next_branch_when_one_fails_deeper_down():
    """A nested union that fits nothing rules out its branch alone."""
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    nested = {"anyOf": [{"type": "string", "enum": ["on"]}, point]}
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, "v": sub},
            "required": ["kind", "v"],
        }
        for kind, sub in (("k0", nested), ("k1", {"type": "string"}))
    ]
    inverse = _one({"oneOf": branches}, strict=True).inverse
    value = {"kind": "k1", "v": "free"}
    assert inverse.encode(value) == {"input": {"kind": "k1", "v": "free"}}
    assert inverse(inverse.encode(value)) == value


# -- telling a model where it went wrong -------------------------------------------


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        ("", ""),
        ("/labels/b", "/labels/1/value"),
        ("/labels/b/x", "/labels/1/value/x"),
        ("/labels/gone", "/labels"),
        ("/pair/1", "/pair/item_1"),
        ("/list/0/in/k", "/list/0/in/0/value"),
        ("/plain/0", "/plain/0"),
    ],
)
def test_a_pointer_is_said_as_the_model_knows_it(declared, sent):
    """Errors speak of what was sent, not of what it became."""
    map_ = {"type": "object", "additionalProperties": {"type": "integer"}}
    tuple_ = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    }
    inner = {"type": "object", "properties": {"in": {"anyOf": [map_, {"type": "null"}]}}}
    schema = {
        "type": "object",
        "properties": {
            "labels": map_,
            "pair": tuple_,
            "list": {"type": "array", "items": {**inner, "required": ["in"]}},
            "plain": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["labels", "pair", "list", "plain"],
    }
    inverse = _one(schema, strict=True).inverse
    value = {"labels": {"a": 1, "b": 2}, "pair": ["x", 1], "list": [{"in": {"k": 1}}]}
    assert inverse.wire_pointer(declared, inverse.encode({**value, "plain": ["p"]})) == sent


def test_a_wrapped_root_is_part_of_the_pointer():
    """The model knows the arguments inside their wrapper."""
    branch = {"type": "object", "properties": {"op": {"const": "get"}}, "required": ["op"]}
    other = {"type": "object", "properties": {"op": {"const": "put"}}, "required": ["op"]}
    inverse = _one({"oneOf": [branch, other]}).inverse
    assert inverse.wire_pointer("/op", {"input": {"op": "get"}}) == "/input/op"


# -- strict, budgets and limits ----------------------------------------------------


def test_strict_is_asked_for_by_request_and_settled_by_tool():
    """A tool's own word wins over the request's."""
    tools = (
        _tool(tool_id="a.one"),
        _tool(tool_id="a.two", strict=False),
        _tool(tool_id="a.three", strict=True),
    )
    strict = project(tools, dialect("openai"), strict=True)
    lax = project(tools, dialect("openai"))
    assert [e.strict for e in strict.entries] == [True, False, True]
    assert [e.strict for e in lax.entries] == [False, False, True]


def test_openai_is_always_told_whether_strict():
    """Leaving strict out means trying it on Responses."""
    for name in ("openai", "openai-responses"):
        declaration = _one(ONE, name).declaration
        assert declaration.get("function", declaration)["strict"] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"properties": {"b": {"type": "string"}}}}},
        {"type": "object", "properties": {"a": {"type": ["object", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"a": {"allOf": [{"type": "object"}]}}},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/o"}},
            "$defs": {"o": {"type": "object"}},
        },
        {"type": "object", "properties": {}, "additionalProperties": True},
    ],
)
def test_an_open_object_anywhere_turns_strict_off(schema):
    """The flag and the schema never disagree."""
    for name in ("openai", "anthropic"):
        entry = _one(schema, name, strict=True)
        assert entry.strict is False
        assert entry.losses[0].kind == "lax"


def test_a_nullable_object_is_closed():
    """A list of types that holds object is split, and its object closed."""
    inner = {"type": ["object", "null"], "properties": {"b": {"type": "string"}}}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    entry = _one(schema, strict=True)
    branches = _schema(entry)["properties"]["a"]["anyOf"]
    assert branches[0]["additionalProperties"] is False
    assert branches[1] == {"type": "null"}


def test_null_stays_where_leaving_out_already_means_null():
    """A default of null leaves two states, not three, so strict can say them."""
    sub = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    entry = _one({"type": "object", "properties": {"a": sub}}, strict=True)
    assert entry.strict
    assert _schema(entry)["required"] == ["a"]
    assert entry.inverse is None


def test_branches_that_look_alike_after_rewriting_cost_strict():
    """A map is sent as pairs, so a list of such pairs could not be told from it."""
    pair = {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": {"type": "integer"}},
        "required": ["key", "value"],
    }
    sub = {
        "anyOf": [
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "array", "items": pair},
        ]
    }
    schema = {"type": "object", "properties": {"a": sub}, "required": ["a"]}
    entry = _one(schema, strict=True)
    assert not entry.strict
    assert "told apart" in entry.losses[0].text


def test_what_is_folded_comes_in_a_fixed_order():
    """Whatever order the author chose."""
    sub = {"type": "string", "format": "x", "maxLength": 2, "minLength": 1}
    schema = {"type": "object", "properties": {"a": sub}, "required": ["a"]}
    said = _schema(_one(schema, strict=True))["properties"]["a"]["description"]
    assert said == '(minLength=1; maxLength=2; format="x")'


def _optional(count):
    return {
        "type": "object",
        "properties": {f"p{i}": {"type": "string"} for i in range(count)},
    }


def _nested(depth):
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    for _ in range(depth - 1):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return schema


def _choices(count):
    members = [f"m{i}" for i in range(count)]
    return {
        "type": "object",
        "properties": {"e": {"type": "string", "enum": members}},
        "required": ["e"],
    }


def test_budgets_of_one_tool():
    """What one tool may spend differs between providers."""
    assert _one(_optional(30), "openai", strict=True).strict
    assert not _one(_optional(30), "anthropic", strict=True).strict
    assert _one(_nested(10), "openai", strict=True).strict
    assert not _one(_nested(12), "openai", strict=True).strict
    unions = {
        "type": "object",
        "properties": {f"p{i}": {"type": ["string", "null"]} for i in range(17)},
        "required": [f"p{i}" for i in range(17)],
    }
    assert not _one(unions, "anthropic", strict=True).strict


def test_an_enum_beyond_the_limit_keeps_its_type_and_a_sample():
    """The model is shown a few members; the tool's own schema knows them all."""
    entry = _one(_choices(1_001), strict=True)
    said = _schema(entry)["properties"]["e"]
    assert entry.strict
    assert said["type"] == "string"
    assert "enum" not in said
    assert "m0" in said["description"]
    assert "991 more" in said["description"]
    assert [loss.keyword for loss in entry.losses if loss.kind == "folded"] == ["enum"]


def test_the_budget_of_a_request_is_spent_in_order():
    """Nine strict tools with three optional properties each: the ninth goes without."""
    tools = tuple(_tool(_optional(3), f"demo.t{i}") for i in range(9))
    projected = project(tools, dialect("anthropic"), strict=True)
    assert [e.strict for e in projected.entries] == [True] * 8 + [False]
    assert projected.entries[8].losses[0].kind == "lax"
    assert "24" in projected.entries[8].losses[0].text


def test_twenty_strict_tools_fit_anthropic():
    """The twenty-first is sent without strict."""
    tools = tuple(_tool(tool_id=f"demo.t{i}") for i in range(21))
    projected = project(tools, dialect("anthropic"), strict=True)
    assert [e.strict for e in projected.entries] == [True] * 20 + [False]


def test_a_request_that_is_full_refuses_the_rest_by_name():
    """The 129th tool is not dropped in silence."""
    tools = tuple(_tool(tool_id=f"demo.t{i}") for i in range(129))
    projected = project(tools, dialect("openai"))
    assert len(projected.declarations) == 128
    assert [(r.code, r.subject) for r in projected.refusals] == [("dialect.full", "demo.t128")]


# -- losses ------------------------------------------------------------------------


def test_a_loss_names_pointer_and_keyword():
    """Losses are data, for each node that lost something."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string", "minLength": 2}}},
        "required": ["a"],
    }
    losses = _one(schema, strict=True).losses
    assert [(x.pointer, x.keyword, x.kind) for x in losses] == [
        ("/properties/a/items", "minLength", "folded"),
        ("", "additionalProperties", "closed"),
    ]


@pytest.mark.parametrize("forbidden", [{"minLength"}, {"folded"}, {"*"}])
def test_forbidden_losses_refuse_the_tool(forbidden):
    """Continuous integration can make a silent loss a fault."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    projected = project(
        (_tool(schema), _tool(tool_id="demo.fine")),
        dialect("openai"),
        strict=True,
        forbid_losses=frozenset(forbidden),
    )
    assert [e.tool_id for e in projected.entries] == ["demo.fine"]
    assert projected.refusals[0].code == "dialect.lossy"
    assert "minLength at /properties/a" in projected.refusals[0].text


def test_falling_back_from_strict_is_a_loss_that_can_be_forbidden():
    """``lax`` is a kind of loss."""
    schema = {"type": "object", "properties": {"a": {}}}
    projected = project(
        (_tool(schema),), dialect("openai"), strict=True, forbid_losses=frozenset({"lax"})
    )
    assert projected.refusals[0].code == "dialect.lossy"


# -- hostile and awkward schemas ---------------------------------------------------


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("strict", [True, False])
def test_properties_named_like_keywords_survive(name, strict):
    """A parameter called title is a parameter."""
    names = ["title", "type", "description", "default", "$ref", "properties", "enum", "items"]
    schema = {
        "type": "object",
        "title": "T",
        "properties": {n: {"type": "string", "title": n} for n in names},
        "required": names,
    }
    entry = _one(schema, name, strict=strict)
    sent = _schema(entry)
    assert len(sent["properties"]) == 8
    assert list(sent["required"]) == list(sent["properties"])
    wire = dict.fromkeys(sent["properties"], "v")
    assert set(entry.inverse(wire) if entry.inverse else wire) == set(names)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {"f": {"$ref": "#/definitions/F"}},
            "definitions": {"F": {"type": "string"}},
        },
        {
            "type": "object",
            "properties": {"nodes": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
            "$defs": {
                "N": {
                    "type": "object",
                    "properties": {
                        "n": {"type": "string"},
                        "up": {"$ref": "#/properties/nodes/items"},
                    },
                }
            },
        },
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
                "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
            },
        },
        {"type": "object", "properties": {"me": {"$ref": "#"}, "v": {"type": "string"}}},
        {
            "type": "object",
            "properties": {"j": {"$ref": "#/$defs/J"}},
            "$defs": {
                "J": {
                    "anyOf": [
                        {"type": ["string", "number", "boolean", "null"]},
                        {"type": "array", "items": {"$ref": "#/$defs/J"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/J"}},
                    ]
                }
            },
        },
    ],
)
def test_every_reference_leads_somewhere(name, strict, schema):
    """Definitions travel with what refers to them, recursion ends."""
    sent = _schema(_one(schema, name, strict=strict))

    def resolve(ref):
        node = sent
        for token in ref[1:].split("/")[1:]:
            node = node[int(token)] if isinstance(node, list) else node[token]
        return node

    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                assert resolve(node["$ref"]) is not None
            for sub in node.values():
                walk(sub)
        elif isinstance(node, list):
            for sub in node:
                walk(sub)

    walk(sent)


def test_siblings_of_a_reference_belong_to_the_property():
    """Inlining keeps description, default and extra required names; the definition stays."""
    definition = {
        "type": "object",
        "properties": {"x": {"type": "string"}, "extra": {"type": "string"}},
        "description": "Shared",
    }
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/D", "description": "Mine", "required": ["extra"]},
            "b": {"$ref": "#/$defs/D"},
        },
        "required": ["a", "b"],
        "$defs": {"D": definition},
    }
    sent = _schema(_one(schema, "anthropic", strict=True))
    assert sent["properties"]["a"]["description"] == "Mine"
    assert sent["properties"]["a"]["required"] == ["extra"]
    assert sent["$defs"]["D"]["required"] == []
    assert definition == {
        "type": "object",
        "properties": {"x": {"type": "string"}, "extra": {"type": "string"}},
        "description": "Shared",
    }


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "https://x.example/s.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}},
        {"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}},
        {"type": "object", "properties": 3},
        {"type": "object", "properties": {"a": {"anyOf": 7}}},
        {"type": "string"},
    ],
)
def test_one_bad_tool_costs_itself_alone(name, schema):
    """It is refused by name, with what is wrong, and the others are shown."""
    projected = project(
        (_tool(tool_id="demo.one"), _tool(schema, "demo.bad"), _tool(tool_id="demo.two")),
        dialect(name),
        strict=True,
    )
    shown = [e.tool_id for e in projected.entries]
    assert {"demo.one", "demo.two"} <= set(shown)
    if "demo.bad" not in shown:
        assert projected.refusals[0].code == "schema.unsupported"
        assert projected.refusals[0].subject == "demo.bad"
    else:
        assert not isinstance(schema.get("properties"), dict) or "anyOf" in str(schema)


def _doubling(keyword, step):
    """Give a definition that says the next one twice, in words of its own each time."""
    left, right = ({"$ref": f"#/$defs/d{step + 1}", "description": side} for side in "lr")
    if keyword == "anyOf":
        return {"anyOf": [left, right]}
    return {
        "type": "object",
        "properties": {"l": left, "r": right},
        "required": ["l", "r"],
    }


@pytest.mark.parametrize("keyword", ["properties", "anyOf"])
def test_a_schema_that_unfolds_without_end_is_refused_in_time(keyword, at_most):
    """Doubling definitions are bounded by depth and by nodes, not by patience."""
    defs = {f"d{step}": _doubling(keyword, step) for step in range(40)}
    defs["d40"] = {"type": "string"}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    with at_most(5_000_000):
        entry = _one(schema, strict=True)
    assert not entry.strict


def test_very_deep_schemas_do_not_overflow():
    """A schema nested thousands deep is refused, not crashed on."""
    deep = {"type": "string"}
    for _ in range(3_000):
        deep = {"type": "array", "items": deep}
    projected = project(
        (_tool({"type": "object", "properties": {"a": deep}}), _tool(tool_id="demo.ok")),
        dialect("openai"),
        strict=True,
    )
    assert [e.tool_id for e in projected.entries] == ["demo.ok"]
    assert projected.refusals[0].code == "schema.unsupported"


# -- descriptions, deferral, grouping ----------------------------------------------


def test_examples_are_shown_as_a_model_would_send_them():
    """A list of pairs stands in the example where the schema asks for one."""
    schema = {
        "type": "object",
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}}
        },
        "required": ["labels"],
    }
    about = Description("Label.", examples=[Example("two", {"labels": {"a": "x"}})])
    tool = _tool(schema, description=about)
    openai = project((tool,), dialect("openai"), strict=True).entries[0].declaration
    assert '[{"key":"a","value":"x"}]' in openai["function"]["description"]
    anthropic = project((tool,), dialect("anthropic")).entries[0].declaration
    assert anthropic["input_examples"] == [{"labels": {"a": "x"}}]
    assert "Example" not in anthropic["description"]


@pytest.mark.parametrize("name", ["openai-responses", "anthropic"])
def test_deferred_tools_are_marked_and_the_search_is_offered(name):
    """Where the provider can hide tools itself, it is told which."""
    tools = (_tool(tool_id="demo.now"), _tool(tool_id="demo.later"))
    projected = project(tools, dialect(name), deferred={"demo.later"})
    search, now, later = projected.declarations
    assert "tool_search" in search["type"]
    assert "defer_loading" not in now
    assert later["defer_loading"] is True


def test_deferral_is_ignored_where_the_provider_has_none():
    """Chat Completions shows every tool."""
    projected = project((_tool(),), dialect("openai"), deferred={"demo.tool"})
    assert len(projected.declarations) == 1


def test_namespaces_group_tools_by_pack_and_source():
    """Names stay whole inside a namespace, so a name alone finds the tool."""
    tools = (
        _tool(tool_id="web.get"),
        _tool(tool_id="mcp.gh.list"),
        _tool(tool_id="web.put"),
    )
    projected = project(tools, dialect("openai-responses"), namespaces=True)
    groups = {g["name"]: [t["name"] for t in g["tools"]] for g in projected.declarations}
    assert groups == {"web": ["web_get", "web_put"], "mcp__gh": ["mcp__gh__list"]}
    assert set(projected.by_wire_name) == {"web_get", "web_put", "mcp__gh__list"}


def test_mcp_says_effects_as_hints():
    """Hints come from the declared effects."""
    read = _tool(tool_id="a.read", effects=frozenset({Effect.FS_READ}))
    write = _tool(tool_id="a.write", effects=frozenset({Effect.FS_WRITE}))
    hints = [
        e.declaration["annotations"] for e in project((read, write), dialect("mcp")).entries
    ]
    assert hints[0] == {"title": "Demo", "readOnlyHint": True, "openWorldHint": False}
    assert hints[1]["destructiveHint"] is True
    assert hints[1]["readOnlyHint"] is False


# -- sameness ----------------------------------------------------------------------


def test_projecting_again_is_the_same_value():
    """An unchanged request is remembered, a changed one only costs what changed."""
    cache = ProjectionCache()
    tools = [_tool(tool_id=f"demo.t{i}") for i in range(3)]
    first = project(tools, dialect("openai"), cache=cache)
    assert project(list(tools), dialect("openai"), cache=cache) is first
    more = project([*tools, _tool(tool_id="demo.new")], dialect("openai"), cache=cache)
    assert more.entries[:3] == first.entries
    assert project(tools, dialect("openai"), strict=True, cache=cache) is not first


def test_declarations_share_nothing_with_the_tool():
    """Whoever changes a declaration does not change the tool."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"], "default": "x"}},
    }
    for name in NAMES:
        for strict in (True, False):
            sent = _schema(_one(schema, name, strict=strict))
            sent["properties"]["a"].clear()
            sent["properties"].clear()
    assert schema["properties"] == {"a": {"type": "string", "enum": ["x"], "default": "x"}}


_PROGRAM = """
import json, sys
from toolcrib.projection import dialect, project
from toolcrib.tool import Description, Tool
cases = json.load(open(sys.argv[1], encoding="utf-8"))
for name in ("openai", "openai-responses", "anthropic", "mcp"):
    for strict in (True, False):
        tools = tuple(
            Tool(id=f"demo.t{i}", title="", description=Description("D."),
                 input_schema=case["schema"])
            for i, case in enumerate(cases)
        )
        shown = project(tools, dialect(name), strict=strict)
        print(shown.digest, json.dumps(shown.declarations))
        print([(l.pointer, l.keyword, l.kind) for e in shown.entries for l in e.losses])
"""


def test_two_processes_give_the_same_bytes():
    """Neither hash seed nor set order is seen in what is sent."""
    data = Path(__file__).parent / "data" / "projection_cases.json"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM, data],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    }
    assert len(outputs) == 1


# -- dialects of packs -------------------------------------------------------------


def test_an_unknown_dialect_is_refused_with_those_that_are_spoken():
    """The text says where others come from."""
    with pytest.raises(LookupError, match=r"anthropic, mcp, openai.*projectors"):
        dialect("klingon")


def test_a_pack_may_speak_a_further_dialect_but_not_replace_one():
    """The core's own dialects win."""
    mine = attrs.evolve(dialect("openai"), name="mine")
    fake = attrs.evolve(mine, name="openai")
    assert dialect("mine", extra=[mine]) is mine
    assert dialect("openai", extra=[fake]) is not fake


def test_packs_are_asked_for_their_dialects_each_alone():
    """A pack that fails, or answers something else, does not hide the next."""
    mine = attrs.evolve(dialect("openai"), name="mine")

    def breaks(tool, dialect):
        raise RuntimeError

    answers = spoken_by(
        "mine",
        [breaks, lambda tool, dialect: {"no": 1}, lambda tool, dialect: mine],
    )
    assert list(answers) == [mine]


def test_a_projector_may_show_a_tool_that_the_dialect_cannot_say():
    """Packs are asked in order; silence and errors leave it to the next."""
    bad = _tool({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}})

    def breaks(tool, dialect):
        raise RuntimeError

    def shows(tool, dialect):
        return {"type": "function", "function": {"name": "demo_tool"}}

    silent = project((bad,), dialect("openai"), projectors=[breaks, lambda **_: None])
    assert silent.refusals[0].code == "schema.unsupported"
    shown = project((bad,), dialect("openai"), projectors=[breaks, shows])
    assert shown.refusals == ()
    assert shown.declarations[0]["function"]["name"] == "demo_tool"


def test_a_dialect_that_raises_costs_the_tool_alone():
    """The refusal names the dialect."""

    def declare(declared):
        if declared.tool.id == "demo.bad":
            message = "no"
            raise RuntimeError(message)
        return {"name": declared.name}

    broken = attrs.evolve(dialect("openai"), declare=declare)
    projected = project((_tool(tool_id="demo.bad"), _tool(tool_id="demo.ok")), broken)
    assert [e.tool_id for e in projected.entries] == ["demo.ok"]
    assert projected.refusals[0].code == "dialect.broken"


def test_limits_are_facts_of_a_dialect():
    """A table, not code."""
    assert isinstance(dialect("openai"), Dialect)
    assert dialect("openai").limits == RequestLimits(tools=128)
    assert isinstance(_one(ONE), Projection)
    assert wire_name("demo.tool") == _one(ONE).wire_name
    assert json.dumps(_one(ONE).declaration)


def test_a_cache_forgets_what_is_not_asked_for():
    """It holds a bounded number of tools and of requests."""
    cache = ProjectionCache(tools=2, requests=1)
    tools = tuple(_tool(tool_id=f"demo.t{i}") for i in range(3))
    first = project(tools, dialect("openai"), cache=cache)
    project(tools[:1], dialect("openai"), cache=cache)
    again = project(tools, dialect("openai"), cache=cache)
    assert again is not first
    assert again.digest == first.digest
