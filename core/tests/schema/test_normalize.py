"""Rebuilding schemas into the normal form."""

from __future__ import annotations

import pytest

from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.schema.engines import has_other


def _refused(schema, **options):
    with pytest.raises(SchemaError) as caught:
        normalize(schema, **options)
    return caught.value


def test_a_plain_schema_stays_what_it_is():
    """A schema in normal form is rebuilt equal, and is not the same object."""
    schema = {
        "type": "object",
        "description": "d",
        "properties": {"a": {"type": "string", "title": "A", "default": "x"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    built = normalize(schema).schema
    assert built == schema
    assert built is not schema
    assert built["properties"] is not schema["properties"]


def test_booleans_become_objects():
    """True says nothing, false refuses everything."""
    assert normalize(True).schema == {}
    assert normalize(False).schema == {"not": {}}


@pytest.mark.parametrize(
    ("schema", "built"),
    [
        (
            {"items": [{"type": "string"}], "additionalItems": {"type": "null"}},
            {"prefixItems": [{"type": "string"}], "items": {"type": "null"}},
        ),
        (
            {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {
                "dependentRequired": {"a": ["b"]},
                "dependentSchemas": {"c": {"required": ["d"]}},
            },
        ),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"minLength": 2.0}, {"minLength": 2}),
        ({"unevaluatedProperties": False}, {"additionalProperties": False}),
        ({"$id": "https://example.com/a", "type": "null"}, {"type": "null"}),
    ],
)
def test_older_forms_are_said_in_the_newest_draft(schema, built):
    """What older drafts say otherwise is translated without a change of meaning."""
    assert normalize(schema).schema == built


@pytest.mark.parametrize(
    ("slip", "built"),
    [
        ({"type": "dict"}, {"type": "object"}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "any"}, {}),
        ({"type": ["str", "None"]}, {"type": ["string", "null"]}),
        ({"type": "integer", "nullable": True}, {"type": ["integer", "null"]}),
        ({"type": "integer", "default": None}, {"type": "integer"}),
        ({"type": "integer", "default": "3"}, {"type": "integer"}),
        (
            {"properties": {"a": {"type": "string", "required": True}}},
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
    ],
)
def test_slips_with_one_reading_are_read_and_recorded(slip, built):
    """A slip is read in its only meaning, and the reading is recorded."""
    normal = normalize(slip)
    assert normal.schema == built
    assert normal.repairs


def test_nullable_beside_listed_values_is_left_out_not_widened():
    """Where null is not listed, nullable does not add it."""
    normal = normalize({"type": "string", "enum": ["a"], "nullable": True})
    assert normal.schema == {"type": "string", "enum": ["a"]}
    assert [loss.keyword for loss in normal.losses] == ["nullable"]


def test_unknown_keywords_are_left_out_and_recorded():
    """What no validator knows is gone from the normal form, and said."""
    normal = normalize({"type": "string", "message": "hi", "x-order": 1})
    assert normal.schema == {"type": "string"}
    assert [loss.pointer for loss in normal.losses] == ["/message"]


@pytest.mark.parametrize(
    ("schema", "keyword", "pointer"),
    [
        ({"type": "strng"}, "type", "/type"),
        ({"type": []}, "type", "/type"),
        ({"type": None}, "type", "/type"),
        ({"properties": {"required": ["a"]}}, "required", "/properties/required"),
        ({"minimum": "3"}, "minimum", "/minimum"),
        ({"minimum": float("nan")}, "minimum", "/minimum"),
        ({"enum": []}, "enum", "/enum"),
        ({"pattern": "[a"}, "pattern", "/pattern"),
        ({"requried": ["a"]}, "requried", "/requried"),
        ({"properties": {"a/b": {"minLenght": 1}}}, "minLenght", "/properties/a~1b/minLenght"),
        ({"anyOf": []}, "anyOf", "/anyOf"),
        ({"multipleOf": 0}, "multipleOf", "/multipleOf"),
        ({"minItems": -1}, "minItems", "/minItems"),
        ({"required": "ab"}, "required", "/required"),
        ({"$ref": "#/$defs/gone"}, "$ref", "/$ref"),
        ({"$schema": "https://example.com/mine"}, "$schema", "/$schema"),
        ({"const": b"x"}, "const", "/const"),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(schema, keyword, pointer):
    """A wrong schema is refused with the keyword and where it stands."""
    error = _refused(schema)
    assert (error.keyword, error.pointer) == (keyword, pointer)


@pytest.mark.parametrize(
    "reference",
    [
        "https://127.0.0.1:1/x",
        "file:///etc/hostname",
        "//host/x",
        "other.json",
        "data:,{}",
        "urn:x:y",
    ],
)
def test_nothing_is_ever_fetched(reference, monkeypatch):
    """A reference that leaves the document is refused without a look outside."""
    monkeypatch.setattr("urllib.request.urlopen", None)
    assert _refused({"$id": "http://127.0.0.1:1/base", "$ref": reference}).keyword == "$ref"


def test_references_of_every_kind_point_to_definitions():
    """Pointers into properties, anchors, identifiers and the root become definitions."""
    schema = {
        "$id": "https://example.com/root",
        "properties": {
            "a": {"type": "string"},
            "b": {"$ref": "#/properties/a"},
            "c": {"$ref": "#named"},
            "d": {"$ref": "/part"},
            "e": {"type": "array", "items": {"$ref": "#"}},
        },
        "$defs": {
            "N": {"$anchor": "named", "type": "null"},
            "P": {"$id": "/part", "type": "integer"},
            "unused": {"type": "boolean"},
        },
    }
    built = normalize(schema).schema
    definitions = built["$defs"]
    assert built["properties"]["b"] == {"$ref": "#/$defs/a"}
    assert definitions["a"] == {"type": "string"}
    assert definitions["N"] == {"type": "null"}
    assert definitions["P"] == {"type": "integer"}
    assert built["properties"]["e"]["items"] == {"$ref": "#/$defs/root"}
    assert "unused" not in definitions


def test_definitions_of_like_names_stay_apart():
    """Names that fold to one another do not share a definition."""
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x y"}, "b": {"$ref": "#/$defs/x_y"}},
        "$defs": {"x y": {"type": "string"}, "x_y": {"type": "null"}},
    }
    built = normalize(schema).schema
    first = built["properties"]["a"]["$ref"].rpartition("/")[2]
    second = built["properties"]["b"]["$ref"].rpartition("/")[2]
    assert first != second
    assert built["$defs"][first] == {"type": "string"}
    assert built["$defs"][second] == {"type": "null"}


def test_what_stands_beside_a_reference_counts_in_new_drafts_only():
    """In 2020-12 neighbours of $ref count; in draft 7 they do not, and that is said."""
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/o", "required": ["extra"], "description": "mine"}
        },
        "$defs": {"o": {"type": "object"}},
    }
    new = normalize(schema)
    old = normalize({**schema, "$schema": "http://json-schema.org/draft-07/schema#"})
    assert new.schema["properties"]["a"]["required"] == ["extra"]
    assert old.schema["properties"]["a"] == {"$ref": "#/$defs/o", "description": "mine"}
    assert [loss.keyword for loss in old.losses] == ["required"]


def test_parameters_named_like_keywords_survive():
    """A property is never taken for a keyword."""
    names = ["title", "type", "description", "default", "$ref", "properties", "enum", "items"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }
    assert normalize(schema).schema == schema


def test_a_root_without_type_is_an_object_for_arguments_only():
    """Arguments are objects; other schemas keep their meaning."""
    schema = {"properties": {"a": {}}, "additionalProperties": True}
    assert "type" not in normalize(schema).schema
    normal = normalize(schema, arguments=True)
    assert normal.schema["type"] == "object"
    assert [repair.keyword for repair in normal.repairs] == ["type"]


def test_a_root_union_of_objects_is_taken_for_arguments():
    """A union at the root is an object root that accepts the same arguments."""
    union = {"anyOf": [{"type": "object", "required": ["a"]}, {"required": ["b"]}]}
    assert normalize(union, arguments=True).schema["type"] == "object"


def test_a_root_that_is_no_object_is_refused_for_arguments():
    """Arguments cannot be an array."""
    assert _refused({"type": "array"}, arguments=True).pointer == "/type"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#"}}},
        },
    ],
)
def test_references_that_consume_nothing_are_refused(schema):
    """A reference that comes back to itself on the same value would never end."""
    assert _refused(schema).keyword == "$ref"


def test_recursion_that_consumes_is_taken():
    """Trees, and definitions that refer to each other, are ordinary schemas."""
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}}},
            "list": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        },
    }
    assert normalize(tree).engine == "fastjsonschema"


def test_the_digest_is_of_the_normal_form():
    """Equal normal forms have equal digests, however they were written."""
    one = normalize({"type": "float", "x-a": 1})
    assert one.digest == normalize({"type": "number"}).digest


def test_patterns_of_other_engines_need_the_extra(monkeypatch):
    """Without the extra, a pattern that Python cannot match safely is refused by name."""
    monkeypatch.setattr("toolcrib.schema.engines.has_other", lambda: False)
    error = _refused({"type": "string", "pattern": "^(a+)+$"})
    assert error.keyword == "pattern"
    assert "jsonschema-rs" in str(error)


@pytest.mark.skipif(not has_other(), reason="needs the extra jsonschema-rs")
def test_patterns_of_other_engines_go_to_the_extra():
    """With the extra, they are decided there."""
    assert normalize({"pattern": "^(a+)+$"}).engine == "jsonschema-rs"


@pytest.mark.skipif(not has_other(), reason="needs the extra jsonschema-rs")
def test_what_no_normal_form_holds_is_kept_whole():
    """References that depend on the way are left to the other engine, depth limited."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/a",
        "$ref": "b",
        "$defs": {
            "b": {"$id": "b", "$dynamicAnchor": "x", "items": {"$dynamicRef": "#x"}},
        },
    }
    normal = normalize(schema)
    assert normal.verbatim
    assert normal.schema == schema
    assert normal.deepest < 64
