"""A file that is ours, or that we make; what is not ours is never touched."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat

from pathlib import Path

from .errors import DatabaseError


__all__ = ["check_private", "make_private", "version_of"]

_POSIX = os.name == "posix"


def make_private(path: Path) -> None:
    """Make an empty file (0600).

    Raises:
        FileExistsError: something is there already, be it a link to nowhere.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, 0o600))


def check_private(path: Path) -> None:
    """Make a file, or refuse one that somebody else could read or have put there.

    It is not opened: closing a descriptor would drop the locks that SQLite holds on it
    for another connection of this process.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            make_private(path)
        found = path.lstat()
    except OSError as error:
        text = f"{path} cannot be made or looked at: {error.strerror}"
        raise DatabaseError(text) from error
    if not stat.S_ISREG(found.st_mode):
        text = f"{path} is not a regular file; move it away"
        raise DatabaseError(text)
    if _POSIX and found.st_uid != os.geteuid():
        text = f"{path} belongs to user {found.st_uid}, not to you ({os.geteuid()})"
        raise DatabaseError(text)
    if _POSIX and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        text = f"{path} is open to other users; look at it, then: chmod 600"
        raise DatabaseError(text)


def version_of(
    database: sqlite3.Connection, path: Path | None, application: int, newest: int
) -> int:
    """Return a file's version, 0 for a new one, without writing.

    Raises:
        DatabaseError: it is not ours, or newer than this code.
    """
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    found = database.execute("PRAGMA application_id").fetchone()[0]
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    if found != application and (tables or found):
        text = f"{path} belongs to something else; move it away"
        raise DatabaseError(text)
    if version > newest:
        text = f"{path} was written by a newer version of this pack; install that one"
        raise DatabaseError(text)
    return version
