"""One call of a batch, and how far it got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs


if TYPE_CHECKING:
    from toolcrib.call import AdmittedCall, AuthorizedCall, Call
    from toolcrib.execution import CancelToken
    from toolcrib.outcome import Outcome
    from toolcrib.question import Decision, Question
    from toolcrib.signature import Signature


__all__ = ["Item"]


@attrs.define(eq=False)
class Item:
    """One call of a batch and how far it got.

    Attributes:
        admitted, signature: Set once its arguments are valid.
        authorized: Set once it may run.
        question: Set while a person must decide.
        outcome: Set once it ended; after that it may only be shortened, to fit a reply.
        asked: The question, kept after it was answered.
        decision: The answer.
        decided_by: Who or what refused it.
        stage_id: An opaque word of the app's, for the tool's ``resolve``.
        resolved: What the tool's ``resolve`` gave.
        known: Whether the ledger knows something of its id, key or provider's id.
        again: Whether it takes over a call whose process died while it ran.
        place: The workspace that it was judged in.
        pack: The pack whose code it runs, activated.
        token: Cancels it, if it was begun with its judgement.
    """

    call: Call
    batch_id: str = attrs.field(default="", kw_only=True)
    stage_id: str = attrs.field(default="", kw_only=True)
    admitted: AdmittedCall | None = None
    signature: Signature | None = None
    authorized: AuthorizedCall | None = None
    question: Question | None = None
    outcome: Outcome | None = None
    asked: Question | None = None
    decision: Decision | None = None
    decided_by: tuple[str, ...] = ()
    resolved: Any = None
    again: bool = False
    known: bool = False
    place: Any = None
    pack: Any = attrs.field(default=None, repr=False)
    token: CancelToken | None = attrs.field(default=None, repr=False)

    @property
    def tool_id(self) -> str:
        """The tool's id, or the name that was called if there is no such tool."""
        return self.call.tool_id or self.call.wire_name
