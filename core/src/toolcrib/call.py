"""One call on its way: ``Call → AdmittedCall → AuthorizedCall``.

A type's name says how far the call got. Each is made by one stage only: *execute*
accepts nothing but an :class:`AuthorizedCall`, and checks its digests again.
"""

from __future__ import annotations

import json

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from . import canonical
from .errors import StageError
from .outcome import Refusal
from .signature import Signature
from .tool import Tool


__all__ = ["AdmittedCall", "AuthorizedCall", "Call", "Repair", "Sent"]


@attrs.frozen
class Repair:
    """A change with one reading that was made to what a model sent.

    Attributes:
        rule: Its name, such as R3; see :mod:`toolcrib.repair`.
        pointer: JSON pointer into the arguments of what was changed.
        text: What was changed, in words.
    """

    rule: str
    pointer: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule} {self.pointer or '/'}: {self.text}"


@attrs.frozen(kw_only=True)
class Sent:
    """A call as the provider knows it, where it had to be read before it is one of ours.

    Several calls that the provider sent as one have the same.

    Attributes:
        name: The name that was sent.
        provider_id: The id that was sent, or None.
        position: Place in the response, from 0.
        repairs: How it was read.
    """

    name: str
    provider_id: str | None
    position: int
    repairs: tuple[Repair, ...]


@attrs.frozen(kw_only=True)
class Call:
    """A call as a model made it; nothing of it has been checked.

    Attributes:
        id: Durable id, unique in the ledger.
        wire_name: The name that the model used.
        tool_id: The tool that the view's inverse finds for it, or None.
        provider_id: The provider's id of the call, as sent, or None.
        arguments: JSON text, or an object where the provider parses it.
        position: Place in the response, from 0.
        response_digest: Digest of the whole response; with ``position`` the key
            under which the call is recorded.
        problem: What was wrong with the call before its arguments were looked at.
        sent: What the provider sent, where that is not a call of this name and id.
    """

    id: str
    wire_name: str
    tool_id: str | None = None
    provider_id: str | None = None
    arguments: str | Mapping[str, Any] | None = attrs.field(
        default=None, hash=False, repr=False
    )
    position: int = 0
    response_digest: str = ""
    problem: Refusal | None = None
    sent: Sent | None = None

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """How it was read from what the provider sent."""
        return () if self.sent is None else self.sent.repairs


_ADMIT = object()
_decode = json.JSONDecoder().raw_decode
_AUTHORIZE = object()


@attrs.frozen(kw_only=True, eq=False)
class AdmittedCall:
    """A call whose arguments are valid for the tool's own schema, frozen and digested.

    Attributes:
        call: What it was made from.
        tool: The tool, as declared when the call was admitted.
        text: Canonical JSON text of the arguments, defaults filled in.
        digest: Digest of ``text``.
        repairs: What was changed to read it, losslessly unless policy asked for more.
    """

    call: Call
    tool: Tool
    text: str = attrs.field(repr=False)
    digest: str
    repairs: tuple[Repair, ...] = ()
    _parsed: list[dict[str, Any]] = attrs.field(factory=list, repr=False)
    _made_by: object = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        if self._made_by is not _ADMIT:
            text = "an AdmittedCall is made by admission.admit only"
            raise StageError(text)

    @property
    def arguments(self) -> dict[str, Any]:
        """A fresh copy of the arguments."""
        value: dict[str, Any] = canonical.loads(self.text)
        return value

    def take(self) -> dict[str, Any]:
        """Return the arguments for a handler, which may change them: nobody else has them.

        The first time they may be what admission made ``text`` of, and need no parsing.
        """
        if self._parsed:
            return self._parsed.pop()
        # Canonical text has no white space around it and no key twice, so the plain
        # decoder reads it exactly, at a third of the strict one's cost.
        value: dict[str, Any] = _decode(self.text)[0]
        return value


@attrs.frozen(kw_only=True, eq=False)
class AuthorizedCall:
    """A call that may run, with what it was decided on.

    Attributes:
        admitted: The call and its arguments.
        signature: What it touches.
        decided_by: Who or what let it run, in order, such as ``rule user:3`` or
            ``grant 01J…`` or ``mode ask``.
        grant_id: The grant that was used up, if one was.
        idempotency_key: Stable key of the call, the same in every attempt.
        arguments_digest, definition_digest: What was authorised; *execute* compares.
    """

    admitted: AdmittedCall
    signature: Signature
    decided_by: tuple[str, ...]
    grant_id: str | None = None
    idempotency_key: str = ""
    arguments_digest: str
    definition_digest: str
    _made_by: object = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        if self._made_by is not _AUTHORIZE:
            text = "an AuthorizedCall is made by permission.authorize only"
            raise StageError(text)

    @property
    def tool(self) -> Tool:
        """The tool that will run."""
        return self.admitted.tool

    @property
    def call(self) -> Call:
        """The call as the model made it."""
        return self.admitted.call


# For admission only. No function around it: it is on the way of every call.
_admitted: Callable[..., AdmittedCall] = partial(AdmittedCall, made_by=_ADMIT)


def _authorized(
    admitted: AdmittedCall,
    *,
    signature: Signature,
    decided_by: tuple[str, ...],
    idempotency_key: str,
    grant_id: str | None = None,
) -> AuthorizedCall:
    """Make an authorized call; for :mod:`toolcrib.permission`."""
    return AuthorizedCall(
        admitted=admitted,
        signature=signature,
        decided_by=decided_by,
        grant_id=grant_id,
        idempotency_key=idempotency_key,
        arguments_digest=admitted.digest,
        definition_digest=admitted.tool.definition_digest,
        made_by=_AUTHORIZE,
    )
