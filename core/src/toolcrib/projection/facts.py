"""What one form of a provider's schema accepts, as a table of facts.

The engine knows nothing about providers: a :class:`Profile` says what may be sent, and
everything that differs between providers is in a table beside its dialect.
"""

from __future__ import annotations

import re

from collections.abc import Mapping
from typing import Any, Literal

import attrs


__all__ = ["ANNOTATIONS", "FOLD_ORDER", "STRUCTURE", "Profile", "RequestLimits", "SchemaLimits"]

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)

# Constraints that a description can carry, in the order in which it does.
FOLD_ORDER = (
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "not",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "const",
    "enum",
    "default",
    "examples",
)


Fate = Literal["send", "look", "quiet", "fold"]

_LOOKED_AT = frozenset({"pattern", "format", "minItems"})
_QUIET = frozenset({"title", "deprecated", "readOnly", "writeOnly", "unevaluatedProperties"})
# Handled where the structure is.
STRUCTURE = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
    }
)


@attrs.frozen(kw_only=True)
class SchemaLimits:
    """How large one tool's schema may be; None is no limit.

    Attributes:
        depth: Levels of objects with properties; definitions count on their own.
        properties: Properties in all.
        enum_values: Members of all enums together.
        characters: Characters of property names, definition names and enum members.
        optional: Properties that may be left out.
        unions: Parameters with ``anyOf`` or a list of types.
    """

    depth: int | None = None
    properties: int | None = None
    enum_values: int | None = None
    characters: int | None = None
    optional: int | None = None
    unions: int | None = None
    # Those of what is counted over the whole schema, where there is one.
    counted: tuple[tuple[str, int], ...] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        names = ("properties", "enum_values", "characters", "optional", "unions")
        most = ((name, getattr(self, name)) for name in names)
        object.__setattr__(self, "counted", tuple(pair for pair in most if pair[1] is not None))


@attrs.frozen(kw_only=True)
class RequestLimits:
    """How much one request may hold; None is no limit.

    Attributes:
        tools: Declarations in all; what comes later is refused by name.
        strict_tools: Strict declarations; what comes later is sent without strict.
        optional, unions: As in :class:`SchemaLimits`, over all strict declarations.
    """

    tools: int | None = None
    strict_tools: int | None = None
    optional: int | None = None
    unions: int | None = None


@attrs.frozen(kw_only=True)
class Profile:
    """What one form of a provider's schema accepts.

    Attributes:
        name: ``lax``, ``strict``, or the name of the form.
        narrow: Whether a schema is rebuilt from this table. Otherwise every JSON Schema
            is accepted, and only what the other fields say is changed.
        strict: Whether the provider promises arguments that fit what is sent.
        closed: Whether every object is closed, so that maps and open objects must be
            said in another way.
        absent: How a property that may be left out is said: by leaving it out, or by a
            null that the inverse takes away again.
        keeps: Keywords beside the structural ones that are sent as they are.
        formats: Names of formats that are sent; None sends any.
        plain_patterns: Whether patterns with look-around or back-references are refused.
        inclusive: Whether exclusive bounds are rewritten to inclusive ones.
        most_min_items: Largest ``minItems`` that is sent; None sends any.
        refs: ``keep`` as they are; ``bare``, without siblings and to definitions only;
            or ``inline`` what is not recursive.
        recursion: Whether recursive definitions are kept, kept only where they pass
            through a property that may be left out, unrolled a few levels, or refused.
        maps: Whether open maps are sent, or rewritten to a list of key/value pairs.
        tuples: Whether ``prefixItems`` is sent, rewritten to an object, or widened to
            one schema for all items.
        untyped: Whether a schema without a type may be sent.
        mixed: Whether properties and a schema for further ones may stand together.
        type_lists: Whether ``type`` may be a list.
        nullable: Whether null is said as ``nullable: true``.
        enum_types: JSON types whose values may be in an enum.
        mixed_enums: Whether one enum may hold values of several types.
        merges: Whether ``allOf`` is merged (always where ``narrow``).
        fills_properties: Whether an object without ``properties`` gets empty ones.
        key_pattern: What property names must match; None allows any.
        key_start: What the first character of a renamed property must be.
        keys_everywhere: Whether ``key_pattern`` holds below the root as well.
        limits: How large one tool's schema may be.
    """

    name: str
    narrow: bool = False
    strict: bool = False
    closed: bool = False
    absent: Literal["omit", "null"] = "omit"
    keeps: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    plain_patterns: bool = False
    inclusive: bool = False
    most_min_items: int | None = None
    refs: Literal["keep", "bare", "inline"] = "keep"
    recursion: Literal["keep", "optional", "unroll", "refuse"] = "keep"
    maps: Literal["keep", "pairs"] = "keep"
    tuples: Literal["keep", "object", "widen"] = "keep"
    untyped: bool = True
    mixed: bool = True
    type_lists: bool = True
    nullable: bool = False
    enum_types: frozenset[str] = frozenset({"string", "integer", "number", "boolean"})
    mixed_enums: bool = True
    merges: bool = False
    fills_properties: bool = False
    key_pattern: re.Pattern[str] | None = None
    key_start: re.Pattern[str] | None = None
    keys_everywhere: bool = False
    limits: SchemaLimits = attrs.field(factory=SchemaLimits)
    # Keywords of a scalar that may be copied without a look, filled in below.
    simple: frozenset[str] = attrs.field(init=False, repr=False, eq=False)
    # What becomes of each other keyword: sent, looked at first, left out quietly, or said
    # in the description and no loss.
    fates: Mapping[str, Fate] = attrs.field(init=False, repr=False, eq=False)
    # What was worked out for scalars, by their keywords.
    plans: dict[tuple[str, ...], Any] = attrs.field(
        init=False, repr=False, eq=False, factory=dict
    )

    def __attrs_post_init__(self) -> None:
        plain = self.keeps - _LOOKED_AT
        containers = {"default", "examples", "additionalProperties", "uniqueItems"}
        object.__setattr__(self, "simple", (plain - containers) | {"type", "description"})
        fates: dict[str, Fate] = dict.fromkeys(ANNOTATIONS, "fold")
        fates |= dict.fromkeys(_QUIET, "quiet")
        fates |= dict.fromkeys(plain | {"description"}, "send")
        fates |= dict.fromkeys(self.keeps & _LOOKED_AT, "look")
        fates |= dict.fromkeys(STRUCTURE, "quiet")
        object.__setattr__(self, "fates", fates)
