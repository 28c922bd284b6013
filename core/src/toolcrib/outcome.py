"""What a call comes to: refusals, content, results, outcomes and receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from .vocabulary import Effect, Status


__all__ = [
    "ArtifactLink",
    "Audio",
    "Block",
    "Directive",
    "File",
    "Image",
    "Json",
    "Link",
    "Outcome",
    "Receipt",
    "Refusal",
    "Result",
    "Text",
]


@attrs.frozen
class Refusal:
    """Why something was not done: a value, never raised.

    Attributes:
        status: How a call that meets it ends.
        code: Stable dotted word, one of the page of codes.
        subject: What was refused: a distribution, pack, tool or call.
        text: A sentence that says what is wrong, where, and what to do next.
        retryable: Whether the same call may succeed later.
        details: JSON-safe facts for programs.
    """

    status: Status
    code: str
    subject: str
    text: str
    retryable: bool = False
    details: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class Text:
    """Text for the model."""

    text: str
    type: Literal["text"] = "text"


@attrs.frozen
class Json:
    """A JSON value for the model."""

    value: Any = attrs.field(hash=False)
    type: Literal["json"] = "json"


@attrs.frozen
class Image:
    """An image, base64 text of its bytes."""

    data: str = attrs.field(repr=False)
    media_type: str
    type: Literal["image"] = "image"


@attrs.frozen
class Audio:
    """Sound, base64 text of its bytes."""

    data: str = attrs.field(repr=False)
    media_type: str
    type: Literal["audio"] = "audio"


@attrs.frozen
class File:
    """Any other bytes, as base64 text, with a name."""

    data: str = attrs.field(repr=False)
    media_type: str
    name: str
    type: Literal["file"] = "file"


@attrs.frozen
class Link:
    """Something that can be fetched elsewhere."""

    uri: str
    title: str | None = None
    media_type: str | None = None
    type: Literal["link"] = "link"


@attrs.frozen
class ArtifactLink:
    """Content kept in the artifact store, to be paged with ``crib.read``."""

    digest: str
    size: int
    media_type: str
    title: str | None = None
    type: Literal["artifact"] = "artifact"


Block = Text | Json | Image | Audio | File | Link | ArtifactLink


@attrs.frozen
class Directive:
    """Something a tool asks of the host; enforced only from packs that policy names.

    ``name`` is one of ``stop_turn use_mode use_model restrict switch_workspace``.
    """

    name: Literal["stop_turn", "use_mode", "use_model", "restrict", "switch_workspace"]
    value: Any = attrs.field(default=None, hash=False)


if TYPE_CHECKING:
    # Type checkers cannot see through ``converter=tuple``.
    def _blocks(values: Iterable[Block]) -> tuple[Block, ...]: ...
    def _words(values: Iterable[str]) -> tuple[str, ...]: ...
    def _directives(values: Iterable[Directive]) -> tuple[Directive, ...]: ...
else:
    _blocks = _words = _directives = tuple


@attrs.frozen
class Result:
    """What a handler returns when plain text or a value does not say enough.

    Attributes:
        summary: One line for people.
        content: Blocks for the model, in order.
        structured: JSON value, checked against the tool's output schema.
        metadata: JSON-safe facts for programs; the model does not see them.
        notes: Short words on how far to trust the result, such as ``degraded``.
        directives: What the tool asks of the host.
    """

    summary: str = ""
    content: tuple[Block, ...] = attrs.field(default=(), converter=_blocks)
    structured: Any = attrs.field(default=None, hash=False)
    metadata: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    notes: tuple[str, ...] = attrs.field(default=(), converter=_words)
    directives: tuple[Directive, ...] = attrs.field(default=(), converter=_directives)


@attrs.frozen(kw_only=True)
class Outcome:
    """How one call ended: exactly one for each call, whatever happens.

    Attributes:
        call_id: The call's durable id.
        tool_id: The tool's id, or the name that was called if there is no such tool.
        status: One of the closed set of statuses.
        code: Stable dotted word for every status but ``ok``.
        text: For every status but ``ok``: what is wrong and what to do next.
        result: What the tool gave; for a failure perhaps a part of it.
        retryable: Whether the same call may succeed later.
        attempts: How often the handler was started.
        started, ended: Seconds since the epoch; None if the handler never started.
        details: JSON-safe facts for programs.
        replayed: Whether this outcome was recorded earlier and nothing ran now.
    """

    call_id: str
    tool_id: str
    status: Status
    code: str | None = None
    text: str = ""
    result: Result = attrs.field(factory=Result)
    retryable: bool = False
    attempts: int = 0
    started: float | None = None
    ended: float | None = None
    details: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    replayed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the call did what it was asked."""
        return self.status is Status.OK

    @classmethod
    def from_refusal(cls, refusal: Refusal, *, call_id: str, tool_id: str) -> Outcome:
        """Make the outcome of a call that a refusal stopped before it ran."""
        return cls(
            call_id=call_id,
            tool_id=tool_id,
            status=refusal.status,
            code=refusal.code,
            text=refusal.text,
            retryable=refusal.retryable,
            details=refusal.details,
        )


@attrs.frozen(kw_only=True)
class Receipt:
    """The lasting record of one call, JSON-safe, chained by digest.

    Attributes:
        number: Position in the conversation's chain, from 1.
        previous, digest: SHA-256 links of the chain.
        effects, resources: What it touched, or would have if it had not been stopped.
        repairs: What of the model's words was mended to read it, each with its rule.
        decided_by: Who or what let the call run or stopped it, in order.
        started: When the handler started, in seconds since the epoch; None if it did not.
        ended: When the call ended or was stopped.
    """

    number: int
    conversation: str
    call_id: str
    provider_call_id: str | None
    tool_id: str
    pack: str
    distribution: str | None
    version: str | None
    arguments_digest: str | None
    definition_digest: str | None
    effects: frozenset[Effect]
    resources: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    status: Status
    code: str | None
    decided_by: tuple[str, ...]
    attempts: int
    started: float | None
    ended: float | None
    notes: tuple[str, ...]
    principal: str
    previous: str
    digest: str
