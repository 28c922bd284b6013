"""The last stage, *record*: called before and after *execute*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.call import AuthorizedCall
from toolcrib.codes import refuse
from toolcrib.errors import RecordError, StageError
from toolcrib.outcome import Outcome, Refusal
from toolcrib.tool import Provenance

from .facts import Replay
from .ledger import Ledger


__all__ = ["begin", "end"]


def begin(
    ledger: Ledger,
    authorized: AuthorizedCall,
    *,
    conversation: str,
    principal: str,
    provenance: Provenance | None = None,
    batch_id: str = "",
    again: bool = False,
) -> Replay | Refusal | None:
    """Note that a call is about to run; None: it may.

    A ledger that cannot be written is a refusal (``ledger.unwritable``): what cannot be
    recorded does not run.

    Raises:
        StageError: it is not an authorized call.
    """
    if not isinstance(authorized, AuthorizedCall):
        text = f"only an AuthorizedCall may run, not {type(authorized).__name__}"
        raise StageError(text)
    try:
        return ledger.intent(
            authorized,
            conversation=conversation,
            principal=principal,
            provenance=provenance,
            batch_id=batch_id,
            again=again,
        )
    except RecordError as error:
        return refuse("ledger.unwritable", authorized.tool.id, f"{error}. Nothing was run.")


def end(
    ledger: Ledger, outcome: Outcome, *, diagnostics: Mapping[str, Any] | None = None
) -> bool:
    """Note how a call ended; False if that is not on disk, and new calls are blocked.

    Raises:
        StageError: the call has no intent, or has an outcome already.
    """
    return ledger.outcome(outcome, diagnostics=diagnostics)
