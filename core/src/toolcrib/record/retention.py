"""What may be removed from the ledger, and how the chains stay verifiable."""

from __future__ import annotations

from typing import Any, Final

import attrs

from toolcrib import canonical
from toolcrib.errors import RecordError
from toolcrib.outcome import Result

from .forms import outcome_of, outcome_to_json, text_of
from .journal import OWN
from .replays import Replays


__all__ = ["Pruned", "Retention"]

# The first entry of a chain that must stay: too young, of a call without an outcome, or
# of a question that awaits its answer.
_KEEP_FROM: Final = """
SELECT min(number) FROM (
    SELECT number FROM entries WHERE conversation = :conversation AND time >= :before
    UNION ALL
    SELECT e.number FROM calls c JOIN entries e ON e.seq = c.entry
    LEFT JOIN outcomes o ON o.call = c.number
    WHERE c.conversation = :conversation AND o.call IS NULL
    UNION ALL
    SELECT e.number FROM questions q
    JOIN entries e ON e.conversation = q.conversation AND e.call = q.call
    LEFT JOIN calls c ON c.id = q.call LEFT JOIN outcomes o ON o.call = c.number
    WHERE q.conversation = :conversation AND e.kind = 'question' AND q.decision IS NULL
        AND o.call IS NULL
)
"""
_ANSWERED: Final = """
DELETE FROM questions WHERE conversation = :conversation AND decided < :before OR call IN (
    SELECT c.id FROM calls c JOIN outcomes o ON o.call = c.number
    WHERE c.conversation = :conversation AND o.pruned = 1
)
"""
_STALE_BATCHES: Final = """
DELETE FROM batches WHERE conversation = :conversation AND created < :before
    AND id NOT IN (SELECT batch FROM questions WHERE conversation = :conversation)
"""
_OPEN_CALLS: Final = """
SELECT c.id, c.run FROM calls c LEFT JOIN outcomes o ON o.call = c.number
WHERE c.conversation = ? AND o.call IS NULL
"""
_TABLES: Final = ("entries", "batches", "questions", "grants")


@attrs.frozen(kw_only=True)
class Pruned:
    """How much was removed."""

    entries: int = 0
    contents: int = 0
    batches: int = 0


class Retention(Replays):
    """Removal for age, and of whole conversations."""

    def prune(
        self, *, before: float, conversation: str | None = None, trial: bool = False
    ) -> Pruned:
        """Remove what is older than a time; seconds since the epoch.

        Entries go from the old end of each chain; the chain notes how far. What a call
        gave is removed too, but that it ran, and how it ended, stays: it is never run
        again. Calls without an outcome and questions without an answer stay whole.

        Args:
            before: What was noted earlier goes.
            conversation: The only conversation to look at.
            trial: Count what would go, and keep all of it.

        Raises:
            RecordError: it cannot be written.
        """
        with self._writing as execute:
            names = execute(
                "SELECT name, id, base FROM conversations WHERE :name IS NULL OR name = :name",
                {"name": conversation},
            ).fetchall()
            entries = contents = batches = 0
            for name, identity, base in names:
                contents += self._empty(identity, before)
                old = {"conversation": identity, "before": before}
                execute(_ANSWERED, old)
                batches += execute(_STALE_BATCHES, old).rowcount
                if name != OWN:  # its own chain tells which conversations there are
                    entries += self._cut(name, identity, base, before)
            if trial:
                self._rollback()
        return Pruned(entries=entries, contents=contents, batches=batches)

    def _empty(self, identity: int, before: float) -> int:
        """Remove the content of old outcomes, keeping how the calls ended."""
        rows = self._execute(
            "SELECT o.call, o.body FROM outcomes o JOIN calls c ON c.number = o.call "
            "JOIN entries e ON e.seq = o.entry "
            "WHERE c.conversation = ? AND o.pruned = 0 AND e.time < ?",
            (identity, before),
        ).fetchall()
        for number, text in rows:
            emptied = attrs.evolve(outcome_of(text), result=Result(), details={"pruned": True})
            short = text_of(outcome_to_json(emptied))
            self._execute(
                "UPDATE outcomes SET body = ?, pruned = 1 WHERE call = ?", (short, number)
            )
        return len(rows)

    def _cut(self, name: str, identity: int, base: int, before: float) -> int:
        """Remove the old end of a chain and note, in the chain, how far it went."""
        old = {"conversation": identity, "before": before}
        keep = self._execute(_KEEP_FROM, old).fetchone()[0]
        last: Any = self._execute(
            "SELECT seq, number, digest FROM entries WHERE conversation = :conversation "
            "AND (:keep IS NULL OR number < :keep) ORDER BY number DESC LIMIT 1",
            {"conversation": identity, "keep": keep},
        ).fetchone()
        if last is None:
            return 0
        seq, number, digest = last
        self._append(name, "pruned", canonical.dumps({"digest": digest, "number": number}))
        self._execute(
            "DELETE FROM entries WHERE conversation = ? AND number <= ?", (identity, number)
        )
        self._execute(
            "UPDATE conversations SET base = ?, base_head = ?, base_seq = ? WHERE id = ?",
            (number, digest, seq, identity),
        )
        gone: int = number - base
        return gone

    def forget(self, conversation: str, *, trial: bool = False) -> Pruned | None:
        """Remove all of a conversation: entries, contents, questions, grants, keys.

        The ledger's own chain notes that it was forgotten, under a digest of its name;
        the name itself stays where that chain says when the conversation began.
        A call of it that comes again is new, and runs.

        Args:
            conversation: Its name.
            trial: Count what would go, and keep all of it.

        Returns:
            How much was removed; None if the conversation is not known.

        Raises:
            RecordError: it cannot be written, or a call of it runs at this moment.
        """
        with self._writing as execute:
            row = execute(
                "SELECT id, entries, head FROM conversations WHERE name = ?", (conversation,)
            ).fetchone()
            if row is None or conversation == OWN:
                return None
            identity, entries, head = row
            self._check_idle(conversation, identity)
            note = {
                "conversation": canonical.digest(conversation),
                "entries": entries,
                "head": head,
            }
            self._append(OWN, "forgot", canonical.dumps(note))
            contents = execute(
                "DELETE FROM outcomes WHERE call IN "
                "(SELECT number FROM calls WHERE conversation = ?)",
                (identity,),
            ).rowcount
            gone = {
                table: execute(
                    f"DELETE FROM {table} WHERE conversation = ?",  # noqa: S608 - ours
                    (identity,),
                ).rowcount
                for table in ("calls", *_TABLES)
            }
            execute("DELETE FROM conversations WHERE id = ?", (identity,))
            self._heads.pop(conversation, None)
            if trial:
                self._rollback()
        return Pruned(entries=gone["entries"], contents=contents, batches=gone["batches"])

    def _check_idle(self, name: str, identity: int) -> None:
        """Refuse to forget a call whose outcome could then be noted nowhere."""
        for call, run in self._execute(_OPEN_CALLS, (identity,)).fetchall():
            if self._alive(run):
                text = (
                    f"{self.place}: call {call} of conversation {name!r} runs at this "
                    "moment; wait until it has ended, then forget the conversation"
                )
                raise RecordError(text)

    def compact(self) -> None:
        """Give the room of what was removed back to the disk, its last copies included.

        Raises:
            RecordError: the disk lacks room for a copy of what stays, or another process
                writes; nothing is lost, and it may be tried again.
        """
        with self._looking as execute:
            execute("VACUUM")
            execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
