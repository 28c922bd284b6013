"""Batches, questions and decisions: what outlives the process that asked."""

from __future__ import annotations

import sqlite3

from collections.abc import Iterable
from typing import Any, Final

import attrs

from toolcrib import canonical
from toolcrib.errors import RecordError
from toolcrib.question import Decision, Question

from .damage import readable
from .forms import (
    decision_from_json,
    decision_to_json,
    question_from_json,
    question_to_json,
    text_of,
)
from .journal import Journal


__all__ = ["Approvals", "Batch", "Inquiry"]

_LARGEST: Final = 1 << 30
_QUESTIONS: Final = (
    "SELECT q.body, q.decision, q.decided, o.call IS NOT NULL FROM questions q "
    "LEFT JOIN calls c ON c.id = q.call LEFT JOIN outcomes o ON o.call = c.number "
)


@attrs.frozen(kw_only=True)
class Batch:
    """A submitted batch as it was saved; ``payload`` belongs to the session."""

    id: str
    conversation: str
    created: float
    payload: canonical.JsonValue = attrs.field(repr=False)

    @property
    def principal(self) -> str | None:
        """For whom it was submitted."""
        return self.payload.get("principal") if isinstance(self.payload, dict) else None


@attrs.frozen(kw_only=True)
class Inquiry:
    """A question, and how it stands.

    Attributes:
        question: What is asked.
        decision: What was answered, or None.
        decided: When, in seconds since the epoch.
        closed: Whether the call has ended, so that an answer changes nothing.
    """

    question: Question
    decision: Decision | None = None
    decided: float | None = None
    closed: bool = False

    @property
    def pending(self) -> bool:
        """Whether an answer is still awaited."""
        return self.decision is None and not self.closed


class Approvals(Journal):
    """The part of the ledger that a person's answers live in."""

    def save_batch(
        self,
        batch_id: str,
        conversation: str,
        payload: canonical.JsonValue,
        *,
        response_digest: str | None = None,
        questions: Iterable[Question] = (),
    ) -> None:
        """Save a submitted batch and its questions in one write.

        Raises:
            RecordError: it cannot be written, or the id is taken.
        """
        text = canonical.dumps(payload)
        now = self._clock()
        body = canonical.dumps(
            {"batch_id": batch_id, "payload": canonical.digest_bytes(text.encode())}
        )
        try:
            with self._writing as execute:
                self._append(conversation, "batch", body, at=now)
                row = (batch_id, self._heads[conversation].id, response_digest, now, text)
                execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", row)
                for question in questions:
                    self._ask(question)
        except sqlite3.IntegrityError as error:
            message = f"{self.place}: batch {batch_id!r} is saved already ({error})"
            raise RecordError(message) from error

    def load_batch(self, batch_id: str) -> Batch | None:
        """Return a saved batch, or None if there is none."""
        return self._batch("b.id = ?", (batch_id,))

    def find_batch(self, conversation: str, response_digest: str) -> Batch | None:
        """Return the newest batch made from a response, or None if there is none."""
        return self._batch("v.name = ? AND b.response = ?", (conversation, response_digest))

    def _batch(self, where: str, values: tuple[Any, ...]) -> Batch | None:
        rows = self._rows(
            "SELECT b.id, v.name, b.created, b.payload FROM batches b "  # noqa: S608
            f"JOIN conversations v ON v.id = b.conversation WHERE {where} "
            "ORDER BY b.rowid DESC LIMIT 1",
            values,
        )
        if not rows:
            return None
        identity, name, created, text = rows[0]
        payload = _parsed(text)
        return Batch(id=identity, conversation=name, created=created, payload=payload)

    def question(self, question: Question) -> None:
        """Save a question; it stays until it is answered or its call has ended.

        Raises:
            RecordError: it cannot be written, or the id is taken.
        """
        try:
            with self._writing:
                self._ask(question)
        except sqlite3.IntegrityError as error:
            text = f"{self.place}: question {question.id!r} is saved already"
            raise RecordError(text) from error

    def _ask(self, question: Question) -> None:
        form = question_to_json(question)
        text = text_of(form)
        # The chain keeps the digest of what was shown; the text itself may be long.
        body = canonical.dumps(
            {
                "binding": question.binding,
                "call_id": question.call_id,
                "content": canonical.digest_bytes(text.encode()),
                "question_id": question.id,
                "tool_id": question.tool_id,
            }
        )
        self._append(question.conversation, "question", body, call=question.call_id)
        self._execute(
            "INSERT INTO questions (id, conversation, batch, call, body) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                question.id,
                self._heads[question.conversation].id,
                question.batch_id,
                question.call_id,
                text,
            ),
        )

    def decision(
        self, question: Question | str, decision: Decision, *, valid: bool = True
    ) -> Decision:
        """Save the answer to a question; return the one that holds.

        The first answer holds: of two people who answer at once, both learn which.

        Args:
            question: The question, or its id.
            decision: The answer.
            valid: Whether it applies; one that came too late, for a call that changed
                meanwhile, is noted all the same.

        Raises:
            RecordError: no such question, or it cannot be written.
        """
        identity = question if isinstance(question, str) else question.id
        form = text_of(decision_to_json(decision))
        with self._writing as execute:
            row = execute(
                "SELECT v.name, q.call, q.decision FROM questions q "
                "JOIN conversations v ON v.id = q.conversation WHERE q.id = ?",
                (identity,),
            ).fetchone()
            if row is None:
                text = f"{self.place}: no question {identity!r}"
                raise RecordError(text)
            conversation, call_id, standing = row
            if standing is not None:
                return _decision(standing)
            now = self._clock()
            body = (
                f'{{"decision":{form},"question_id":{canonical.dumps(identity)},'
                f'"valid":{canonical.dumps(valid)}}}'
            )
            self._append(conversation, "decision", body, call=call_id, at=now)
            execute(
                "UPDATE questions SET decision = ?, decided = ? WHERE id = ?",
                (form, now, identity),
            )
        return decision

    def questions(
        self,
        conversation: str | None = None,
        *,
        batch_id: str | None = None,
        pending: bool = False,
    ) -> tuple[Inquiry, ...]:
        """Return questions in the order in which they were asked.

        Args:
            conversation: Only those of one conversation.
            batch_id: Only those of one batch.
            pending: Only those that await an answer.
        """
        rows = self._rows(
            f"{_QUESTIONS} JOIN conversations v ON v.id = q.conversation "
            "WHERE (:name IS NULL OR v.name = :name) AND (:batch IS NULL OR q.batch = :batch) "
            "ORDER BY q.rowid",
            {"name": conversation, "batch": batch_id},
        )
        found = (_inquiry(row) for row in rows)
        return tuple(one for one in found if one.pending or not pending)

    def inquiry(self, question_id: str) -> Inquiry | None:
        """Return one question as it stands, or None if there is none."""
        rows = self._rows(f"{_QUESTIONS} WHERE q.id = ?", (question_id,))
        return _inquiry(rows[0]) if rows else None

    def once(self, scope: str, key: str, value: canonical.JsonValue) -> canonical.JsonValue:
        """Store a value under a key unless there is one; return the one that is there.

        Idempotency keys of tools and jobs live here: of all processes that come with
        one key, exactly one sees its own value come back first.
        """
        with self._writing as execute:
            execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (scope, key, canonical.dumps(value), self._clock()),
            )
            row = execute(
                "SELECT value FROM keys WHERE scope = ? AND key = ?", (scope, key)
            ).fetchone()
        return _parsed(row[0])


@readable
def _inquiry(row: Any) -> Inquiry:
    body, decision, decided, closed = row
    return Inquiry(
        question=question_from_json(
            canonical.loads(body, max_bytes=_LARGEST, max_depth=10_000)
        ),
        decision=None if decision is None else _decision(decision),
        decided=decided,
        closed=bool(closed),
    )


@readable
def _decision(text: str) -> Decision:
    return decision_from_json(canonical.loads(text, max_bytes=_LARGEST, max_depth=10_000))


@readable
def _parsed(text: str) -> canonical.JsonValue:
    return canonical.loads(text, max_bytes=_LARGEST, max_depth=10_000)
