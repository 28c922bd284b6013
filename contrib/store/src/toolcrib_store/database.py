"""One SQLite file, shared by threads and processes."""

from __future__ import annotations

import sqlite3
import threading

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from .errors import BusyError, DatabaseError
from .opening import check_private, make_private, version_of


__all__ = ["Database"]

_BUSY = 5  # SQLITE_BUSY, in the low byte of an error's code


class _Block:
    """A block of statements on the connection, which no other thread uses meanwhile."""

    __slots__ = ("_begin", "_database")

    def __init__(self, database: Database, begin: str | None) -> None:
        self._database = database
        self._begin = begin

    def __enter__(self) -> sqlite3.Connection:
        database = self._database
        database.lock.acquire()
        if self._begin is not None:
            try:
                database.connection.execute(self._begin)
            except BaseException as error:
                database.lock.release()
                database.explain(error)
                raise
        return database.connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        database = self._database
        try:
            if self._begin is not None:
                self._end(database.connection, failed=kind is not None)
            if error is not None:
                database.explain(error)
        except sqlite3.Error as failure:
            database.explain(failure)
            raise
        finally:
            database.lock.release()
        return False

    @staticmethod
    def _end(connection: sqlite3.Connection, *, failed: bool) -> None:
        try:
            if not failed:
                connection.execute("COMMIT")
        finally:
            # After some failures, such as a full disk, SQLite has rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")


class Database:
    """One file (0600), shared by threads and processes.

    Args:
        path: Where it is, in a folder that is made if it is not there; None: in memory.
        application: Number in the file's head that tells it from anybody else's.
        migrations: Scripts, each from one version to the next; the first makes a new
            file. Their statements are parted by semicolons.
        patience: Seconds to wait for another process that writes.

    Attributes:
        path: Where it is.
        connection: The connection; use it inside of a block.
        lock: What a block holds.

    Raises:
        DatabaseError: it is somebody else's, open to others, damaged, or newer than this
            code; it was not touched.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        application: int,
        migrations: Sequence[str],
        patience: float = 30.0,
    ) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._application = application
        self._migrations = tuple(migrations)
        if path is not None:
            check_private(path)
        self.connection = self._connected(patience)
        try:
            self._prepare()
        except BaseException as error:
            self.connection.close()
            self.explain(error)
            raise

    def _connected(self, patience: float) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path if self.path is not None else ":memory:",
                timeout=patience,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
        except sqlite3.Error as error:
            self.explain(error)
            raise
        connection.row_factory = sqlite3.Row
        return connection

    def _prepare(self) -> None:
        database, newest = self.connection, len(self._migrations)
        version = version_of(database, self.path, self._application, newest)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        # Sixteen megabytes: what many small changes touch again and again is copied less.
        database.execute("PRAGMA wal_autocheckpoint = 4000")
        database.execute("PRAGMA foreign_keys = ON")
        if version == newest:
            return
        with self.write():
            # Another process may have been faster.
            version = version_of(database, self.path, self._application, newest)
            for script in self._migrations[version:]:
                for statement in script.split(";"):
                    if statement.strip():
                        database.execute(statement)
            database.execute(f"PRAGMA application_id = {self._application}")
            database.execute(f"PRAGMA user_version = {newest}")

    def explain(self, error: BaseException) -> None:
        """Raise what is to be said of an error, if it is one of the file's.

        What is wrong with a statement is for who wrote it, and stays as it is.
        """
        if isinstance(error, sqlite3.OperationalError):
            code = getattr(error, "sqlite_errorcode", None)
            if code is not None and code & 0xFF == _BUSY:
                text = f"{self.path} is held by another process; try again"
                raise BusyError(text) from error
            text = f"{self.path} cannot be used now, and nothing was changed: {error}"
            raise DatabaseError(text) from error
        if type(error) is sqlite3.DatabaseError:
            text = f"{self.path} is damaged and left as it is; restore a backup ({error})"
            raise DatabaseError(text) from error

    def write(self) -> _Block:
        """Hold one transaction that writes: all of it, or nothing."""
        return _Block(self, "BEGIN IMMEDIATE")

    def read(self) -> _Block:
        """Look once; several statements may see different moments."""
        return _Block(self, None)

    def snapshot(self) -> _Block:
        """Look several times at one moment."""
        return _Block(self, "BEGIN")

    def check(self) -> list[str]:
        """Return what is damaged; empty is good."""
        with self.read() as database:
            rows = database.execute("PRAGMA integrity_check").fetchall()
            broken = database.execute("PRAGMA foreign_key_check").fetchall()
        found = [row[0] for row in rows if row[0] != "ok"]
        return found + [f"row {row[1]} of {row[0]} points nowhere" for row in broken]

    def backup(self, target: Path) -> None:
        """Copy the whole file, as of one moment, while others write.

        Raises:
            FileExistsError: there is a file of that name.
            DatabaseError: it cannot be copied; there is no half copy.
        """
        make_private(target)
        try:
            copy = sqlite3.connect(target)
            try:
                with self.read() as database:
                    database.backup(copy)
            finally:
                copy.close()
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.connection.close()
