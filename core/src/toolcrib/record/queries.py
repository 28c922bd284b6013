"""Reading the ledger: receipts, history, events by cursor, verification, export."""

from __future__ import annotations

import contextlib
import sqlite3

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from toolcrib import canonical
from toolcrib.errors import RecordError
from toolcrib.outcome import Outcome, Receipt

from .chain import Anchor, Entry, Fault, check
from .facts import receipt_of
from .forms import outcome_of
from .journal import OWN, Journal


__all__ = ["Event", "Queries", "Tail"]

_ENTRY: Final = (
    "SELECT e.seq, v.name, e.number, e.kind, e.time, e.body, e.previous, e.digest "
    "FROM entries e JOIN conversations v ON v.id = e.conversation "
)
_RECEIPTS: Final = "e.kind IN ('outcome', 'refusal')"


@attrs.frozen(kw_only=True)
class Event:
    """Something that happened, in the order of the ledger.

    A ``gap`` says that entries up to its ``seq`` were removed before they were read.
    """

    seq: int
    conversation: str
    kind: str
    time: float
    body: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen
class Tail:
    """Events, and the cursor to ask with for those that come after them."""

    events: tuple[Event, ...]
    cursor: int


class Queries(Journal):
    """The reading half of the ledger."""

    def conversations(self) -> tuple[str, ...]:
        """Return the names of the conversations, in the order in which they began."""
        rows = self._rows("SELECT name FROM conversations WHERE name <> '' ORDER BY id")
        return tuple(row[0] for row in rows)

    def last_used(self) -> str | None:
        """Return the conversation with the newest receipt, or None while there is none."""
        rows = self._rows(f"{_ENTRY} WHERE {_RECEIPTS} ORDER BY e.seq DESC LIMIT 1")
        return _entry(rows[0]).conversation if rows else None

    def receipt(self, call_id: str) -> Receipt | None:
        """Return the receipt of one call, or None while it has none."""
        rows = self._rows(
            f"{_ENTRY} JOIN outcomes o ON o.entry = e.seq JOIN calls c ON c.number = o.call "
            "WHERE c.id = ?",
            (call_id,),
        )
        return receipt_of(_entry(rows[0])) if rows else None

    def receipts(self, conversation: str | None = None) -> tuple[Receipt, ...]:
        """Return receipts in order."""
        return tuple(receipt_of(entry) for entry in self._entries(conversation, _RECEIPTS))

    def recorded(self, call_id: str) -> Outcome | None:
        """Return the outcome of one call, content included, or None while it has none."""
        rows = self._rows(
            "SELECT o.body FROM outcomes o JOIN calls c ON c.number = o.call WHERE c.id = ?",
            (call_id,),
        )
        if not rows:
            return None
        return outcome_of(rows[0][0])

    def begun(self, conversation: str) -> int:
        """Return how many calls of a conversation, and of those it started, have begun."""
        below = f"{conversation}/"
        rows = self._rows(
            "SELECT count(*) FROM calls c JOIN conversations v ON v.id = c.conversation "
            "WHERE (v.name = ? OR substr(v.name, 1, ?) = ?) AND c.run IS NOT NULL",
            (conversation, len(below), below),
        )
        return int(rows[0][0])

    def history(self, call_id: str) -> tuple[Entry, ...]:
        """Return all that was noted of one call, in order."""
        rows = self._rows(f"{_ENTRY} WHERE e.call = ? ORDER BY e.seq", (call_id,))
        return tuple(_entry(row) for row in rows)

    def entries(self, conversation: str | None = None) -> tuple[Entry, ...]:
        """Return the entries of one chain, or of all, in the order of the ledger."""
        return self._entries(conversation, "1")

    def _entries(self, conversation: str | None, where: str) -> tuple[Entry, ...]:
        rows = self._rows(
            f"{_ENTRY} WHERE {where} AND (:name IS NULL OR v.name = :name) ORDER BY e.seq",
            {"name": conversation},
        )
        return tuple(_entry(row) for row in rows)

    def head(self, conversation: str) -> Anchor:
        """Return number and digest of a chain's newest entry, to be kept elsewhere."""
        rows = self._rows(
            "SELECT entries, head FROM conversations WHERE name = ?", (conversation,)
        )
        return Anchor(*rows[0]) if rows else Anchor()

    def tail(
        self, cursor: int = 0, *, conversation: str | None = None, limit: int = 1000
    ) -> Tail:
        """Return what happened after a cursor; each reader keeps its own.

        Events that were removed before this reader saw them leave a ``gap`` event.
        """
        wanted = {"cursor": cursor, "name": conversation, "limit": limit}
        with self._reading as execute:
            gaps = execute(
                "SELECT base_seq, name, base FROM conversations "
                "WHERE base_seq > :cursor AND (:name IS NULL OR name = :name) "
                "ORDER BY base_seq",
                wanted,
            ).fetchall()
            rows = execute(
                f"{_ENTRY} WHERE e.seq > :cursor AND (:name IS NULL OR v.name = :name) "
                "ORDER BY e.seq LIMIT :limit",
                wanted,
            ).fetchall()
        events = [
            Event(seq=seq, conversation=name, kind="gap", time=0.0, body={"through": number})
            for seq, name, number in gaps
        ]
        events += [_event(_entry(row)) for row in rows]
        events.sort(key=lambda event: event.seq)
        # A full page ends at its last entry: later gaps are told with their page.
        last = rows[-1][0] if len(rows) == limit else max((e.seq for e in events), default=0)
        kept = tuple(event for event in events if event.seq <= last)
        return Tail(kept, max(cursor, last))

    def verify(
        self, conversation: str | None = None, *, head: Anchor | None = None
    ) -> tuple[Fault, ...]:
        """Return where the ledger does not hold; empty: it does.

        Args:
            conversation: Check one chain instead of all (and the file).
            head: A head of that conversation that was kept elsewhere.
        """
        with self._reading as execute:
            faults = [] if conversation is not None else list(_check_file(execute))
            chains = execute(
                "SELECT id, name, entries, head, base, base_head FROM conversations "
                "WHERE :name IS NULL OR name = :name ORDER BY id",
                {"name": conversation},
            ).fetchall()
            for identity, name, number, digest, base, base_head in chains:
                faults += self._verify_chain(
                    identity, name, Anchor(number, digest), Anchor(base, base_head)
                )
            if conversation is None:
                faults += self._verify_names({row[1] for row in chains})
            elif not chains:
                faults.append(Fault(conversation, None, "nothing is known of it"))
            if head is not None and conversation is not None:
                faults += self._verify_head(conversation, head)
        return tuple(faults)

    def _verify_chain(
        self, identity: int, name: str, head: Anchor, base: Anchor
    ) -> Iterator[Fault]:
        rows = self._execute(
            f"{_ENTRY} WHERE e.conversation = ? ORDER BY e.number", (identity,)
        )
        entries = [_entry(row) for row in rows]
        yield from check(entries, conversation=name, base=base, head=head)
        told = [e.text for e in entries if e.kind == "pruned"]
        if base.number and (not told or told[-1] != canonical.dumps(attrs.asdict(base))):
            yield Fault(name, None, "entries were removed, and no entry says so")
        yield from self._verify_contents(identity, name, entries)

    def _verify_contents(
        self, identity: int, name: str, entries: list[Entry]
    ) -> Iterator[Fault]:
        """Compare what lies beside the chain with the digests in it."""
        outcomes = dict(
            self._execute(
                "SELECT o.entry, o.body FROM outcomes o JOIN calls c ON c.number = o.call "
                "WHERE c.conversation = ? AND o.pruned = 0",
                (identity,),
            )
        )
        pruned = {
            row[0]
            for row in self._execute(
                "SELECT o.entry FROM outcomes o JOIN calls c ON c.number = o.call "
                "WHERE c.conversation = ? AND o.pruned = 1",
                (identity,),
            )
        }
        for entry in entries:
            if entry.kind not in ("outcome", "refusal") or entry.seq in pruned:
                continue
            with contextlib.suppress(RecordError, KeyError, TypeError, AttributeError):
                wanted = entry.body["outcome"]["content"]
                text = outcomes.get(entry.seq)
                if text is None:
                    yield Fault(name, entry.number, "the outcome's content is missing")
                elif canonical.digest_bytes(text.encode()) != wanted:
                    yield Fault(name, entry.number, "the outcome's content was changed")

    def _verify_names(self, names: set[str]) -> Iterator[Fault]:
        """Find conversations that are gone although nobody forgot them."""
        known: dict[str, bool] = {}
        for entry in self._execute(f"{_ENTRY} WHERE v.name = '' ORDER BY e.number"):
            with contextlib.suppress(RecordError, KeyError, TypeError, AttributeError):
                one = _entry(entry)
                if one.kind == "began":
                    known[one.body["conversation"]] = True
                elif one.kind == "forgot":
                    gone = one.body["conversation"]
                    known = {k: v for k, v in known.items() if canonical.digest(k) != gone}
        for name in sorted(known.keys() - names):
            yield Fault(name, None, "the whole conversation is missing")
        for name in sorted(names - known.keys() - {OWN}):
            yield Fault(name, None, "nothing says when the conversation began")
        if OWN not in names:
            yield Fault(OWN, None, "the ledger's own chain is missing")

    def _verify_head(self, name: str, head: Anchor) -> Iterator[Fault]:
        row = self._execute(
            "SELECT e.digest FROM entries e JOIN conversations v ON v.id = e.conversation "
            "WHERE v.name = ? AND e.number = ?",
            (name, head.number),
        ).fetchone()
        if row is None:
            yield Fault(name, head.number, "the entry that was noted elsewhere is missing")
        elif row[0] != head.digest:
            yield Fault(name, head.number, "it differs from what was noted elsewhere")

    def export(self, conversation: str | None = None) -> Iterator[str]:
        """Yield the chains as JSON lines that :func:`chain.check_export` can check."""
        with self._reading as execute:
            heads = execute(
                "SELECT name, entries, head, base, base_head FROM conversations "
                "WHERE :name IS NULL OR name = :name ORDER BY id",
                {"name": conversation},
            ).fetchall()
            rows = execute(
                f"{_ENTRY} WHERE :name IS NULL OR v.name = :name ORDER BY e.seq",
                {"name": conversation},
            ).fetchall()
        yield canonical.dumps({"format": 1, "type": "ledger"})
        for row in rows:
            yield canonical.dumps(_entry_form(_entry(row)))
        for name, number, digest, base, base_head in heads:
            yield canonical.dumps(
                {
                    "base": {"digest": base_head, "number": base},
                    "conversation": name,
                    "digest": digest,
                    "number": number,
                    "type": "head",
                }
            )


def _entry(row: Any) -> Entry:
    seq, name, number, kind, time, text, previous, digest = row
    return Entry(
        seq=seq,
        conversation=name,
        number=number,
        kind=kind,
        time=time,
        text=text,
        previous=previous,
        digest=digest,
    )


def _entry_form(entry: Entry) -> dict[str, Any]:
    return {
        "body": entry.body,
        "conversation": entry.conversation,
        "digest": entry.digest,
        "kind": entry.kind,
        "number": entry.number,
        "previous": entry.previous,
        "seq": entry.seq,
        "time": entry.time,
        "type": "entry",
    }


def _event(entry: Entry) -> Event:
    return Event(
        seq=entry.seq,
        conversation=entry.conversation,
        kind=entry.kind,
        time=entry.time,
        body=entry.body,
    )


def _check_file(execute: Any) -> Iterator[Fault]:
    try:
        for (text,) in execute("PRAGMA quick_check(20)").fetchall():
            if text != "ok":
                yield Fault("", None, f"the file is damaged: {text}")
    except sqlite3.DatabaseError as error:
        yield Fault("", None, f"the file is damaged: {error}")
