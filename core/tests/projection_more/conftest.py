"""Dialects of the tests' own: a profile is enough to say what a form accepts."""

from __future__ import annotations

import attrs
import pytest

from toolcrib.projection import Dialect, ParsedReply, Profile, Projection, project
from toolcrib.tool import Description, Tool


SENT = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength"}
    | {"maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "default"}
    | {"minProperties", "maxProperties", "dependentRequired", "additionalProperties"}
)


def _declare(declared):
    return {"name": declared.name, "text": declared.description, "schema": declared.schema}


def own(*profiles, strict=None, **facts):
    """Return a dialect with forms of its own."""
    return Dialect(
        name="own",
        profiles=profiles,
        strict=strict,
        declare=_declare,
        parse=lambda reply: ParsedReply(),
        results=lambda pairs: [],
        **facts,
    )


def tool(schema, **fields):
    """Return a tool with a schema."""
    fields.setdefault("description", Description("Do it."))
    return Tool(id="demo.tool", title="Demo", input_schema=schema, **fields)


def profile(**facts):
    """Return a form that is rebuilt and keeps every constraint."""
    facts.setdefault("keeps", SENT)
    facts.setdefault("narrow", True)
    return Profile(name="own", **facts)


@attrs.frozen
class Shown:
    """One tool as one form says it."""

    entry: Projection

    @property
    def schema(self):
        return self.entry.declaration["schema"]

    @property
    def text(self):
        return self.entry.declaration["text"]

    @property
    def v(self):
        return self.schema["properties"]["v"]

    @property
    def losses(self):
        return [(each.pointer, each.keyword, each.kind) for each in self.entry.losses]

    @property
    def reasons(self):
        return [each.text for each in self.entry.losses]

    def undo(self, arguments):
        return self.entry.inverse(arguments) if self.entry.inverse else arguments

    def do(self, arguments):
        return self.entry.inverse.encode(arguments) if self.entry.inverse else arguments


def _project(schema, facts):
    facts.setdefault("strict", False)
    return project((tool(schema),), own(profile(**facts)))


@pytest.fixture
def show():
    """Show a schema in a form; it must not be refused."""

    def show(schema, **facts):
        projected = _project(schema, facts)
        assert projected.refusals == ()
        return Shown(projected.entries[0])

    return show


@pytest.fixture
def show_v(show):
    """Show an object with one required property ``v``."""

    def show_v(sub, *, defs=None, **facts):
        return show(_object(sub, defs), **facts)

    return show_v


@pytest.fixture
def refuse():
    """Return the refusal of a schema that a form cannot say."""

    def refuse(schema, **facts):
        projected = _project(schema, facts)
        assert projected.entries == ()
        assert projected.refusals[0].code == "schema.unsupported"
        return projected.refusals[0].text

    return refuse


@pytest.fixture
def refuse_v(refuse):
    """Return the refusal of an object with one required property ``v``."""

    def refuse_v(sub, *, defs=None, **facts):
        return refuse(_object(sub, defs), **facts)

    return refuse_v


def _object(sub, defs):
    schema = {"type": "object", "properties": {"v": sub}, "required": ["v"]}
    return {**schema, "$defs": defs} if defs else schema
