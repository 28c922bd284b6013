"""What the ledger notes of a call, as JSON: what was asked, decided and came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import attrs

from toolcrib.call import AdmittedCall, AuthorizedCall, Call
from toolcrib.outcome import Outcome, Receipt
from toolcrib.signature import Signature
from toolcrib.tool import Provenance
from toolcrib.vocabulary import Effect, Status

from .chain import Entry
from .damage import readable


__all__ = ["Replay", "ending", "facts_of", "receipt_of", "refused_facts"]

JsonObject = dict[str, Any]


@attrs.frozen(kw_only=True)
class Replay:
    """A call that the ledger knows already; nothing may run for it.

    Attributes:
        call_id: Durable id under which it was recorded.
        state: ``finished``; ``running``: begun by a process that is still there;
            ``unknown``: begun by one that is gone.
        outcome: The recorded outcome; ``uncertain`` for ``unknown``; None for
            ``running``.
    """

    call_id: str
    state: Literal["finished", "running", "unknown"]
    outcome: Outcome | None


def facts_of(
    authorized: AuthorizedCall,
    *,
    principal: str,
    provenance: Provenance | None,
    batch_id: str,
) -> JsonObject:
    """Return what is noted of a call that is about to run."""
    admitted = authorized.admitted
    call = admitted.call
    tool = admitted.tool
    facts: JsonObject = {
        "arguments_digest": authorized.arguments_digest,
        "batch_id": batch_id,
        "call_id": call.id,
        "decided_by": authorized.decided_by,
        "definition_digest": authorized.definition_digest,
        "distribution": provenance.distribution if provenance else None,
        "effects": sorted(authorized.signature.effects),
        "grant_id": authorized.grant_id,
        "idempotency_key": authorized.idempotency_key,
        "pack": tool.pack,
        "principal": principal,
        "provider_call_id": call.provider_id,
        "resources": [str(r) for r in authorized.signature.resources],
        "tool_id": tool.id,
        "version": provenance.version if provenance else None,
    }
    if admitted.repairs:
        facts["repairs"] = [str(repair) for repair in admitted.repairs]
    return facts


def refused_facts(
    call: Call,
    tool_id: str,
    *,
    admitted: AdmittedCall | None,
    signature: Signature | None,
    principal: str,
    provenance: Provenance | None,
    decided_by: Iterable[str],
    batch_id: str,
) -> JsonObject:
    """Return what is noted of a call that was stopped before it ran; it touched nothing."""
    tool = admitted.tool if admitted else None
    repairs = admitted.repairs if admitted else call.repairs
    return {
        "arguments_digest": admitted.digest if admitted else None,
        "batch_id": batch_id,
        "call_id": call.id,
        "decided_by": list(decided_by),
        "definition_digest": tool.definition_digest if tool else None,
        "distribution": provenance.distribution if provenance else None,
        "effects": sorted(signature.effects) if signature else [],
        "grant_id": None,
        "idempotency_key": "",
        "pack": tool_id.partition(".")[0] if call.tool_id else "",
        "principal": principal,
        "provider_call_id": call.provider_id,
        "repairs": [str(repair) for repair in repairs],
        "resources": [str(r) for r in signature.resources] if signature else [],
        "tool_id": tool_id,
        "version": provenance.version if provenance else None,
    }


def ending(outcome: Outcome, content: str, diagnostics: Mapping[str, Any] | None) -> JsonObject:
    """Return what the chain notes of an outcome; ``content`` is the digest of the whole."""
    form: JsonObject = {
        "attempts": outcome.attempts,
        "code": outcome.code,
        "content": content,
        "ended": outcome.ended,
        "notes": outcome.result.notes,
        "started": outcome.started,
        "status": outcome.status,
    }
    if diagnostics:
        form["diagnostics"] = dict(diagnostics)
    return form


@readable
def receipt_of(entry: Entry) -> Receipt:
    """Return the receipt that an ``outcome`` or ``refusal`` entry holds."""
    body = entry.body
    call, end = body["call"], body["outcome"]
    return Receipt(
        number=entry.number,
        conversation=entry.conversation,
        call_id=call["call_id"],
        provider_call_id=call["provider_call_id"],
        tool_id=call["tool_id"],
        pack=call["pack"],
        distribution=call["distribution"],
        version=call["version"],
        arguments_digest=call["arguments_digest"],
        definition_digest=call["definition_digest"],
        effects=frozenset(Effect(e) for e in call["effects"]),
        resources=tuple(call["resources"]),
        repairs=tuple(call.get("repairs", ())),
        status=Status(end["status"]),
        code=end["code"],
        decided_by=tuple(call["decided_by"]),
        attempts=end["attempts"],
        started=end["started"],
        # What never started ended when that was written down.
        ended=end["ended"] if end["ended"] is not None else entry.time,
        notes=tuple(end["notes"]),
        principal=call["principal"],
        previous=entry.previous,
        digest=entry.digest,
    )
