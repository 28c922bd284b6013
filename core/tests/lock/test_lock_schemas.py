"""How a change of a schema is classified."""

from __future__ import annotations

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib.lock.schemadiff import Severity, schema_severity


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def changed(**more):
    return {**OBJECT, **more}


@pytest.mark.parametrize(
    ("new", "severity"),
    [
        (OBJECT, Severity.SAME),
        (changed(description="words"), Severity.COSMETIC),
        (changed(properties={"a": {"type": "string", "title": "A"}}), Severity.COSMETIC),
        (changed(required=[]), Severity.WIDENING),
        (changed(properties={**OBJECT["properties"], "b": {}}), Severity.WIDENING),
        (changed(properties={"a": {"type": ["string", "null"]}}), Severity.WIDENING),
        (changed(properties={"a": {}}), Severity.WIDENING),
        (changed(properties={"a": {"type": "integer"}}), Severity.BREAKING),
        (changed(properties={"a": {"type": "string", "maxLength": 3}}), Severity.BREAKING),
        (changed(properties={"a": {"type": "string", "pattern": "x"}}), Severity.BREAKING),
        (changed(properties={}), Severity.BREAKING),
        (
            changed(properties={**OBJECT["properties"], "b": {}}, required=["a", "b"]),
            Severity.BREAKING,
        ),
        (changed(additionalProperties=False), Severity.BREAKING),
        (changed(unknown=1), Severity.BREAKING),
        (True, Severity.WIDENING),
        (False, Severity.BREAKING),
        (None, Severity.BREAKING),
    ],
)
def test_changes_of_an_object(new, severity):
    """Words, more accepted, or less."""
    assert schema_severity(OBJECT, new) is severity


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ({"enum": [1, 2]}, {"enum": [2, 1]}, Severity.COSMETIC),
        ({"enum": [1]}, {"enum": [1, 2]}, Severity.WIDENING),
        ({"enum": [1, 2]}, {"enum": [1]}, Severity.BREAKING),
        ({"maximum": 5}, {"maximum": 6}, Severity.WIDENING),
        ({"maximum": 5}, {"maximum": 4}, Severity.BREAKING),
        ({"minimum": 5}, {"minimum": 4}, Severity.WIDENING),
        ({"minimum": 5}, {}, Severity.WIDENING),
        ({}, {"minimum": 5}, Severity.BREAKING),
        ({"items": {"type": "string"}}, {}, Severity.WIDENING),
        ({"additionalProperties": False}, {}, Severity.WIDENING),
        ({"additionalProperties": False}, {"additionalProperties": True}, Severity.WIDENING),
        ({"$defs": {"x": {"type": "string"}}}, {"$defs": {"x": {}}}, Severity.WIDENING),
        ({"pattern": "x"}, {}, Severity.WIDENING),
    ],
)
def test_changes_of_a_keyword(old, new, severity):
    """Each by its own rule."""
    assert schema_severity(old, new) is severity


schemas = st.recursive(
    st.booleans() | st.sampled_from([{}, {"type": "string"}, {"enum": [1]}, {"maximum": 3}]),
    lambda inner: st.fixed_dictionaries(
        {}, optional={"items": inner, "properties": st.dictionaries(st.text(max_size=2), inner)}
    ),
    max_leaves=6,
)


@given(schemas, schemas)
def test_any_two_schemas_are_judged(old, new):
    """No change is called none, and what widens one way does not widen back unseen."""
    there, back = schema_severity(old, new), schema_severity(new, old)

    assert (there is Severity.SAME) == (old == new)
    assert (there is Severity.COSMETIC) == (back is Severity.COSMETIC)
