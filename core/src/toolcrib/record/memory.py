"""The ledger in memory: the same tables and chains, written behind the calls.

A call only notes what happened; rows and digests are made when somebody looks. So a
call costs a few microseconds, and all reading is the one implementation there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolcrib import canonical
from toolcrib.call import AdmittedCall, AuthorizedCall, Call
from toolcrib.errors import StageError
from toolcrib.outcome import Outcome, Refusal
from toolcrib.question import Grant
from toolcrib.signature import Signature
from toolcrib.tool import Provenance
from toolcrib.vocabulary import Durability

from .approvals import Batch
from .calls import check_name
from .database import connect
from .facts import Replay, facts_of, refused_facts
from .ledger import Ledger


__all__ = ["MemoryLedger"]

#: So much may wait to be written as rows; beyond it, the oldest is, so much at a time: all
#: at once would hold up an event loop for a second.
_MOST_WAITING: Final = 40_000
_AT_ONCE: Final = 200


class MemoryLedger(Ledger):
    """A ledger that ends with its process; see the module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._keys: set[object] = set()  # ids, keys and provider's ids without rows
        self._running: set[str] = set()  # ids of calls without rows and outcome
        # When, what writes it, and of what; flat, for all that is kept is collected over.
        self._waiting: list[tuple[Any, ...]] = []
        self._has_rows = False
        self._has_grants = False
        self._has_batches = False

    @classmethod
    def create(cls, *, clock: Callable[[], float]) -> MemoryLedger:
        """Make an empty one."""
        connection = connect(None, durability=Durability.NORMAL, wait=0.0, max_bytes=None)
        return cls(connection, place=":memory:", clock=clock, runs=None)

    def intent(
        self,
        authorized: AuthorizedCall,
        *,
        conversation: str,
        principal: str,
        provenance: Provenance | None = None,
        batch_id: str = "",
        again: bool = False,
    ) -> Replay | Refusal | None:
        """Note that a call is about to run; see :meth:`Ledger.intent`."""
        call = authorized.admitted.call
        with self._lock:
            # A grant is used up in the tables; a known call is judged there.
            if authorized.grant_id is None and not self._known(call, conversation):
                check_name(conversation)
                self._add_keys(call, conversation)
                self._running.add(call.id)
                noted = (authorized, conversation, principal, provenance, batch_id)
                self._waiting.append((self._clock(), MemoryLedger._write_intent, *noted))
                return None
            self._has_rows = True
            return super().intent(
                authorized,
                conversation=conversation,
                principal=principal,
                provenance=provenance,
                batch_id=batch_id,
                again=again,
            )

    def outcome(
        self, outcome: Outcome, *, diagnostics: Mapping[str, Any] | None = None
    ) -> bool:
        """Note how a call ended; see :meth:`Ledger.outcome`."""
        with self._lock:
            if outcome.call_id not in self._running:
                if outcome.call_id in self._keys:
                    text = f"call {outcome.call_id!r} has an outcome already"
                    raise StageError(text)
                return super().outcome(outcome, diagnostics=diagnostics)
            self._running.remove(outcome.call_id)
            now = self._clock()
            self._waiting.append((now, MemoryLedger._write_end, outcome, diagnostics))
            if len(self._waiting) > _MOST_WAITING:
                self._settle(_AT_ONCE)
        return True

    def refusal(
        self,
        outcome: Outcome,
        *,
        call: Call,
        conversation: str,
        principal: str,
        admitted: AdmittedCall | None = None,
        signature: Signature | None = None,
        provenance: Provenance | None = None,
        decided_by: Iterable[str] = (),
        batch_id: str = "",
    ) -> bool:
        """Note a call that was stopped before it ran; see :meth:`Ledger.refusal`."""
        facts: dict[str, Any] = {
            "admitted": admitted,
            "signature": signature,
            "principal": principal,
            "provenance": provenance,
            "decided_by": decided_by,
            "batch_id": batch_id,
        }
        with self._lock:
            if self._known(call, conversation):
                self._has_rows = True
                return super().refusal(outcome, call=call, conversation=conversation, **facts)
            check_name(conversation)
            # It did not run: its provider's id stays free.
            self._keys.add(call.id)
            if call.response_digest:
                self._keys.add((conversation, call.response_digest, call.position))
            noted = (outcome, call, conversation, facts)
            self._waiting.append((self._clock(), MemoryLedger._write_refusal, *noted))
            if len(self._waiting) > _MOST_WAITING:
                self._settle(_AT_ONCE)
        return True

    def _known(self, call: Call, conversation: str) -> bool:
        """Tell whether a call may be one that was noted before."""
        keys = self._keys
        if self._connection is None or call.id in keys:
            return True
        if call.response_digest and (
            (conversation, call.response_digest, call.position) in keys
        ):
            return True
        if call.provider_id is not None and (conversation, call.provider_id) in keys:
            return True
        return self._has_rows and self._has_row(call, conversation)

    def _add_keys(self, call: Call, conversation: str) -> None:
        self._keys.add(call.id)
        if call.response_digest:
            self._keys.add((conversation, call.response_digest, call.position))
        if call.provider_id is not None:
            self._keys.add((conversation, call.provider_id))

    def replay(
        self,
        call: Call,
        *,
        conversation: str,
        arguments_digest: str | None = None,
        principal: str | None = None,
    ) -> Replay | Refusal | None:
        """Return what is known of a call; see :meth:`Ledger.replay`."""
        with self._lock:
            if not self._known(call, conversation):
                return None
            return super().replay(
                call,
                conversation=conversation,
                arguments_digest=arguments_digest,
                principal=principal,
            )

    def knows(self, call: Call, *, conversation: str) -> bool:
        """Tell whether there is anything to replay; see :meth:`Ledger.knows`."""
        with self._lock:
            return self._known(call, conversation)

    def grant(self, grant: Grant, *, session: str = "", project: str = "") -> None:
        """Save a grant; see :meth:`Ledger.grant`."""
        super().grant(grant, session=session, project=project)
        self._has_grants = True

    def covering(self, **call: Any) -> tuple[Grant, ...]:
        """Return the standing grants for a call; see :meth:`Ledger.covering`."""
        return super().covering(**call) if self._has_grants else ()

    def save_batch(self, *args: Any, **kwargs: Any) -> None:
        """Save a submitted batch; see :meth:`Ledger.save_batch`."""
        super().save_batch(*args, **kwargs)
        self._has_batches = True

    def find_batch(self, conversation: str, response_digest: str) -> Batch | None:
        """Return the newest batch made from a response; see :meth:`Ledger.find_batch`."""
        if not self._has_batches:
            return None
        return super().find_batch(conversation, response_digest)

    def _settle(self, most: int | None = None) -> None:
        """Make rows of what was noted, or of the oldest of it."""
        if not self._waiting:
            return
        if most is None:
            waiting, self._waiting = self._waiting, []
            self._keys = set()
            self._running = set()
        else:
            # Keys stay: who asks for one of them looks into the tables then.
            waiting, self._waiting = self._waiting[:most], self._waiting[most:]
        clock = self._clock
        self._execute("BEGIN")
        try:
            for now, write, *noted in waiting:
                self._clock = lambda now=now: now  # type: ignore[misc]
                write(self, *noted)
        finally:
            self._clock = clock
            self._execute("COMMIT")
            self._has_rows = True

    def _write_intent(
        self,
        authorized: AuthorizedCall,
        conversation: str,
        principal: str,
        provenance: Provenance | None,
        batch_id: str,
    ) -> None:
        facts = facts_of(
            authorized, principal=principal, provenance=provenance, batch_id=batch_id
        )
        self._begin_rows(authorized, conversation, canonical.dumps(facts), self._clock())

    def _write_end(self, outcome: Outcome, diagnostics: Mapping[str, Any] | None) -> None:
        self._end(outcome, diagnostics)
        self._open.pop(outcome.call_id, None)

    def _write_refusal(
        self, outcome: Outcome, call: Call, conversation: str, facts: Mapping[str, Any]
    ) -> None:
        noted = refused_facts(call, outcome.tool_id, **facts)
        self._refuse_rows(outcome, call, conversation, noted, call.response_digest or None)
