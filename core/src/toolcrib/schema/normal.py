"""What normalising gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import attrs

from toolcrib import canonical


__all__ = ["Change", "Engine", "JsonSchema", "NormalSchema"]

# One level takes up to ten frames of Python's stack where alternatives are judged.
DEEPEST_VALUE = 64

# A JSON Schema is an object, or true or false.
JsonSchema = Mapping[str, Any] | bool
Engine = Literal["fastjsonschema", "toolcrib", "jsonschema-rs"]


@attrs.frozen
class Change:
    """One thing in which a normal form differs from the schema as authored.

    Attributes:
        keyword: The keyword it is about.
        pointer: Where, as a JSON pointer into the authored schema.
        text: What was done, in the past tense.
    """

    keyword: str
    pointer: str
    text: str


# Slots are off because the digest is computed once, on demand.
@attrs.frozen(kw_only=True, eq=False, slots=False)
class NormalSchema:
    """A JSON Schema rebuilt from a closed list of keywords.

    Attributes:
        schema: JSON Schema 2020-12. References point to ``#/$defs/…`` only, there are no
            identifiers, and unknown keywords are gone. For a schema that only
            ``jsonschema-rs`` can take as a whole, a plain copy with its own ``$schema``.
        losses: What was left out because no validator would look at it.
        repairs: Dialect slips that were read in the only way they can be read.
        closed: Pointers of the objects that the closing rule closed.
        engine: What decides: ``fastjsonschema``; ``toolcrib``'s own judge where that
            could take exponential time or be inexact; ``jsonschema-rs`` for the rest.
        draft: The draft in which ``schema`` is written.
        verbatim: Whether ``schema`` is such a plain copy.
        deepest: How deep a value may be nested to be judged in bounded time.
    """

    schema: dict[str, Any] = attrs.field(repr=False)
    losses: tuple[Change, ...] = ()
    repairs: tuple[Change, ...] = ()
    closed: tuple[str, ...] = ()
    engine: Engine = "fastjsonschema"
    draft: str = "2020-12"
    verbatim: bool = False
    deepest: int = DEEPEST_VALUE

    @cached_property
    def digest(self) -> str:
        """Digest of the normal form."""
        return canonical.digest(self.schema)
