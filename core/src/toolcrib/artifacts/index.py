"""What the blobs are: media type, title, age and owner of each reference to one."""

from __future__ import annotations

import os
import sqlite3
import threading

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from toolcrib.errors import RecordError
from toolcrib.outcome import ArtifactLink
from toolcrib.ownership import check_private_file, check_private_folder, create_private_file


__all__ = ["Artifact", "Index"]

_APPLICATION: Final = 0x74637261  # "tcra"
_VERSION: Final = 1
_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS namespaces (
    folder TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    items INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS artifacts (
    number INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL,
    pinned INTEGER NOT NULL DEFAULT 0,
    UNIQUE (folder, name, media_type, title)
);
PRAGMA application_id={_APPLICATION};
PRAGMA user_version={_VERSION};
COMMIT;
"""


@attrs.frozen(kw_only=True)
class Artifact:
    """One reference to stored bytes.

    Attributes:
        digest, size: Of the bytes.
        media_type, title: What this reference calls them.
        created: Seconds since the epoch.
        expires: When it may be removed, or None.
        pinned: Whether it stays whatever its age, and whatever needs room.
    """

    digest: str
    size: int
    media_type: str
    title: str | None
    created: float
    expires: float | None
    pinned: bool

    @property
    def link(self) -> ArtifactLink:
        """The link as it stands in results."""
        return ArtifactLink(self.digest, self.size, self.media_type, self.title)


class Index:
    """The references of all namespaces, in one SQLite file beside the folders."""

    def __init__(self, path: Path, *, wait: float = 10.0) -> None:
        self._path = path
        self._lock = threading.RLock()
        check_private_folder(path.parent, exact=True)
        found = check_private_file(path)
        if found is None:
            try:
                os.close(create_private_file(path))
            except FileExistsError:
                check_private_file(path)
        try:
            self._connection = sqlite3.connect(
                path, timeout=wait, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._explain(error) from error
        try:
            self._recognise(self._connection)
        except BaseException as error:
            self._connection.close()
            if isinstance(error, sqlite3.Error | UnicodeDecodeError):
                raise self._explain(error) from error
            raise

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or see that they are ours."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if (application != _APPLICATION and tables) or version > _VERSION:
            text = (
                f"{self._path}: is not an index of artifacts that this toolcrib can read; "
                "move it aside and start again"
            )
            raise RecordError(text)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        if version != _VERSION:
            connection.executescript(_SCHEMA)

    def _explain(self, error: sqlite3.Error | UnicodeDecodeError) -> RecordError:
        text = (
            f"{self._path}: the index of artifacts cannot be used ({error}); check disk and "
            "modes, or move it aside: a scan then finds what is stored"
        )
        return RecordError(text)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection inside a transaction that excludes other writers."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._explain(error) from error

    def add(
        self,
        connection: sqlite3.Connection,
        folder: str,
        name: str,
        artifact: Artifact,
        *,
        namespace: str,
        known: bool,
    ) -> None:
        """Add a reference; the same one again renews its age. Inside writing."""
        if not known:
            connection.execute(
                "INSERT INTO namespaces VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET "
                "items = items + 1, total = total + excluded.total",
                (folder, namespace, artifact.size),
            )
        connection.execute(
            "INSERT INTO artifacts "
            "(folder, name, size, media_type, title, created, expires, pinned) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "expires = excluded.expires, pinned = max(pinned, excluded.pinned)",
            (
                folder,
                name,
                artifact.size,
                artifact.media_type,
                artifact.title or "",
                artifact.created,
                artifact.expires,
                artifact.pinned,
            ),
        )

    def remove(self, connection: sqlite3.Connection, folder: str, names: Iterable[str]) -> int:
        """Remove all references to blobs; return how many. Inside writing."""
        gone = 0
        for name in names:
            gone += connection.execute(
                "DELETE FROM artifacts WHERE folder = ? AND name = ?", (folder, name)
            ).rowcount
        self.recount(connection, folder)
        return gone

    def recount(self, connection: sqlite3.Connection, folder: str) -> None:
        """Count a namespace anew after something was removed. Inside writing."""
        sizes = self.sizes(folder)
        total = sum(size for size, _ in sizes.values())
        connection.execute(
            "UPDATE namespaces SET items = ?, total = ? WHERE folder = ?",
            (len(sizes), total, folder),
        )

    def has(self, folder: str, name: str) -> bool:
        """Tell whether a namespace refers to a blob."""
        statement = "SELECT 1 FROM artifacts WHERE folder = ? AND name = ? LIMIT 1"
        return bool(self._rows(statement, (folder, name)))

    def _rows(
        self, statement: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[Any]:
        """Return the rows of one statement.

        Raises:
            RecordError: the file is damaged, or cannot be read.
        """
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._explain(error) from error

    def list(self, folder: str, name: str | None = None) -> tuple[Artifact, ...]:
        """Return the references of a namespace, oldest first."""
        rows = self._rows(
            "SELECT name, size, media_type, title, created, expires, pinned "
            "FROM artifacts WHERE folder = :folder AND (:name IS NULL OR name = :name) "
            "ORDER BY number",
            {"folder": folder, "name": name},
        )
        return tuple(
            Artifact(
                digest="sha256:" + name,
                size=size,
                media_type=media_type,
                title=title or None,
                created=created,
                expires=expires,
                pinned=bool(pinned),
            )
            for name, size, media_type, title, created, expires, pinned in rows
        )

    def sizes(self, folder: str) -> dict[str, tuple[int, bool]]:
        """Return size and pin of each blob of a namespace."""
        rows = self._rows(
            "SELECT name, max(size), max(pinned) FROM artifacts WHERE folder = ? GROUP BY name",
            (folder,),
        )
        return {name: (size, bool(pinned)) for name, size, pinned in rows}

    def total(self, folder: str) -> tuple[int, int]:
        """Return how many blobs a namespace has, and their bytes."""
        statement = "SELECT items, total FROM namespaces WHERE folder = ?"
        for items, total in self._rows(statement, (folder,)):
            return items, total
        return 0, 0

    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Return folder and name of each namespace, by name."""
        rows = self._rows("SELECT folder, name FROM namespaces ORDER BY name")
        if any(not isinstance(value, str) for row in rows for value in row):
            error = sqlite3.DatabaseError("the name of a namespace is no text")
            raise self._explain(error)
        return tuple((row[0], row[1]) for row in rows)
