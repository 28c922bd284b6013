"""A private SQLite file: opened with care, migrated, checked, copied, exported."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs


__all__ = ["Database", "DatabaseError"]


class DatabaseError(Exception):
    """Raised when a file cannot be used; it was not touched."""


@attrs.frozen(kw_only=True)
class Kind:
    """What kind of file it is.

    Attributes:
        application: Number in the file's head that tells it from anybody else's.
        migrations: Scripts, each from one version to the next; the first makes a new file.
    """

    application: int
    migrations: tuple[str, ...]


class Database:
    """One file (0600), shared by threads and processes.

    Args:
        path: Where it is; None: in memory.
        application, migrations: See :class:`Kind`.

    Raises:
        DatabaseError: it is somebody else's, damaged, or newer than this code.
    """

    def __init__(
        self, path: Path | None, *, application: int, migrations: Sequence[str]
    ) -> None:
        self.path = path
        self._kind = Kind(application=application, migrations=tuple(migrations))
        self._lock = threading.RLock()
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._connection = sqlite3.connect(
            path if path is not None else ":memory:",
            timeout=30.0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        self._connection.row_factory = sqlite3.Row
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            text = f"{path} is damaged; it was left as it is. Restore a backup: {error}"
            raise DatabaseError(text) from error
        except DatabaseError:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        database = self._connection
        database.execute("PRAGMA busy_timeout = 30000")
        version = self._look()
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA foreign_keys = ON")
        if version == len(self._kind.migrations):
            return
        with self.write():
            # Another process may have been faster.
            version = database.execute("PRAGMA user_version").fetchone()[0]
            for script in self._kind.migrations[version:]:
                for statement in script.split(";"):
                    if statement.strip():
                        database.execute(statement)
            database.execute(f"PRAGMA application_id = {self._kind.application}")
            database.execute(f"PRAGMA user_version = {len(self._kind.migrations)}")

    def _look(self) -> int:
        """Return the file's version, without writing: what is not ours stays as it is."""
        database, kind = self._connection, self._kind
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = database.execute("PRAGMA application_id").fetchone()[0]
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        if found != kind.application and (tables or found):
            text = f"{self.path} belongs to something else; move it away"
            raise DatabaseError(text)
        if version > len(kind.migrations):
            text = f"{self.path} was written by a newer version of this pack; install that one"
            raise DatabaseError(text)
        return version

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Hold one transaction that writes: all of it, or nothing."""
        with self._lock:
            database = self._connection
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Look; several statements may see different moments."""
        with self._lock:
            yield self._connection

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
        """
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        copy = sqlite3.connect(target)
        try:
            with self.read() as database:
                database.backup(copy)
        finally:
            copy.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
