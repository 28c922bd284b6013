"""The static description of a tool: everything that is known without running code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import attrs

from . import canonical
from .vocabulary import (
    Audience,
    Cancellation,
    Concurrency,
    Effect,
    Idempotence,
    Kind,
    Label,
    kind_of,
)


__all__ = ["Description", "Example", "Provenance", "Requirements", "Tool"]


@attrs.frozen
class Example:
    """Arguments that are valid for the tool, and what they are for."""

    description: str
    arguments: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen
class Description:
    """What a reader of the tool is told, in the order in which it is projected."""

    summary: str
    details: str = ""
    usage: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    cautions: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    examples: tuple[Example, ...] = attrs.field(default=(), converter=tuple)

    def text(self) -> str:
        """Return the projected text; parts are separated by a blank line.

        Examples come as one compact JSON line each.
        """
        parts = [self.summary, self.details]
        parts.append("\n".join(f"- {line}" for line in self.usage))
        parts.append("\n".join(f"Caution: {line}" for line in self.cautions))
        parts.append(
            "\n".join(
                f"Example: {e.description}: {canonical.dumps(dict(e.arguments))}"
                for e in self.examples
            )
        )
        return "\n\n".join(part for part in parts if part)


@attrs.frozen
class Requirements:
    """What must be there for a tool to be offered; judged by the core without import.

    Attributes:
        executables: Names of programs on ``PATH``.
        capabilities: Names of host interfaces, such as ``jobs`` or ``agents``.
        flags: Names of flags that policy must set.
    """

    executables: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    flags: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)


@attrs.frozen
class Provenance:
    """Where a pack comes from.

    Attributes:
        distribution: Normalised name (PEP 503), or None for a local pack.
        version: The distribution's version.
        entry_point: ``module:attribute`` as declared.
        location: The folder that ``import`` would load from.
        how: ``wheel`` (checked against RECORD), ``editable``, ``local`` (passed in
            Python) or ``core``.
        manifest_digest: Digest of the manifest's bytes, or None without one.
    """

    distribution: str | None
    version: str | None
    entry_point: str | None
    location: str | None
    how: Literal["wheel", "editable", "local", "core"]
    manifest_digest: str | None = None

    def __str__(self) -> str:
        if self.distribution is None:
            return self.how
        return f"{self.distribution} {self.version} [{self.entry_point}]"


# eq=False: identity is the id and the digest; comparing two schemas deeply is never
# what a caller wants. Slots are off because the digests are computed once, on demand.
@attrs.frozen(kw_only=True, eq=False, slots=False)
class Tool:
    """Everything declared about one tool.

    Attributes:
        id: ``pack.name``, or ``pack.source.name`` for tools of a live source.
        title: Name for people.
        version: Free text of the author.
        category, tags: Index keys.
        description: What a reader is told.
        input_schema: JSON Schema of the arguments object, as authored.
        output_schema: JSON Schema of the structured output, or None.
        effects: Upper bound of what a call may do.
        audience: To whom it is described.
        serves: Goal ids it serves.
        idempotent: Whether a call may be replayed.
        concurrency: Beside which calls it may run.
        cancellation: What cancelling does.
        strict: Provider structured output; None leaves it to policy.
        deferred: Whether its schema hides until searched; None leaves it to policy.
        labels: What flows through it.
        requires: What must be there for it to be offered.
        timeout: Seconds; None leaves it to policy.
        result_budget: Characters of content shown to the model; None: policy.
        delegate: Workflow delegate id that it answers, or None.
        intent: Whether it is advertised as a selectable intent.
        companions: Names of the companion functions that its pack has for it.
        directives: Names of the directives that it may emit.
    """

    id: str
    title: str
    description: Description
    input_schema: Mapping[str, Any] = attrs.field(repr=False)
    output_schema: Mapping[str, Any] | bool | None = attrs.field(default=None, repr=False)
    version: str = "1"
    category: str | None = None
    tags: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    effects: frozenset[Effect] = frozenset(Effect)
    audience: frozenset[Audience] = frozenset({Audience.MODEL})
    serves: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    idempotent: Idempotence = Idempotence.NO
    concurrency: Concurrency = Concurrency.EXCLUSIVE
    cancellation: Cancellation = Cancellation.COOPERATIVE
    strict: bool | None = None
    deferred: bool | None = None
    labels: frozenset[Label] = frozenset(Label)
    requires: Requirements = attrs.field(factory=Requirements)
    timeout: float | None = None
    result_budget: int | None = None
    delegate: str | None = None
    intent: bool = False
    companions: frozenset[str] = frozenset()
    directives: frozenset[str] = frozenset()

    @property
    def kind(self) -> Kind:
        """The label derived from the declared effects."""
        return kind_of(self.effects)

    @cached_property
    def pack(self) -> str:
        """The id of the pack that the tool belongs to."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The last part of the id; a live tool's remote name verbatim."""
        return self.id.split(".", 2)[-1] if self.source else self.id.partition(".")[2]

    @property
    def source(self) -> str | None:
        """The live source of the tool, or None for a tool that its pack declares."""
        parts = self.id.split(".", 2)
        return parts[1] if len(parts) == 3 else None

    def declaration(self) -> dict[str, Any]:
        """Return everything declared as a JSON-safe value, in a stable form."""
        return {
            "id": self.id,
            "title": self.title,
            "version": self.version,
            "category": self.category,
            "tags": list(self.tags),
            "description": {
                "summary": self.description.summary,
                "details": self.description.details,
                "usage": list(self.description.usage),
                "cautions": list(self.description.cautions),
                "examples": [
                    {"description": e.description, "arguments": dict(e.arguments)}
                    for e in self.description.examples
                ],
            },
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "effects": sorted(self.effects),
            "audience": sorted(self.audience),
            "serves": list(self.serves),
            "idempotent": self.idempotent,
            "concurrency": self.concurrency,
            "cancellation": self.cancellation,
            "strict": self.strict,
            "deferred": self.deferred,
            "labels": sorted(self.labels),
            "requires": {
                "executables": sorted(self.requires.executables),
                "capabilities": sorted(self.requires.capabilities),
                "flags": sorted(self.requires.flags),
            },
            "timeout": self.timeout,
            "result_budget": self.result_budget,
            "delegate": self.delegate,
            "intent": self.intent,
            "companions": sorted(self.companions),
            "directives": sorted(self.directives),
        }

    @cached_property
    def definition_digest(self) -> str:
        """Digest of everything declared; binds grants and the lock."""
        return canonical.digest(self.declaration())

    def interface(self) -> dict[str, Any]:
        """Return what activation compares: not prose, not generated schema text."""
        properties = self.input_schema.get("properties")
        required = self.input_schema.get("required")
        return {
            "id": self.id,
            "parameters": sorted(properties) if isinstance(properties, Mapping) else [],
            # What is no name is the schema's fault, and told when it is compiled.
            "required": sorted(map(str, required))
            if isinstance(required, list | tuple)
            else [],
            "effects": sorted(self.effects),
            "idempotent": self.idempotent,
            "companions": sorted(self.companions),
        }
