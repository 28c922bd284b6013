"""What may be removed from the ledger, and how the chains stay verifiable."""

from __future__ import annotations

from typing import Any, Final

import attrs

from toolcrib import canonical

from .forms import outcome_from_json, outcome_to_json, text_of
from .journal import OWN, Journal


__all__ = ["Pruned", "Retention"]

# The first entry of a chain that must stay: too young, of a call without an outcome, or
# of a question that awaits its answer.
_KEEP_FROM: Final = """
SELECT min(number) FROM (
    SELECT number FROM entries WHERE conversation = ?1 AND time >= ?2
    UNION ALL
    SELECT e.number FROM calls c JOIN entries e ON e.seq = c.entry
    LEFT JOIN outcomes o ON o.call = c.number
    WHERE c.conversation = ?1 AND o.call IS NULL
    UNION ALL
    SELECT e.number FROM questions q
    JOIN entries e ON e.conversation = q.conversation AND e.call = q.call
    LEFT JOIN calls c ON c.id = q.call LEFT JOIN outcomes o ON o.call = c.number
    WHERE q.conversation = ?1 AND e.kind = 'question' AND q.decision IS NULL
        AND o.call IS NULL
)
"""
_ANSWERED: Final = """
DELETE FROM questions WHERE conversation = ?1 AND decided < ?2 OR call IN (
    SELECT c.id FROM calls c JOIN outcomes o ON o.call = c.number
    WHERE c.conversation = ?1 AND o.pruned = 1
)
"""
_STALE_BATCHES: Final = """
DELETE FROM batches WHERE conversation = ?1 AND created < ?2
    AND id NOT IN (SELECT batch FROM questions WHERE conversation = ?1)
"""
_TABLES: Final = ("entries", "batches", "questions", "grants")


@attrs.frozen(kw_only=True)
class Pruned:
    """How much was removed."""

    entries: int = 0
    contents: int = 0
    batches: int = 0


class Retention(Journal):
    """Removal for age, and of whole conversations."""

    def prune(self, *, before: float, conversation: str | None = None) -> Pruned:
        """Remove what is older than a time; seconds since the epoch.

        Entries go from the old end of each chain; the chain notes how far. What a call
        gave is removed too, but that it ran, and how it ended, stays: it is never run
        again. Calls without an outcome and questions without an answer stay whole.

        Raises:
            RecordError: it cannot be written.
        """
        with self._writing as execute:
            names = execute(
                "SELECT name, id, base FROM conversations WHERE ?1 IS NULL OR name = ?1",
                (conversation,),
            ).fetchall()
            entries = contents = batches = 0
            for name, identity, base in names:
                contents += self._empty(identity, before)
                execute(_ANSWERED, (identity, before))
                batches += execute(_STALE_BATCHES, (identity, before)).rowcount
                if name != OWN:  # its own chain tells which conversations there are
                    entries += self._cut(name, identity, base, before)
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
            form = canonical.loads(text, max_bytes=1 << 30, max_depth=10_000)
            form.pop("result", None)
            form["details"] = {"pruned": True}
            short = text_of(outcome_to_json(outcome_from_json(form)))
            self._execute(
                "UPDATE outcomes SET body = ?, pruned = 1 WHERE call = ?", (short, number)
            )
        return len(rows)

    def _cut(self, name: str, identity: int, base: int, before: float) -> int:
        """Remove the old end of a chain and note, in the chain, how far it went."""
        keep = self._execute(_KEEP_FROM, (identity, before)).fetchone()[0]
        last: Any = self._execute(
            "SELECT seq, number, digest FROM entries WHERE conversation = ?1 "
            "AND (?2 IS NULL OR number < ?2) ORDER BY number DESC LIMIT 1",
            (identity, keep),
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

    def forget(self, conversation: str) -> bool:
        """Remove all of a conversation: entries, contents, questions, grants, keys.

        The ledger's own chain notes that it was forgotten, under a digest of its name.
        A call of it that comes again is new. False if it is not known.

        Raises:
            RecordError: it cannot be written.
        """
        with self._writing as execute:
            row = execute(
                "SELECT id, entries, head FROM conversations WHERE name = ?", (conversation,)
            ).fetchone()
            if row is None or conversation == OWN:
                return False
            identity, entries, head = row
            note = {
                "conversation": canonical.digest(conversation),
                "entries": entries,
                "head": head,
            }
            self._append(OWN, "forgot", canonical.dumps(note))
            execute(
                "DELETE FROM outcomes WHERE call IN "
                "(SELECT number FROM calls WHERE conversation = ?)",
                (identity,),
            )
            for table in ("calls", *_TABLES):
                execute(f"DELETE FROM {table} WHERE conversation = ?", (identity,))  # noqa: S608
            execute("DELETE FROM conversations WHERE id = ?", (identity,))
            self._heads.pop(conversation, None)
        return True
