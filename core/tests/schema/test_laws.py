"""Laws of schemas, validators and repairs over random schemas and values."""

from __future__ import annotations

import copy

import jsonschema_rs
import pytest

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolcrib import admission, canonical
from toolcrib.call import AdmittedCall, Call
from toolcrib.errors import SchemaError
from toolcrib.schema import normalize
from toolcrib.schema.judge import Judge
from toolcrib.tool import Description, Tool
from toolcrib.validator import Validator, Validators


SETTINGS = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
KEYS = st.sampled_from(["a", "b", "a-b", "ab", "", "$ref", "type", "x y", "é", 'q"{}', "\n"])
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.0, 1.0, 1.5, -2.0, 1e300]))
SCALARS = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "a", "ab", "1", "true", "a\n", "é"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
PATTERNS = st.sampled_from(["^a", "b$", "^[a-z]{1,2}$", r"^\w+$", "a|b", "^a*$", "."])
SIZES = st.integers(0, 3)
ASSERTIONS = {
    "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": NUMBERS,
    "exclusiveMaximum": NUMBERS,
    "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.1]),
    "minLength": SIZES,
    "maxLength": SIZES,
    "pattern": PATTERNS,
    "minItems": SIZES,
    "maxItems": SIZES,
    "uniqueItems": st.booleans(),
    "minProperties": SIZES,
    "maxProperties": SIZES,
    "required": st.lists(KEYS, max_size=2, unique=True),
    "dependentRequired": st.dictionaries(
        KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2
    ),
}


def _compose(inner):
    some = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(KEYS, inner, max_size=3)
    parts = {
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": named,
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "minContains": SIZES,
        "maxContains": SIZES,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
    }
    return st.one_of(
        st.fixed_dictionaries({}, optional={**parts, "type": TYPES}),
        *(
            st.fixed_dictionaries({key: value}, optional=ASSERTIONS)
            for key, value in parts.items()
        ),
    )


LEAVES = st.one_of(st.booleans(), st.fixed_dictionaries({}, optional=ASSERTIONS))
SCHEMAS = st.recursive(LEAVES, _compose, max_leaves=5)


@st.composite
def documents(draw):
    """A schema with two definitions that may refer to each other."""
    schema = draw(SCHEMAS)
    definitions = {"one": draw(SCHEMAS), "two": draw(LEAVES)}
    return {**schema, "$defs": definitions} if isinstance(schema, dict) else schema


def _normal(schema, **options):
    try:
        return normalize(copy.deepcopy(schema), **options)
    except SchemaError:
        return None


@SETTINGS
@given(documents(), st.booleans())
def test_normalising_twice_changes_nothing(schema, arguments):
    """A normal form is its own normal form."""
    normal = _normal(schema, arguments=arguments)
    if normal is None:
        return
    again = normalize(normal.schema, arguments=arguments)
    assert again.schema == normal.schema
    assert again.digest == normal.digest
    assert again.engine == normal.engine


@SETTINGS
@given(documents(), st.lists(VALUES, min_size=1, max_size=4))
def test_all_engines_agree(schema, values):
    """The compiled form, the judge and jsonschema-rs come to one verdict."""
    normal = _normal(schema)
    if normal is None:
        return
    validator = Validator(normal)
    peer = jsonschema_rs.Draft202012Validator(schema, validate_formats=False)
    for value in values:
        before = copy.deepcopy(value)
        verdict = validator.is_valid(value)
        assert value == before
        assert verdict == peer.is_valid(value)
        assert verdict == Judge(normal.schema).fresh().accepts(normal.schema, value)
        if not verdict:
            assert validator.check(value)


@SETTINGS
@given(documents(), st.lists(VALUES, min_size=1, max_size=4))
def test_the_closing_rule_only_refuses_more(schema, values):
    """What arguments accept, the schema as authored accepts."""
    closed, exact = _normal(schema, arguments=True), _normal(schema)
    if closed is None or exact is None:
        return
    for value in values:
        if Validator(closed).is_valid(value):
            assert Validator(exact).is_valid(value)


@SETTINGS
@given(documents(), st.dictionaries(KEYS, VALUES, max_size=4))
def test_repairs_never_change_a_valid_value(schema, value):
    """A valid value is admitted as it is, whole floats for integers apart."""
    normal = _normal(schema, arguments=True)
    if normal is None or not Validator(normal).is_valid(value):
        return
    tool = Tool(id="a.b", title="", description=Description("d"), input_schema=schema)
    call = Call(id="1", wire_name="a_b", arguments=canonical.dumps(value))
    admitted = admission.admit(call, tool, validators=Validators())
    assert isinstance(admitted, AdmittedCall)
    assert {repair.rule for repair in admitted.repairs} <= {"R5"}
    assert admitted.arguments == value


@SETTINGS
@given(documents(), VALUES)
def test_what_is_admitted_is_valid(schema, value):
    """Whatever was sent and mended, what is admitted fits the schema."""
    tool = Tool(id="a.b", title="", description=Description("d"), input_schema=schema)
    if isinstance(schema, bool):
        return
    for arguments in (canonical.dumps(value), canonical.dumps(canonical.dumps(value))):
        call = Call(id="1", wire_name="a_b", arguments=arguments)
        admitted = admission.admit(call, tool, validators=Validators())
        if isinstance(admitted, AdmittedCall):
            validator = Validators().get(schema, arguments=True)
            assert validator.check(admitted.arguments) == ()
            again = Call(id="2", wire_name="a_b", arguments=admitted.text)
            twice = admission.admit(again, tool, validators=Validators())
            assert isinstance(twice, AdmittedCall)
            assert (twice.text, twice.repairs) == (admitted.text, ())
        else:
            assert "Nothing ran." in admitted.text


@settings(max_examples=300, deadline=None)
@given(st.text('{}[]",:1a\\ \n', max_size=30))
def test_any_text_ends_in_a_call_or_a_refusal(text):
    """No argument text makes an exception."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = Tool(id="a.b", title="", description=Description("d"), input_schema=schema)
    call = Call(id="1", wire_name="a_b", arguments=text)
    admitted = admission.admit(call, tool, validators=Validators())
    if isinstance(admitted, AdmittedCall):
        assert admitted.arguments.keys() <= {"a"}
    else:
        assert admitted.code.startswith("arguments.")


@pytest.mark.parametrize("draft", ["4", "6", "7", "2019-09", "2020-12"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=VALUES)
def test_any_value_as_a_schema_is_taken_or_refused(draft, value):
    """Nothing but SchemaError comes out of a wrong schema."""
    for schema in (value, {"properties": {"a": value}}, {"allOf": [value]}, {"$ref": value}):
        try:
            normalize(schema, draft=draft)
        except SchemaError:
            continue
