"""What a person is asked, what they answer, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from .vocabulary import Scope


__all__ = ["Allow", "AllowRule", "Decision", "Deny", "Grant", "Question"]


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


@attrs.frozen(kw_only=True)
class Question:
    """One call that needs a person's decision, with all that they should see.

    Attributes:
        id: Durable id; an answer given in any process at any time refers to it.
        conversation: The conversation that it belongs to.
        batch_id, call_id: The batch and the call.
        tool_id: What would run.
        title: One line: what would happen.
        preview: The tool's own side-effect-free description or diff, in full.
        arguments: The exact arguments.
        resources: What the call touches, in words.
        reasons: Why it is asked.
        rule_offered: The rule that "always" would store, or None.
        group: Questions of one group may be shown together.
        binding: Digest over arguments, definition, preview, view and principal: an
            answer holds only while it stays the same.
        answers: Texts of the rules that an approval answers.
        created: Seconds since the epoch.
    """

    id: str
    conversation: str
    batch_id: str
    call_id: str
    tool_id: str
    title: str
    preview: str | None = None
    arguments: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)
    resources: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    rule_offered: str | None = None
    group: str = ""
    binding: str = ""
    answers: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    created: float = 0.0


@attrs.frozen(kw_only=True)
class Allow:
    """Let this call run.

    With ``scope`` ``session`` or ``project`` the same call (same tool, same arguments)
    is not asked again; ``expires`` is in seconds since the epoch, ``uses`` counts runs.
    """

    by: str
    scope: Scope = attrs.field(default=Scope.ONCE, converter=Scope)
    expires: float | None = None
    uses: int | None = None


@attrs.frozen(kw_only=True)
class AllowRule:
    """Let this call run, and others that the rule covers.

    ``rule`` must cover the call; None takes the rule that the question offered.
    """

    by: str
    rule: str | None = None
    scope: Scope = attrs.field(default=Scope.SESSION, converter=Scope)
    expires: float | None = None
    uses: int | None = None


@attrs.frozen(kw_only=True)
class Deny:
    """Do not let this call run; ``reason`` is told to the model."""

    by: str
    reason: str = ""


Decision = Allow | AllowRule | Deny


@attrs.frozen(kw_only=True)
class Grant:
    """A remembered approval.

    Exactly one of ``arguments_digest`` (this very call) and ``rule`` is set.

    Attributes:
        scope: How long it lasts.
        expires: Seconds since the epoch, or None.
        uses_left: Runs that it still covers, or None for any number.
        answered: Texts of the rules that it answered, one a line, or None.
    """

    id: str
    tool_id: str
    definition_digest: str
    arguments_digest: str | None
    rule: str | None
    approver: str
    principal: str
    conversation: str
    scope: Scope
    created: float
    expires: float | None = None
    uses_left: int | None = None
    revoked: bool = False
    answered: str | None = None
