"""The file of jobs: made, or opened if it is ours; what is not ours is never touched."""

from __future__ import annotations

import os
import sqlite3

from pathlib import Path

from toolcrib.errors import RecordError


__all__ = ["open_jobs"]

_VERSION = 2
_APPLICATION = 0x74634A31  # "tcJ1": what tells our file from anybody else's
_SCHEMA = """
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    arguments TEXT NOT NULL,
    result TEXT,
    error TEXT,
    started REAL NOT NULL,
    ended REAL,
    size INTEGER,
    kept_from INTEGER,
    host_pid INTEGER NOT NULL,
    host_start TEXT NOT NULL,
    stop_asked REAL
);
CREATE INDEX jobs_owner ON jobs (owner, seq);
CREATE INDEX jobs_running ON jobs (kind) WHERE status = 'running';
"""


def open_jobs(path: Path) -> sqlite3.Connection:
    """Open the records; a file that is not ours is never touched."""
    new = not path.exists() or path.stat().st_size == 0
    if new:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    database = sqlite3.connect(
        path, timeout=10.0, isolation_level=None, check_same_thread=False
    )
    database.row_factory = sqlite3.Row
    try:
        _look_at(database, path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = database.execute("PRAGMA application_id").fetchone()[0]
        if tables == 0 and found == 0:
            for statement in _SCHEMA.split(";"):
                if statement.strip():
                    database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
        elif database.execute("PRAGMA user_version").fetchone()[0] == 1:
            database.execute("ALTER TABLE jobs ADD COLUMN stop_asked REAL")
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        database.close()
        text = f"{path} is damaged and was not touched: {error}"
        raise RecordError(text) from error
    except RecordError:
        database.close()
        raise
    return database


def _look_at(database: sqlite3.Connection, path: Path) -> None:
    """Look without writing: a file that is not ours is left as it is."""
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    found = database.execute("PRAGMA application_id").fetchone()[0]
    if found != _APPLICATION and (tables or found):
        text = f"{path} is not a file of jobs; move it away, or choose another folder"
        raise RecordError(text)
    if database.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
        text = f"{path} was written by a newer version; install that one"
        raise RecordError(text)
