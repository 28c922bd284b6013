"""What a dialect is: facts about a provider's schemas, and the way there and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from toolcrib import names
from toolcrib.call import Call
from toolcrib.outcome import Outcome, Refusal
from toolcrib.tool import Tool

from .facts import Profile, RequestLimits


__all__ = ["Declared", "Dialect", "ParsedReply", "WireCall"]


@attrs.frozen(kw_only=True)
class WireCall:
    """One call as a provider sent it; nothing of it has been checked.

    Attributes:
        name: The wire name that the model used.
        provider_id: The provider's id of the call, or None where it has none.
        arguments: JSON text, or an object where the provider parses it.
        position: Place among the calls of the reply, from 0.
        problem: What is wrong with the call's own form; it is answered, others run.
    """

    name: str
    provider_id: str | None = None
    arguments: str | Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    position: int = 0
    problem: Refusal | None = None


@attrs.frozen(kw_only=True)
class ParsedReply:
    """The calls of one reply.

    Attributes:
        calls: In the order of the reply, malformed ones included.
        digest: Digest of the whole reply.
    """

    calls: tuple[WireCall, ...] = ()
    digest: str = ""


# Not frozen: it lives a moment, and frozen ones take twice as long to make.
@attrs.define(kw_only=True)
class Declared:
    """One tool, ready to be put into a provider's form.

    Attributes:
        tool: The tool.
        name: Its wire name.
        description: Its text, with everything that the schema cannot carry.
        schema: The schema as this dialect says it; free to be kept.
        strict: Whether the schema is in the strict form.
        form: Name of the profile that the schema is in.
        deferred: Whether the provider should hide it until it is searched.
        examples: Arguments as a model would send them.
    """

    tool: Tool
    name: str
    description: str
    schema: dict[str, Any]
    strict: bool
    form: str
    deferred: bool = False
    examples: tuple[Mapping[str, Any], ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the tool takes no arguments at all."""
        return not self.schema.get("properties") and not self.schema.get("additionalProperties")


def _as_they_are(declarations: Sequence[tuple[Tool, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [declaration for _, declaration in declarations]


@attrs.frozen(kw_only=True, eq=False)
class Dialect:
    """How one provider is shown tools, calls them, and is answered.

    Attributes:
        name: The name that an app asks for.
        profiles: Forms of the schema without strict, best first; the first that can say
            a tool's schema is used. None passes the schema on as it was declared.
        strict: The strict form, or None where the provider has none.
        declare: Puts one tool into the provider's form.
        parse: Reads the calls of a reply: a value, JSON text or an SDK's object.
        results: Answers calls, one result for each, in order.
        limits: How much one request may hold.
        native_examples: Whether ``declare`` sends examples in a field of their own;
            otherwise they stand in the description.
        defers: Whether the provider can hide tools until they are searched.
        search: Declarations that make the provider search what is deferred.
        gather: Puts declarations together as the request wants them.
        namespaces: Puts declarations together by pack and source, or None.
        wire_name: From a tool's id to its name; only for alphabets narrower than ours.
    """

    name: str
    profiles: tuple[Profile, ...] | None = attrs.field(default=None)
    strict: Profile | None = None
    declare: Callable[[Declared], dict[str, Any]]
    parse: Callable[[Any], ParsedReply]
    results: Callable[[Sequence[tuple[Call, Outcome]]], list[dict[str, Any]]]
    limits: RequestLimits = attrs.field(factory=RequestLimits)
    native_examples: bool = False
    defers: bool = False
    search: tuple[Mapping[str, Any], ...] = ()
    gather: Callable[[Sequence[tuple[Tool, dict[str, Any]]]], list[dict[str, Any]]] = (
        _as_they_are
    )
    namespaces: (
        Callable[[Sequence[tuple[Tool, dict[str, Any]]]], list[dict[str, Any]]] | None
    ) = None
    wire_name: Callable[[str], str] = names.wire_name
