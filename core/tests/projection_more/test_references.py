"""References: kept, written out, or refused, as the form can."""

from __future__ import annotations

import pytest


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
DEEP = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}},
    "required": ["next"],
}


def _levels(sub):
    count = 0
    while "next" in sub.get("properties", {}):
        sub, count = sub["properties"]["next"], count + 1
    return count, sub


def test_a_recursive_definition_is_kept_where_it_may_be(show_v):
    """The definition is sent once, and refers to itself."""
    shown = show_v({"$ref": "#/$defs/node"}, defs={"node": NODE})
    assert shown.v == {"$ref": "#/$defs/node"}
    assert shown.schema["$defs"]["node"]["properties"]["next"] == {"$ref": "#/$defs/node"}


def test_a_recursive_definition_is_written_out_a_few_levels(show_v):
    """Deeper down anything is accepted, and the loss says so."""
    shown = show_v({"$ref": "#/$defs/node"}, defs={"node": NODE}, recursion="unroll")
    assert _levels(shown.v) == (3, {})
    assert [keyword for _, keyword, _ in shown.losses] == ["$ref"]
    assert "/$defs/node is written out 3 deep" in shown.reasons[0]


def test_what_stands_beside_a_recursive_reference_is_written_out_with_it(show_v):
    """Each level has its own text."""
    sub = {"$ref": "#/$defs/node", "description": "First."}
    shown = show_v(sub, defs={"node": NODE}, recursion="unroll")
    assert shown.v["description"] == "First."
    assert "description" not in shown.v["properties"]["next"]


def test_what_contradicts_a_recursive_reference_is_refused(refuse_v):
    """Neither wins."""
    sub = {"$ref": "#/$defs/node", "type": "string"}
    text = refuse_v(sub, defs={"node": NODE}, recursion="unroll")
    assert "siblings contradict a reference" in text


def test_a_recursive_definition_is_refused_where_there_is_no_way(refuse_v):
    """The definition is named."""
    text = refuse_v({"$ref": "#/$defs/node"}, defs={"node": NODE}, recursion="refuse")
    assert "#/$defs/node is recursive" in text


def test_recursion_through_an_optional_property_is_kept(show_v):
    """Some providers accept just that."""
    shown = show_v({"$ref": "#/$defs/node"}, defs={"node": NODE}, recursion="optional")
    assert shown.v == {"$ref": "#/$defs/node"}


def test_recursion_outside_an_optional_property_is_refused(refuse_v):
    """A model would have to write for ever."""
    text = refuse_v({"$ref": "#/$defs/node"}, defs={"node": DEEP}, recursion="optional")
    assert "contains itself outside any property that may be left out" in text


@pytest.mark.parametrize("recursion", ["keep", "optional"])
def test_a_reference_to_the_root_is_kept(show, recursion):
    """Arguments that contain arguments."""
    schema = {"type": "object", "properties": {"v": {"$ref": "#"}}}
    assert show(schema, recursion=recursion).v == {"$ref": "#"}


def test_text_beside_a_recursive_reference_makes_a_union_of_one(show):
    """Some readers ignore what stands beside a reference."""
    schema = {"type": "object", "properties": {"v": {"$ref": "#", "description": "Again."}}}
    assert show(schema).v == {"description": "Again.", "anyOf": [{"$ref": "#"}]}


def test_constraints_beside_an_inner_recursive_reference_are_refused(refuse_v):
    """They hold for one place alone, and a definition has no place."""
    inner = {"$ref": "#/$defs/node", "maxProperties": 1}
    node = {"type": "object", "properties": {"next": inner}}
    text = refuse_v({"$ref": "#/$defs/node", "minProperties": 1}, defs={"node": node})
    assert "constraints stand beside the recursive #/$defs/node" in text


def test_what_contradicts_a_reference_is_refused(refuse_v):
    """``$ref`` and what stands beside it both hold, and cannot."""
    text = refuse_v({"$ref": "#/$defs/word", "type": "integer"}, defs={"word": TEXT})
    assert "what stands beside the reference to #/$defs/word contradicts it" in text


def test_references_in_a_circle_are_refused(refuse_v):
    """They name each other and never a schema."""
    defs = {"a": {"$ref": "#/$defs/b", "title": "A"}, "b": {"$ref": "#/$defs/a", "minimum": 1}}
    text = refuse_v({"$ref": "#/$defs/a", "minimum": 2}, defs=defs, refs="inline")
    assert "constraints stand beside the recursive #/$defs/a" in text


@pytest.mark.parametrize("target", [True, {}])
def test_a_reference_to_anything_is_what_stands_beside_it(show_v, target):
    """``true`` adds nothing."""
    shown = show_v({"$ref": "#/$defs/any", "description": "D."}, defs={"any": target})
    assert shown.v == {"description": "D."}


def test_a_reference_to_nothing_is_refused(refuse_v):
    """``false`` accepts nothing, wherever it stands."""
    defs = {"none": False}
    text = refuse_v({"$ref": "#/$defs/none", "title": "T"}, defs=defs)
    assert "a schema that accepts nothing" in text


def test_a_recursive_place_that_is_no_definition_becomes_one(show):
    """It is sent under a name of its own that never changes."""
    tree = {"type": "object", "properties": {"kids": {"$ref": "#/properties/v"}}}
    shown = show({"type": "object", "properties": {"v": tree, "w": {"$ref": "#/properties/v"}}})
    (name,) = shown.schema["$defs"]
    assert name.startswith("v_")
    assert shown.schema["properties"]["w"] == {"$ref": f"#/$defs/{name}"}
    assert shown.schema["$defs"][name]["properties"]["kids"] == {"$ref": f"#/$defs/{name}"}


def test_a_definition_is_undone_in_every_use(show):
    """The inverse follows the reference, as deep as the value is."""
    node = {
        "type": "object",
        "properties": {
            "tags": {"type": "object", "additionalProperties": NUMBER},
            "next": {"$ref": "#/$defs/node"},
        },
    }
    schema = {"type": "object", "properties": {"v": {"$ref": "#/$defs/node"}}}
    shown = show({**schema, "$defs": {"node": node}}, maps="pairs")
    tags = [{"key": "a", "value": 1}]
    sent = {"v": {"tags": tags, "next": {"tags": tags}}}
    declared = {"v": {"tags": {"a": 1}, "next": {"tags": {"a": 1}}}}
    assert shown.undo(sent) == declared
    assert shown.do(declared) == sent


def test_a_wrapped_root_is_referred_to_inside_its_wrapper(show):
    """``#`` means the arguments, which are a property now."""
    branch = {"type": "object", "properties": {"v": {"$ref": "#"}}, "required": ["v"]}
    other = {"type": "object", "properties": {"w": TEXT}, "required": ["w"]}
    for narrow in (True, False):
        shown = show({"anyOf": [branch, other]}, narrow=narrow)
        branches = shown.schema["properties"]["input"]["anyOf"]
        assert branches[0]["properties"]["v"] == {"$ref": "#/properties/input"}


@pytest.mark.parametrize(
    ("ref", "sent"),
    [
        ("#/$defs/word", "#/$defs/word"),
        ("#/anyOf/1", "#/properties/input/anyOf/1"),
    ],
)
def test_references_of_a_wrapped_root_are_moved(show, ref, sent):
    """Definitions stay at the root, everything else moved into the wrapper."""
    branch = {"type": "object", "properties": {"v": {"$ref": ref}}, "required": ["v"]}
    other = {"type": "object", "properties": {"w": TEXT}, "required": ["w"]}
    shown = show({"anyOf": [branch, other], "$defs": {"word": TEXT}}, narrow=False)
    branches = shown.schema["properties"]["input"]["anyOf"]
    assert branches[0]["properties"]["v"] == {"$ref": sent}


def test_only_recursive_definitions_are_sent_where_references_are_written_out(show):
    """What is written out needs no definition."""
    schema = {
        "type": "object",
        "properties": {"v": {"$ref": "#/$defs/node"}, "w": {"$ref": "#/$defs/word"}},
        "$defs": {"node": NODE, "word": TEXT},
    }
    shown = show(schema, narrow=False, refs="inline")
    assert shown.schema["properties"] == {"v": {"$ref": "#/$defs/node"}, "w": TEXT}
    assert list(shown.schema["$defs"]) == ["node"]


def test_a_conjunction_is_merged_where_the_form_asks_for_it(show_v):
    """Otherwise it stays, and where it cannot be merged as well."""
    sub = {"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 5}]}
    clash = {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}
    merged = {"type": "string", "minLength": 1, "maxLength": 5}
    assert show_v(sub, narrow=False).v == sub
    assert show_v(sub, narrow=False, merges=True).v == merged
    assert show_v(clash, narrow=False, merges=True).v == clash


def test_a_schema_that_is_nested_too_deeply_is_refused(refuse):
    """A live source cannot exhaust the stack."""
    deep = {}
    for _ in range(200):
        deep = {"type": "object", "properties": {"v": deep}}
    assert "nested too deeply" in refuse(deep)


def test_a_schema_that_exhausts_the_stack_is_refused(refuse):
    """However it is nested."""
    deep = {"type": "string"}
    for _ in range(50_000):
        deep = {"not": deep}
    text = refuse({"type": "object", "properties": {"v": deep}}, narrow=False)
    assert "nested too deeply" in text


def test_a_schema_that_unfolds_without_end_is_refused(refuse):
    """Twenty definitions that name the next twice are a million nodes."""
    pair = {"type": "object", "properties": {}}
    defs = {
        f"d{i}": {**pair, "properties": {k: {"$ref": f"#/$defs/d{i + 1}"} for k in "ab"}}
        for i in range(20)
    }
    defs["d20"] = TEXT
    schema = {"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    assert "unfolds to more than 20000 nodes" in refuse(schema, refs="inline")


def test_properties_with_false_are_not_required(show_v):
    """A name that is never accepted cannot be asked for."""
    sub = {"type": "object", "properties": {"a": TEXT, "b": False}, "required": ["a", "b"]}
    shown = show_v(sub, narrow=False)
    assert shown.v["required"] == ["a"]
    assert list(shown.v["properties"]) == ["a"]


def test_a_boolean_schema_is_sent_as_an_object(show_v):
    """Some readers know no boolean schemas."""
    assert show_v({"type": "array", "items": True}, narrow=False).v["items"] == {}
    assert show_v({"anyOf": [TEXT, False]}, narrow=False).v == {"anyOf": [TEXT, {"not": {}}]}


def test_a_closed_tuple_is_said_by_its_length(show_v):
    """More readers know ``maxItems`` than a false ``items``."""
    sub = {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False}
    assert show_v(sub, narrow=False).v == {
        "type": "array",
        "prefixItems": [TEXT, NUMBER],
        "maxItems": 2,
    }


@pytest.mark.parametrize(("maps", "same"), [("keep", True), ("pairs", False)])
def test_a_tool_that_needs_no_undoing_has_no_inverse(show_v, maps, same):
    """A definition that changes nothing is nothing to undo."""
    defs = {
        "node": {
            **NODE,
            "properties": {
                **NODE["properties"],
                "m": {"type": "object", "additionalProperties": NUMBER},
            },
        }
    }
    shown = show_v({"$ref": "#/$defs/node"}, defs=defs, maps=maps)
    assert (shown.entry.inverse is None) is same
