"""The laws of projection, over random schemas and values that fit them."""

from __future__ import annotations

import copy
import json

import jsonschema_rs
import pytest

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from toolcrib.projection import Inverse, dialect, project
from toolcrib.projection.losses import Unfit
from toolcrib.projection.rewriting import say
from toolcrib.tool import Description, Tool


KEYS = st.sampled_from(["a", "b", "title", "type", "items", "$ref", "properties", "x y", "ä"])
MAP_KEYS = st.text("abc/~$ ", min_size=1, max_size=4)
FORMS = [("openai", True), ("openai", False), ("anthropic", True), ("anthropic", False)]
PROFILES = [dialect(name).strict for name in ("openai", "anthropic")]

SETTINGS = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _leaf():
    integers = st.integers(-5, 5)
    return st.sampled_from(
        [
            ({"type": "string"}, st.text(max_size=3)),
            ({"type": "string", "minLength": 1}, st.text("xy", min_size=1, max_size=3)),
            ({"type": "string", "enum": ["on", "off"]}, st.sampled_from(["on", "off"])),
            ({"const": "only"}, st.just("only")),
            ({"const": 3}, st.just(3)),
            ({"const": None}, st.none()),
            ({"enum": ["low", 1, None, True]}, st.sampled_from(["low", 1, None, True])),
            ({"type": "integer", "minimum": -5, "exclusiveMaximum": 6}, integers),
            ({"type": "number"}, st.floats(-9, 9).map(lambda x: round(x, 2)) | integers),
            ({"type": "boolean", "default": False}, st.booleans()),
            ({"type": ["integer", "null"]}, integers | st.none()),
            ({"type": "null"}, st.none()),
            ({}, st.none() | integers | st.lists(integers, max_size=2)),
            ({"type": "object"}, st.dictionaries(MAP_KEYS, integers, max_size=2)),
            ({"type": "array"}, st.lists(integers | st.none(), max_size=2)),
            ({"$ref": "#/$defs/point"}, st.just({"x": 1}) | st.just({"x": 1, "y": 2})),
            ({"$ref": "#/$defs/tree"}, _tree()),
            ({"$ref": "#/$defs/point", "description": "d"}, st.just({"x": 0, "y": -1})),
        ]
    )


def _tree():
    node = st.fixed_dictionaries({"v": st.integers(0, 2)})
    return st.recursive(
        node,
        lambda inner: st.fixed_dictionaries(
            {"v": st.integers(0, 2)}, optional={"kids": st.lists(inner, max_size=2)}
        ),
        max_leaves=4,
    )


DEFS = {
    "point": {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "required": ["x"],
    },
    "tree": {
        "type": "object",
        "properties": {
            "v": {"type": "integer"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
        "required": ["v"],
    },
}


@st.composite
def _object(draw, inner):
    names = draw(st.lists(KEYS, unique=True, max_size=4))
    parts = {name: draw(inner) for name in names}
    required = [name for name in names if draw(st.booleans())]
    schema = {"type": "object", "properties": {n: s for n, (s, _) in parts.items()}}
    if required:
        schema["required"] = required
    if not names or draw(st.booleans()):
        schema["additionalProperties"] = False
    values = st.fixed_dictionaries(
        {n: parts[n][1] for n in required},
        optional={n: v for n, (_, v) in parts.items() if n not in required},
    )
    return schema, values


@st.composite
def _compound(draw, inner):
    kind = draw(st.sampled_from(["object", "list", "map", "tuple", "union", "tagged", "null"]))
    if kind == "object":
        return draw(_object(inner))
    if kind == "list":
        schema, values = draw(inner)
        return {"type": "array", "items": schema}, st.lists(values, max_size=2)
    if kind == "map":
        schema, values = draw(inner)
        made = {"type": "object", "additionalProperties": schema}
        return made, st.dictionaries(MAP_KEYS, values, max_size=2)
    if kind == "tuple":
        parts = draw(st.lists(inner, min_size=1, max_size=3))
        made = {"type": "array", "prefixItems": [s for s, _ in parts], "items": False}
        return {**made, "minItems": len(parts)}, st.tuples(*(v for _, v in parts)).map(list)
    if kind == "tagged":
        parts = [draw(_object(inner)) for _ in range(2)]
        return _tagged(parts)
    parts = draw(st.lists(inner, min_size=1, max_size=3))
    if kind == "null":
        parts = [parts[0], ({"type": "null"}, st.none())]
    return {"anyOf": [s for s, _ in parts]}, st.one_of(*(v for _, v in parts))


def _tagged(parts):
    branches, values = [], []
    for i, (schema, value) in enumerate(parts):
        tag = {"kind": {"const": f"k{i}"}}
        properties = {**schema["properties"], **tag}
        required = [*schema.get("required", []), "kind"]
        branches.append({**schema, "properties": properties, "required": required})
        values.append(value.map(lambda v, i=i: {**v, "kind": f"k{i}"}))
    return {"oneOf": branches}, st.one_of(*values)


SCHEMAS = st.recursive(_leaf(), _compound, max_leaves=6)


@st.composite
def _cases(draw):
    schema, values = draw(_object(SCHEMAS))
    if draw(st.integers(0, 9)) == 0:
        schema, values = _tagged([(schema, values), draw(_object(SCHEMAS))])
    return {**schema, "$defs": DEFS}, draw(values)


def _closed(node):
    """Say the closing rule: an object with properties is closed unless it says otherwise."""
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _closed(sub) for name, sub in value.items()}
        elif key in ("const", "enum", "default"):
            out[key] = value
        else:
            out[key] = _closed(value)
    if isinstance(node.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out


def _valid(schema, value):
    return jsonschema_rs.validator_for(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    ).is_valid(value)


def _tool(schema):
    return Tool(id="a.b", title="", description=Description("D."), input_schema=schema)


def _sent(projection):
    declaration = projection.declaration
    return declaration.get("function", declaration).get("parameters") or declaration.get(
        "input_schema"
    )


@pytest.mark.parametrize(("name", "strict"), FORMS)
@SETTINGS
@given(_cases())
def test_every_valid_value_can_be_sent_and_comes_back(name, strict, case):
    """What the declared schema accepts has a sent form, which is undone exactly."""
    schema, value = case
    assume(_valid(_closed(schema), value))
    before = copy.deepcopy(schema)
    projected = project((_tool(schema),), dialect(name), strict=strict)
    assert schema == before
    assert projected.refusals == ()
    projection = projected.entries[0]
    inverse = projection.inverse
    sent = inverse.encode(value) if inverse else value
    assert _valid(_sent(projection), sent)
    assert (inverse(sent) if inverse else sent) == value


@pytest.mark.parametrize(("name", "strict"), FORMS)
@SETTINGS
@given(_cases())
def test_projecting_is_deterministic_and_the_inverse_is_data(name, strict, case):
    """Equal schemas give equal bytes, and an inverse survives being written down."""
    schema, value = case
    assume(_valid(_closed(schema), value))
    one = project((_tool(schema),), dialect(name), strict=strict)
    two = project((_tool(json.loads(json.dumps(schema))),), dialect(name), strict=strict)
    assert one.digest == two.digest
    assert json.dumps(one.declarations) == json.dumps(two.declarations)
    for entry in one.entries:
        if entry.inverse is not None:
            kept = Inverse.from_json(json.loads(json.dumps(entry.inverse.to_json())))
            sent = entry.inverse.encode(value)
            assert kept(sent) == entry.inverse(sent)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: str(p.absent))
@SETTINGS
@given(_cases())
def test_a_strict_form_is_closed_and_stays_as_it_is(profile, case):
    """Every object is closed, every keyword allowed, and projecting again changes nothing."""
    schema, _ = case
    try:
        said = say(schema, profile)
    except Unfit:
        assume(False)
    _check_strict(said.schema, profile)
    assert say(said.schema, profile).schema == said.schema


def _check_strict(node, profile):
    allowed = profile.keeps | {"type", "properties", "required", "additionalProperties"}
    allowed |= {"items", "anyOf", "enum", "$ref", "$defs", "description"}
    assert node.keys() <= allowed
    if node.get("type") == "object":
        assert node["additionalProperties"] is False
        if profile.absent == "null":
            assert node["required"] == list(node["properties"])
    for sub in [*node.get("properties", {}).values(), *node.get("$defs", {}).values()]:
        _check_strict(sub, profile)
    for sub in node.get("anyOf", []):
        _check_strict(sub, profile)
    if "items" in node:
        _check_strict(node["items"], profile)
