"""What one request showed a model, frozen, and the way back from the model's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from toolcrib import canonical
from toolcrib.call import Call


if TYPE_CHECKING:
    from toolcrib.outcome import Outcome, Refusal
    from toolcrib.projection import Dialect, Loss, Projected, Projection
    from toolcrib.tool import Tool


__all__ = ["Calls", "View"]


class Answered(Protocol):
    """Calls and how they ended: a batch, blocking or not."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in the model's order."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """One outcome for each call, in the same order."""


@attrs.frozen(kw_only=True, eq=False, slots=False)
class View:
    """A projection frozen for one request.

    Attributes:
        conversation: The conversation that it was made for.
        strict: Whether tools that leave it open were declared strict.
        direct: Whether an app calls its one tool by name, in the tool's own schema: then
            nothing is projected unless somebody looks.
        tools: The tools that it shows, by id.
        hidden: Tools whose schemas are hidden until they are searched for, by id.
        listing: Text for the system prompt that names the hidden tools, or empty.
    """

    conversation: str
    strict: bool = False
    direct: bool = False
    tools: Mapping[str, Tool] = attrs.field(repr=False)
    hidden: Mapping[str, Tool] = attrs.field(factory=dict, repr=False)
    listing: str = attrs.field(default="", repr=False)
    _speak: Callable[[], Dialect] = attrs.field(repr=False)
    _project: Callable[[Dialect], Projected] = attrs.field(repr=False)

    @cached_property
    def dialect(self) -> Dialect:
        """The provider's dialect."""
        return self._speak()

    @cached_property
    def projected(self) -> Projected:
        """What the model is shown, and how it is undone."""
        return self._project(self.dialect)

    @property
    def declarations(self) -> tuple[Mapping[str, Any], ...]:
        """What goes into the request, in the provider's form."""
        return self.projected.declarations

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Tools that could not be shown in this dialect."""
        return self.projected.refusals

    @property
    def losses(self) -> tuple[tuple[str, Loss], ...]:
        """Every constraint that the model is not told, with the tool that has it."""
        return tuple((e.tool_id, loss) for e in self.projected.entries for loss in e.losses)

    @property
    def digest(self) -> str:
        """Digest of everything that the model was shown."""
        return self.projected.digest

    def projection(self, wire_name: str) -> Projection | None:
        """Return how a wire name was projected, or None."""
        return self.projected.by_wire_name.get(wire_name)

    def wire_name(self, tool_id: str) -> str | None:
        """Return the name under which the provider knows a tool, or None."""
        name = self.dialect.wire_name(tool_id)
        projection = self.projection(name)
        return name if projection is not None and projection.tool_id == tool_id else None

    def calls(self, reply: Any) -> Calls:
        """Read the calls out of a model's reply.

        Args:
            reply: A whole provider response or one message of it, as a value, as JSON
                text, or as the official SDK's object.

        Returns:
            One :class:`toolcrib.Call` for each call, in order, malformed ones included.
            A name in a known wrapper is read as the name in it, and what
            ``multi_tool_use.parallel`` holds as calls; ``call.sent`` says so.

        Raises:
            ValueError: it is no reply in this form; it says what it looks like.
        """
        parsed = self.dialect.parse(reply)
        calls: list[Call] = []
        for wire in parsed.calls:
            projection = self.projection(wire.name)
            key = f"{self.conversation}\n{parsed.digest}\n{wire.position}"
            call = Call(
                id="call_" + canonical.digest_bytes(key.encode())[7:31],
                wire_name=wire.name,
                tool_id=projection.tool_id if projection else None,
                provider_id=wire.provider_id,
                arguments=wire.arguments,
                position=wire.position,
                response_digest=parsed.digest,
                problem=wire.problem,
            )
            if projection is None:
                from .decorated import read  # noqa: PLC0415 - names are known as a rule

                calls += read(self, call, sent=len(parsed.calls), before=len(calls))
            else:
                calls.append(call)
        return Calls(view=self, calls=tuple(calls), response_digest=parsed.digest)

    def results(self, batch: Answered) -> list[dict[str, Any]]:
        """Return one result for each call that was sent, in order, in the provider's form."""
        pairs = tuple(zip(batch.calls, batch.outcomes, strict=True))
        if any(call.sent is not None for call in batch.calls):
            from .decorated import gathered  # noqa: PLC0415 - as above

            pairs = gathered(pairs)
        return self.dialect.results(pairs)


@attrs.frozen(kw_only=True)
class Calls(Sequence[Call]):
    """The calls of one reply, and the view that they answer."""

    view: View
    calls: tuple[Call, ...]
    response_digest: str

    def __getitem__(self, index: Any) -> Any:
        return self.calls[index]

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)
