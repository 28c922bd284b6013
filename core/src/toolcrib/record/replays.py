"""What the ledger knows of a call that comes again: replay, and calls without an end."""

from __future__ import annotations

from typing import Any, Final

import attrs

from toolcrib import canonical
from toolcrib.call import Call
from toolcrib.codes import refuse
from toolcrib.outcome import Outcome, Refusal
from toolcrib.vocabulary import Status

from .damage import readable
from .facts import Replay
from .forms import outcome_of
from .journal import Journal


__all__ = ["Replays", "Unfinished", "storable", "uncertain"]

_FIND: Final = (
    "SELECT c.id, v.name, c.response, c.position, c.provider, c.tool, c.arguments, c.run, "
    "o.body, e.body FROM calls c JOIN conversations v ON v.id = c.conversation "
    "LEFT JOIN outcomes o ON o.call = c.number "
    "LEFT JOIN entries e ON e.seq = coalesce(o.entry, c.entry) WHERE "
)
_OWN: Final = "c.conversation = (SELECT id FROM conversations WHERE name = ?)"
_BY_ID: Final = "c.id = ?"
_BY_KEY: Final = f" OR ({_OWN} AND c.response = ? AND c.position = ?)"
_BY_PROVIDER: Final = f" OR ({_OWN} AND c.provider = ? AND c.run IS NOT NULL)"
_UNFINISHED: Final = (
    "SELECT c.id, c.tool, c.run, v.name, e.time, e.body FROM calls c "
    "JOIN conversations v ON v.id = c.conversation JOIN entries e ON e.seq = c.entry "
    "LEFT JOIN outcomes o ON o.call = c.number "
    "WHERE o.call IS NULL AND (? IS NULL OR v.name = ?) ORDER BY c.number"
)


@attrs.frozen(kw_only=True)
class Unfinished:
    """A call with an intent and no outcome.

    ``live`` tells whether the process that began it is still there; if not, the
    effect may have happened, and nobody can tell.
    """

    call_id: str
    conversation: str
    tool_id: str
    batch_id: str
    idempotency_key: str
    begun: float
    live: bool
    definition_digest: str = ""


def storable(text: str | None) -> str | None:
    """Return a text of the model as SQLite can hold it; half a character is escaped."""
    if text is None or text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


class Replays(Journal):
    """Look-ups of calls; nothing here writes."""

    def replay(
        self,
        call: Call,
        *,
        conversation: str,
        arguments_digest: str | None = None,
        principal: str | None = None,
    ) -> Replay | Refusal | None:
        """Return what is known of a call: by its id, by its key, by its provider's id.

        Args:
            call: The call; its key is (conversation, response digest, position).
            conversation: The conversation it belongs to.
            arguments_digest: Digest of its admitted arguments; without it only id and
                key are compared.
            principal: Who asks. What ran for somebody else is not told: the call can
                only not be made again.

        Returns:
            None if the call is new; a refusal (``call.reused``) if it is not, but had
            another tool, other arguments or another principal.
        """
        where = _BY_ID
        values: tuple[Any, ...] = (call.id,)
        if call.response_digest:
            where += _BY_KEY
            values += (conversation, call.response_digest, call.position)
        if call.provider_id is not None and arguments_digest is not None:
            where += _BY_PROVIDER
            values += (conversation, storable(call.provider_id))
        rows = self._rows(_FIND + where, values)
        if not rows:
            return None

        def closeness(row: Any) -> int:
            same_key = (row[2], row[3]) == (call.response_digest, call.position)
            return 0 if row[0] == call.id else 1 if same_key else 2

        row = min(rows, key=closeness)
        whose = None if principal is None else _principal(row[9])
        if whose is not None and whose != principal:
            return _reused(call, call.id)
        return self._judge(row, call, conversation, arguments_digest)

    def knows(self, call: Call, *, conversation: str) -> bool:
        """Tell whether there is anything to replay for a call, in one look.

        True says that :meth:`replay` has to be asked; what is false stays so until
        somebody begins the call, which then cannot be begun again.
        """
        with self._looking:
            return self._has_row(call, conversation)

    def _has_row(self, call: Call, conversation: str) -> bool:
        """Tell whether there is a row of a call's id, key or provider's id.

        Only what the call has is asked for, so each is found by an index.
        """
        where = _BY_ID
        values: tuple[Any, ...] = (call.id,)
        if call.response_digest:
            where += _BY_KEY
            values += (conversation, call.response_digest, call.position)
        if call.provider_id is not None:
            where += _BY_PROVIDER
            values += (conversation, storable(call.provider_id))
        query = "SELECT 1 FROM calls c WHERE " + where + " LIMIT 1"  # noqa: S608 - ours
        return self._execute(query, values).fetchone() is not None

    def _judge(
        self, row: Any, call: Call, conversation: str, arguments_digest: str | None
    ) -> Replay | Refusal:
        identity, owner, _, _, _, tool, arguments, run, whole, _ = row
        tool_id = storable(call.tool_id or call.wire_name) or ""
        known = arguments is not None and arguments_digest is not None
        other = known and (arguments != arguments_digest or tool != tool_id)
        if other or owner != conversation:
            return _reused(call, identity, tool)
        if whole is not None:
            return Replay(call_id=identity, state="finished", outcome=outcome_of(whole))
        if self._alive(run):
            return Replay(call_id=identity, state="running", outcome=None)
        return Replay(call_id=identity, state="unknown", outcome=uncertain(identity, tool))

    def _alive(self, run: str | None) -> bool:
        return self._runs is None or (run is not None and self._runs.alive(run))

    def unfinished(self, conversation: str | None = None) -> tuple[Unfinished, ...]:
        """Return the calls that have an intent and no outcome, oldest first."""
        found = []
        for identity, tool, run, name, begun, body in self._rows(
            _UNFINISHED, (conversation,) * 2
        ):
            batch_id, key, definition = _begun(body)
            one = Unfinished(
                call_id=identity,
                conversation=name,
                tool_id=tool,
                batch_id=batch_id,
                idempotency_key=key,
                begun=begun,
                live=self._alive(run),
                definition_digest=definition,
            )
            found.append(one)
        return tuple(found)


def _reused(call: Call, identity: str, tool: str = "") -> Refusal:
    another = f"another call of {tool!r}" if tool else "somebody else's call"
    return refuse(
        "call.reused",
        storable(call.tool_id or call.wire_name) or "",
        f"The id or place of this call was used for {another}. "
        "Nothing was run. Make a new call with an id of its own.",
        call_id=identity,
    )


@readable
def _principal(body: str | None) -> str | None:
    """Return for whom a call was noted; None where that was pruned."""
    if body is None:
        return None
    principal: str = canonical.loads(body)["call"]["principal"]
    return principal


@readable
def _begun(body: str) -> tuple[str, str, str]:
    """Return what an intent says of batch, key and definition."""
    facts = canonical.loads(body)["call"]
    return facts["batch_id"], facts["idempotency_key"], facts["definition_digest"]


def uncertain(call_id: str, tool_id: str) -> Outcome:
    """Return the outcome of a call whose process died while it ran."""
    return Outcome(
        call_id=call_id,
        tool_id=tool_id,
        status=Status.UNCERTAIN,
        code="call.uncertain",
        text=(
            "The program stopped while this call ran. Its effect may have happened. "
            "Look at what it changes before you call it again."
        ),
        attempts=1,
    )
