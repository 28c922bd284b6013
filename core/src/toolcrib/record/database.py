"""The ledger's SQLite file: how it is opened, checked, made and brought up to date."""

from __future__ import annotations

import os
import sqlite3
import time

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from toolcrib.errors import RecordError
from toolcrib.ownership import check_private_file, check_private_folder, create_private_file
from toolcrib.vocabulary import Durability


__all__ = ["VERSION", "connect", "explain"]

#: "tcrb": tells a ledger from any other SQLite file.
APPLICATION: Final = 0x74637262
VERSION: Final = 1
_SMALLEST: Final = 512  # the smallest page of SQLite

_SCHEMA: Final = """
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL DEFAULT 0,
    head TEXT NOT NULL DEFAULT '',
    base INTEGER NOT NULL DEFAULT 0,
    base_head TEXT NOT NULL DEFAULT '',
    base_seq INTEGER NOT NULL DEFAULT 0
);
INSERT INTO conversations (id, name) VALUES (0, '');
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    call TEXT,
    time REAL NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (conversation, number)
);
CREATE TABLE calls (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation INTEGER NOT NULL,
    response TEXT,
    position INTEGER NOT NULL,
    provider TEXT,
    tool TEXT NOT NULL,
    arguments TEXT,
    run TEXT,
    entry INTEGER NOT NULL
);
-- Without what has no key: each page that a call changes is written to the log anew.
CREATE UNIQUE INDEX calls_key ON calls (conversation, response, position)
    WHERE response IS NOT NULL;
CREATE UNIQUE INDEX calls_provider ON calls (conversation, provider)
    WHERE provider IS NOT NULL AND run IS NOT NULL;
CREATE TABLE outcomes (
    call INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL,
    body TEXT NOT NULL,
    pruned INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    response TEXT,
    created REAL NOT NULL,
    payload TEXT NOT NULL
);
CREATE INDEX batches_response ON batches (conversation, response);
CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    batch TEXT NOT NULL,
    call TEXT NOT NULL,
    body TEXT NOT NULL,
    decision TEXT,
    decided REAL
);
CREATE INDEX questions_conversation ON questions (conversation, batch);
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    conversation INTEGER NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    arguments TEXT,
    principal TEXT NOT NULL,
    scope TEXT NOT NULL,
    bound TEXT NOT NULL,
    expires REAL,
    uses_left INTEGER,
    revoked INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL
);
CREATE INDEX grants_cover ON grants (tool, arguments);
CREATE TABLE keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created REAL NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
"""

#: From a version to the next one. A migration runs inside one transaction.
_MIGRATIONS: Final[Mapping[int, Callable[[sqlite3.Connection], None]]] = {}

_ASIDE = "move it aside (with its -wal and -shm files) and start again; nothing was changed"
_ADVICE: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_NOTADB: f"is not a ledger: {_ASIDE}",
    sqlite3.SQLITE_CORRUPT: f"is damaged: save it, then {_ASIDE}",
    sqlite3.SQLITE_FULL: "cannot grow: the disk or the ledger's size limit is full; free space",
    sqlite3.SQLITE_BUSY: "is held by another process for too long; try again",
    sqlite3.SQLITE_READONLY: "cannot be written: check its owner and mode",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check its folder's owner and mode",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk and its free space",
}


def explain(error: sqlite3.Error | UnicodeDecodeError, place: str) -> RecordError:
    """Return what a failure of SQLite means for the ledger, and what to do next."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, UnicodeDecodeError) or "decode" in str(error):
        code = sqlite3.SQLITE_CORRUPT  # a name or a text in it is none any more
    return RecordError(f"{place}: {_ADVICE.get(code, 'failed')} ({error})")


def connect(
    path: Path | None,
    *,
    durability: Durability,
    wait: float,
    max_bytes: int | None,
) -> sqlite3.Connection:
    """Open a ledger's file, making it if it does not exist; None is in memory.

    Raises:
        RecordError: the file is somebody else's, open to others, damaged, foreign or
            newer than this toolcrib. It is never changed then.
    """
    if path is not None:
        _prepare(path)
    place = str(path or ":memory:")
    name = ":memory:" if path is None else f"{path.absolute().as_uri()}?mode=rw"
    connection = None
    try:
        connection = sqlite3.connect(
            name,
            uri=path is not None,
            timeout=wait,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        _recognise(connection, place)
        _configure(connection, durability, wait, max_bytes, stored=path is not None)
        _migrate(connection, place)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if connection is not None:
            connection.close()
        raise explain(error, place) from error
    except RecordError:
        if connection is not None:
            connection.close()
        raise
    return connection


def _prepare(path: Path) -> None:
    """Check folder and file, and make the file ours before SQLite sees it."""
    try:
        check_private_folder(path.parent)
        found = check_private_file(path)
        if found is None:
            try:
                os.close(create_private_file(path))
            except FileExistsError:
                check_private_file(path)
        elif 0 < found.st_size < _SMALLEST:  # SQLite would take it for an empty one
            text = f"{path}: {_ADVICE[sqlite3.SQLITE_NOTADB]}"
            raise RecordError(text)
    except OSError as error:
        text = f"{path}: cannot be made ({error.strerror}); name another path"
        raise RecordError(text) from error


def _value(connection: sqlite3.Connection, statement: str) -> int:
    value: int = connection.execute(statement).fetchone()[0]
    return value


def _recognise(connection: sqlite3.Connection, place: str) -> None:
    """Refuse a file that is not a ledger of ours, before anything is written to it."""
    application = _value(connection, "PRAGMA application_id")
    version = _value(connection, "PRAGMA user_version")
    if application == 0 and not _value(connection, "SELECT count(*) FROM sqlite_master"):
        return
    if application != APPLICATION:
        text = f"{place}: is another program's database: {_ASIDE}"
        raise RecordError(text)
    if version > VERSION:
        text = (
            f"{place}: was written by a newer toolcrib (format {version}, this one reads "
            f"up to {VERSION}); upgrade toolcrib or name another ledger"
        )
        raise RecordError(text)


def _configure(
    connection: sqlite3.Connection,
    durability: Durability,
    wait: float,
    max_bytes: int | None,
    *,
    stored: bool,
) -> None:
    if stored:
        _use_wal(connection, wait)
    level = "FULL" if durability is Durability.FULL else "NORMAL"
    connection.execute(f"PRAGMA synchronous={level if stored else 'OFF'}")
    # A larger log is written back less often; each time costs two syncs.
    connection.execute("PRAGMA wal_autocheckpoint=4000")
    connection.execute("PRAGMA secure_delete=ON")
    if max_bytes is not None:
        size = _value(connection, "PRAGMA page_size")
        connection.execute(f"PRAGMA max_page_count={max(1, max_bytes // size)}")


def _use_wal(connection: sqlite3.Connection, wait: float) -> None:
    # SQLite does not wait for another connection while it changes the journal's kind.
    until = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return


def _migrate(connection: sqlite3.Connection, place: str) -> None:
    if _value(connection, "PRAGMA user_version") == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _value(connection, "PRAGMA user_version")
        if version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION}")
        else:
            for step in range(version, VERSION):
                _MIGRATIONS[step](connection)
        connection.execute(f"PRAGMA user_version={VERSION}")
    except KeyError as error:
        connection.execute("ROLLBACK")
        text = f"{place}: has format {error}, which this toolcrib cannot bring up to date"
        raise RecordError(text) from error
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
