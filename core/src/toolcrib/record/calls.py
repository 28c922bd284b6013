"""One call in the ledger: its intent before it runs, its outcome after, and its replay."""

from __future__ import annotations

import sqlite3

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolcrib import canonical
from toolcrib.call import AdmittedCall, AuthorizedCall, Call
from toolcrib.codes import refuse
from toolcrib.errors import RecordError, StageError
from toolcrib.outcome import Outcome, Refusal
from toolcrib.signature import Signature
from toolcrib.tool import Provenance

from .damage import readable
from .facts import Replay, ending, facts_of, refused_facts
from .forms import outcome_to_json, text_of
from .grants import USE_GRANT
from .replays import Replays, Unfinished, storable, uncertain


__all__ = ["Calls", "check_name"]

_NEW_CALL: Final = (
    "INSERT INTO calls (id, conversation, response, position, provider, tool, arguments, run, "
    "entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEW_OUTCOME: Final = "INSERT INTO outcomes (call, entry, body) VALUES (?, ?, ?)"


class _GrantUsed(Exception):  # noqa: N818 - leaves a transaction, never the module
    """Undoes the intent of a call whose grant is gone."""


class Calls(Replays):
    """The calls of the ledger: at most one intent and exactly one outcome for each."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Calls of this run that wait for their outcome: row, conversation, facts.
        self._open: dict[str, tuple[int, str, str]] = {}
        self._unwritten: dict[str, tuple[Outcome, Mapping[str, Any] | None]] = {}
        self._blocked: str | None = None

    @property
    def blocked(self) -> str | None:
        """Why nothing may run: an outcome could not be written; None if all is well.

        The next intent tries to write it again, and lifts the block if that works.
        """
        return self._blocked

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
        """Note durably that a call is about to run, and use up its grant.

        Args:
            authorized: The call.
            conversation: The conversation it belongs to.
            principal: For whom it runs.
            provenance: Where its pack comes from.
            batch_id: The batch it came in.
            again: Take over a call whose process died after its intent; for calls that
                may be replayed. Of two processes that try, one gets it.

        Returns:
            None: noted, the handler may start. Otherwise it must not: a replay if the
            ledger knows the call, a refusal if its id was used for another call
            (``call.reused``) or its grant is used up (``grant.used``).

        Raises:
            RecordError: it cannot be written, so nothing may run.
        """
        check_name(conversation)
        self._unblock()
        facts = facts_of(
            authorized, principal=principal, provenance=provenance, batch_id=batch_id
        )
        try:
            with self._writing:
                if again:
                    self._release(authorized.call, conversation)
                text = canonical.dumps(facts)
                self._begin_rows(authorized, conversation, text, self._clock())
        except (_GrantUsed, sqlite3.IntegrityError) as error:
            known = self.replay(
                authorized.call,
                conversation=conversation,
                arguments_digest=authorized.arguments_digest,
                principal=principal,
            )
            if known is not None:
                return known
            if isinstance(error, _GrantUsed):
                return refuse(
                    "grant.used",
                    authorized.tool.id,
                    "The approval for this call was used, revoked or has expired. Ask again.",
                )
            text = f"{self.place}: call {authorized.call.id!r} cannot be noted ({error})"
            raise RecordError(text) from error
        return None

    def _release(self, call: Call, conversation: str) -> None:
        """Free an unfinished call of a dead run, so that this run may begin it again."""
        row = self._execute(
            "SELECT c.number, c.run FROM calls c "
            "JOIN conversations v ON v.id = c.conversation "
            "LEFT JOIN outcomes o ON o.call = c.number "
            "WHERE c.id = ? AND v.name = ? AND o.call IS NULL",
            (call.id, conversation),
        ).fetchone()
        if row is not None and not self._alive(row[1]):
            self._execute("DELETE FROM calls WHERE number = ?", (row[0],))

    def _begin_rows(
        self, authorized: AuthorizedCall, conversation: str, facts: str, now: float
    ) -> None:
        call = authorized.call
        grant = authorized.grant_id
        if grant is not None:
            if self._execute(USE_GRANT, (grant, now)).rowcount != 1:
                raise _GrantUsed
            used = canonical.dumps({"call_id": call.id, "grant_id": grant})
            self._append(conversation, "grant.used", used, call=call.id, at=now)
        body = f'{{"call":{facts}}}'
        entry = self._append(conversation, "intent", body, call=call.id, at=now)
        row = (
            call.id,
            self._heads[conversation].id,
            call.response_digest or None,
            call.position,
            storable(call.provider_id),
            storable(authorized.tool.id),
            authorized.arguments_digest,
            self._runs.own if self._runs else "memory",
            entry,
        )
        number = self._execute(_NEW_CALL, row).lastrowid or 0
        self._open[call.id] = (number, conversation, facts)

    def outcome(
        self, outcome: Outcome, *, diagnostics: Mapping[str, Any] | None = None
    ) -> bool:
        """Note how a call ended; return whether that is on disk.

        If it is not, the caller still returns the outcome: the effect has happened. The
        ledger keeps it, tries again, and blocks new calls until it is written.

        Raises:
            StageError: the call has no intent, or has an outcome already.
        """
        try:
            with self._writing:
                self._end(outcome, diagnostics)
        except sqlite3.IntegrityError as error:
            text = f"call {outcome.call_id!r} has an outcome already"
            raise StageError(text) from error
        except RecordError as error:
            with self._lock:
                self._unwritten[outcome.call_id] = (outcome, diagnostics)
                self._blocked = str(error)
            return False
        self._open.pop(outcome.call_id, None)
        return True

    def _end(self, outcome: Outcome, diagnostics: Mapping[str, Any] | None) -> None:
        opened = self._open.get(outcome.call_id) or self._reopen(outcome.call_id)
        number, conversation, facts = opened
        self._end_rows(number, conversation, facts, "outcome", outcome, diagnostics)

    def _end_rows(  # noqa: PLR0917 - one row each of two tables
        self,
        number: int,
        conversation: str,
        facts: str,
        kind: str,
        outcome: Outcome,
        diagnostics: Mapping[str, Any] | None = None,
    ) -> None:
        whole = text_of(outcome_to_json(outcome))
        end = ending(outcome, canonical.digest_bytes(whole.encode()), diagnostics)
        body = f'{{"call":{facts},"outcome":{text_of(end)}}}'
        entry = self._append(conversation, kind, body, call=outcome.call_id)
        self._execute(_NEW_OUTCOME, (number, entry, whole))

    def _reopen(self, call_id: str) -> tuple[int, str, str]:
        row = self._execute(
            "SELECT c.number, v.name, e.body FROM calls c "
            "JOIN conversations v ON v.id = c.conversation "
            "JOIN entries e ON e.seq = c.entry WHERE c.id = ?",
            (call_id,),
        ).fetchone()
        if row is None:
            text = f"call {call_id!r} has no intent, so it cannot have an outcome"
            raise StageError(text)
        return row[0], row[1], _call_in(row[2])

    def _unblock(self) -> None:
        """Write the outcomes that could not be written; raise if they still cannot."""
        if self._unwritten and not self._salvage():
            text = f"nothing may run until an outcome can be written: {self._blocked}"
            raise RecordError(text)

    def _salvage(self) -> bool:
        """Try to write the outcomes that could not be written; tell whether all are."""
        with self._lock:
            for call_id, (outcome, diagnostics) in list(self._unwritten.items()):
                try:
                    with self._writing:
                        self._end(outcome, diagnostics)
                except sqlite3.IntegrityError:
                    pass  # another process recovered the call meanwhile
                except RecordError as error:
                    self._blocked = str(error)
                    return False
                del self._unwritten[call_id]
                self._open.pop(call_id, None)
            self._blocked = None
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
        """Note a call that was stopped before it ran; return whether that is on disk.

        Args:
            outcome: How it ended.
            call: What the model wanted.
            conversation: The conversation it belongs to.
            principal: For whom it would have run.
            admitted: The call with its arguments, if it came so far.
            signature: What it would have touched, if that is known.
            provenance: Where its pack comes from.
            decided_by: Who or what stopped it.
            batch_id: The batch it came in.

        Raises:
            StageError: the call has an intent or an outcome already.
        """
        check_name(conversation)
        facts = refused_facts(
            call,
            outcome.tool_id,
            admitted=admitted,
            signature=signature,
            principal=principal,
            provenance=provenance,
            decided_by=decided_by,
            batch_id=batch_id,
        )
        # A second call under a known key is noted too, but cannot take the key.
        for response in (call.response_digest or None, None):
            try:
                with self._writing:
                    self._refuse_rows(outcome, call, conversation, facts, response)
            except sqlite3.IntegrityError:
                continue
            except RecordError:
                return False
            return True
        message = f"call {call.id!r} has an intent or an outcome already"
        raise StageError(message)

    def _refuse_rows(
        self,
        outcome: Outcome,
        call: Call,
        conversation: str,
        facts: Mapping[str, Any],
        response: str | None,
    ) -> None:
        head = self._heads.get(conversation) or self._head(conversation)
        row = (
            call.id,
            head.id,
            response,
            call.position,
            storable(call.provider_id),
            storable(outcome.tool_id),
            facts["arguments_digest"],
            None,
            0,
        )
        number = self._execute(_NEW_CALL, row).lastrowid or 0
        text = canonical.dumps(facts)
        self._end_rows(number, conversation, text, "refusal", outcome)

    def late(self, outcome: Outcome) -> None:
        """Keep what a call gave after its outcome was noted; it changes no status.

        Raises:
            RecordError: it cannot be written.
            StageError: the call is not known.
        """
        with self._writing:
            _, conversation, _ = self._reopen(outcome.call_id)
            body = text_of({"outcome": outcome_to_json(outcome)})
            self._append(conversation, "late", body, call=outcome.call_id)

    def recover(
        self,
        conversation: str | None = None,
        *,
        keep: Callable[[Unfinished], bool] | None = None,
    ) -> tuple[Outcome, ...]:
        """Close the calls of dead processes as ``uncertain``; return their outcomes.

        Args:
            conversation: The only conversation to look at.
            keep: Tells which calls stay open, because they may be taken over
                (``intent(again=True)``).
        """
        closed = []
        for call in self.unfinished(conversation):
            if call.live or (keep is not None and keep(call)):
                continue
            outcome = uncertain(call.call_id, call.tool_id)
            try:
                with self._writing:
                    self._end(outcome, None)
            except sqlite3.IntegrityError:
                continue  # another process was faster
            closed.append(outcome)
        return tuple(closed)


@readable
def _call_in(body: str) -> str:
    """Return what an intent says of its call, as canonical text."""
    return canonical.dumps(canonical.loads(body)["call"])


def check_name(conversation: str) -> None:
    """Refuse the empty name, which is the ledger's own, and what is no text."""
    if not conversation:
        text = "a conversation needs a name"
        raise RecordError(text)
    if not conversation.isascii():
        try:
            conversation.encode()
        except UnicodeEncodeError as error:
            text = f"the conversation's name holds half a character ({error.reason})"
            raise RecordError(text) from error
