"""Transactions and the append of one chained entry: what every part of the ledger uses."""

from __future__ import annotations

import os
import sqlite3
import threading

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final

from toolcrib import canonical
from toolcrib.errors import RecordError

from .chain import link
from .database import explain
from .runs import Runs


__all__ = ["OWN", "Journal"]

#: Name of the ledger's own chain: which conversations began and which were forgotten.
OWN: Final = ""

_NEW_HEAD: Final = (
    "UPDATE conversations SET entries = ?, head = ? WHERE id = ? AND entries = ? AND head = ?"
)
_NEW_ENTRY: Final = (
    "INSERT INTO entries (conversation, number, kind, call, time, body, previous, digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class _Head:
    """The newest entry of a conversation, as far as this process knows."""

    __slots__ = ("digest", "id", "number")

    def __init__(self, identity: int, number: int, digest: str) -> None:
        self.id = identity
        self.number = number
        self.digest = digest


class _Transaction:
    """A transaction of the journal's connection, held by one thread."""

    __slots__ = ("_begin", "_journal")

    def __init__(self, journal: Journal, begin: str) -> None:
        self._journal = journal
        self._begin = begin

    def __enter__(self) -> Callable[..., sqlite3.Cursor]:
        journal = self._journal
        journal._lock.acquire()  # noqa: SLF001 - two halves of one thing
        try:
            return journal._enter(self._begin)  # noqa: SLF001
        except BaseException:
            journal._lock.release()  # noqa: SLF001
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        journal = self._journal
        try:
            journal._leave(error)  # noqa: SLF001
        finally:
            journal._lock.release()  # noqa: SLF001


class Journal:
    """A connection, its lock, and the heads of the conversations' chains."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        place: str,
        clock: Callable[[], float],
        runs: Runs | None,
    ) -> None:
        self.place = place
        self._connection: sqlite3.Connection | None = connection
        self._execute = connection.execute
        self._clock = clock
        self._runs = runs
        self._lock = threading.RLock()
        self._heads: dict[str, _Head] = {}
        self._process = os.getpid()
        self._writing = _Transaction(self, "BEGIN IMMEDIATE")
        self._reading = _Transaction(self, "BEGIN")  # several statements, one state
        self._looking = _Transaction(self, "")

    @property
    def shared(self) -> bool:
        """Whether other processes can see it: it is on disk."""
        return self._runs is not None

    def close(self) -> None:
        """Close the ledger; what runs may go on, but cannot be recorded."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._runs is not None:
                self._runs.close()

    def _enter(self, begin: str) -> Callable[..., sqlite3.Cursor]:
        if self._connection is None:
            text = f"{self.place}: the ledger is closed"
            raise RecordError(text)
        if os.getpid() != self._process:
            text = f"{self.place}: opened before a fork; open it again in the new process"
            raise RecordError(text)
        try:
            self._settle()
            if begin:
                self._execute(begin)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._rollback()
            raise explain(error, self.place) from error
        return self._execute

    def _leave(self, error: BaseException | None) -> None:
        if error is None:
            try:
                if self._connection is not None and self._connection.in_transaction:
                    self._execute("COMMIT")
            except sqlite3.Error as failure:
                self._rollback()
                raise explain(failure, self.place) from failure
            return
        self._rollback()
        if isinstance(error, sqlite3.Error | UnicodeDecodeError) and not isinstance(
            error, sqlite3.IntegrityError
        ):
            raise explain(error, self.place) from error
        if isinstance(error, UnicodeEncodeError):
            text = f"{self.place}: a name or id holds half a character ({error.reason})"
            raise RecordError(text) from error

    def _settle(self) -> None:
        """Bring the tables up to date; the ledger in memory writes behind."""

    def _rollback(self) -> None:
        self._heads.clear()
        if self._connection is not None and self._connection.in_transaction:
            self._execute("ROLLBACK")

    def _find(self, name: str) -> _Head | None:
        """Return the head of a conversation, or None if nothing is known of it."""
        row = self._execute(
            "SELECT id, entries, head FROM conversations WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            return None
        head = self._heads[name] = _Head(*row)
        return head

    def _head(self, name: str) -> _Head:
        """Return the head of a conversation, beginning the conversation if need be."""
        head = self._find(name)
        if head is None:
            new = self._execute("INSERT INTO conversations (name) VALUES (?)", (name,))
            head = self._heads[name] = _Head(new.lastrowid or 0, 0, "")
            if name != OWN:
                self._append(OWN, "began", f'{{"conversation":{canonical.dumps(name)}}}')
        return head

    def _append(
        self,
        name: str,
        kind: str,
        body: str,
        *,
        call: str | None = None,
        at: float | None = None,
    ) -> int:
        """Append an entry to a conversation's chain; return its place in the ledger."""
        now = self._clock() if at is None else at
        head = self._heads.get(name) or self._head(name)
        while True:
            number = head.number + 1
            digest = link(
                body=body,
                conversation=name,
                kind=kind,
                number=number,
                previous=head.digest,
                time=now,
            )
            change = (number, digest, head.id, head.number, head.digest)
            if self._execute(_NEW_HEAD, change).rowcount == 1:
                break
            head = self._head(name)  # another process wrote since we looked
        row = (head.id, number, kind, call, now, body, head.digest, digest)
        head.number, head.digest = number, digest
        return self._execute(_NEW_ENTRY, row).lastrowid or 0

    def _rows(
        self, statement: str, values: tuple[Any, ...] | Mapping[str, Any] = ()
    ) -> list[Any]:
        """Return the rows of one statement."""
        with self._looking as execute:
            return execute(statement, values).fetchall()
