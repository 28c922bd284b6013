"""The store of artifacts: namespaces with a quota over verified blobs."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sqlite3
import time

from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from toolcrib import canonical
from toolcrib.errors import RecordError, Unavailable
from toolcrib.outcome import ArtifactLink

from .blobs import Blobs, Healed, hex_of, unknown
from .index import Artifact, Index


__all__ = ["ArtifactStore", "Namespace", "Quota", "SessionArtifacts"]

_MEDIA_TYPE: Final = re.compile(
    r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9*][a-z0-9!#$&^_.+-]{0,126}"
    r"(?: *; *[^\x00-\x1f\x7f]{1,200})?",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_TITLE: Final = 500


@attrs.frozen(kw_only=True)
class Quota:
    """How much one namespace may hold.

    Attributes:
        items: Most blobs.
        total: Most bytes together.
        item: Most bytes of one.
        evict: Whether what was used least recently makes room, unless it is pinned;
            otherwise a full namespace refuses.
    """

    items: int = 1024
    total: int = 256 << 20
    item: int = 64 << 20
    evict: bool = True


class ArtifactStore:
    """Artifacts of all sessions of one user, below one folder of mode 0700.

    Every namespace has its own blobs: what another one stored is as unknown as what
    nobody did. Several processes may use one store at once.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        quota: Quota | None = None,
        show_paths: bool = False,
    ) -> None:
        """Open a store.

        Args:
            root: Its folder; made when it is missing.
            clock: Seconds since the epoch.
            quota: For each namespace.
            show_paths: Whether :meth:`Namespace.path` tells where a file lies.

        Raises:
            RecordError: the folder is open to others or holds something else.
        """
        self.root = Path(root).absolute()
        self.clock = clock
        self.quota = quota or Quota()
        self.show_paths = show_paths
        self.index = Index(self.root / "index.db")

    def namespace(self, *scope: str) -> Namespace:
        """Return the namespace of a scope, such as ``("conversation", name)``.

        The parts are hashed together and never become parts of a path.

        Raises:
            RecordError: no part, an empty one, or one with a null character.
        """
        if not scope or any(not part or "\0" in part for part in scope):
            text = f"a namespace of artifacts needs names, not {scope!r}"
            raise RecordError(text)
        return Namespace(self, scope)

    def session(self, *scope: str) -> SessionArtifacts:
        """Return the namespace of a scope as a running tool sees it."""
        return SessionArtifacts(self.namespace(*scope))

    def namespaces(self) -> tuple[tuple[str, ...], ...]:
        """Return the scopes that hold artifacts."""
        return tuple(tuple(canonical.loads(name)) for _, name in self.index.namespaces())

    def expire(self) -> int:
        """Remove what has expired, in all namespaces; return how many references."""
        return sum(self.namespace(*scope).expire() for scope in self.namespaces())

    def heal(self) -> dict[tuple[str, ...], Healed]:
        """Scan all namespaces; see :meth:`Namespace.heal`."""
        return {scope: self.namespace(*scope).heal() for scope in self.namespaces()}

    def close(self) -> None:
        """Close the store."""
        self.index.close()


class Namespace:
    """The artifacts of one scope."""

    def __init__(self, store: ArtifactStore, scope: tuple[str, ...]) -> None:
        self._store = store
        self._name = canonical.dumps(list(scope))
        self._folder = hashlib.sha256(self._name.encode()).hexdigest()
        self._index = store.index
        self._blobs = Blobs(store.root / self._folder)

    def put(
        self,
        data: bytes,
        *,
        media_type: str,
        title: str | None = None,
        expires: float | None = None,
        pinned: bool = False,
    ) -> ArtifactLink:
        """Store bytes and return their link; it is on disk when this returns.

        The same bytes are stored once, whatever they are called; each name and type
        they were given stays.

        Args:
            data: The bytes.
            media_type: Such as ``image/png``.
            title: For people, or None.
            expires: Seconds since the epoch after which it may go.
            pinned: Keep it whatever needs room.

        Raises:
            Unavailable: there is no room (``artifact.quota``).
            ValueError: the media type is none.
            RecordError: it cannot be written.
        """
        if _MEDIA_TYPE.fullmatch(media_type) is None:
            text = f"{media_type!r} is not a media type such as 'text/plain'"
            raise ValueError(text)
        name = hashlib.sha256(data).hexdigest()
        artifact = Artifact(
            digest="sha256:" + name,
            size=len(data),
            media_type=media_type,
            title=_tidy(title),
            created=self._store.clock(),
            expires=expires,
            pinned=pinned,
        )
        try:
            self._store_bytes(data, name, artifact)
        except OSError as error:
            self._give_up(name)
            text = f"{self._store.root}: an artifact cannot be written ({error.strerror})"
            raise RecordError(text) from error
        return artifact.link

    def _give_up(self, name: str) -> None:
        """Remove what a failed write left, unless it is another writer's by now."""
        with contextlib.suppress(RecordError, OSError), self._index.writing():
            if not self._index.has(self._folder, name):
                self._blobs.remove(name)

    def _store_bytes(self, data: bytes, name: str, artifact: Artifact) -> None:
        known = self._index.has(self._folder, name)
        if not known:
            self._check_size(len(data))
        if not (known and self._blobs.holds(name, len(data))):
            self._blobs.write(data, name)
        with self._index.writing() as connection:
            known = self._index.has(self._folder, name)
            if not known:
                self._make_room(connection, name, len(data))
            # Another process may have removed it for age or room since we looked; now
            # nobody can, because removal needs this transaction too.
            if not self._blobs.exists(name):
                self._blobs.write(data, name)
            self._index.add(
                connection, self._folder, name, artifact, namespace=self._name, known=known
            )

    def _check_size(self, size: int) -> None:
        quota = self._store.quota
        if size > quota.item or size > quota.total:
            most = min(quota.item, quota.total)
            text = f"An artifact of {size} bytes is larger than allowed ({most} bytes)."
            raise Unavailable(text, code="artifact.quota")

    def _make_room(self, connection: sqlite3.Connection, name: str, size: int) -> None:
        """Remove what was used least recently until there is room; inside writing."""
        quota = self._store.quota
        items, total = self._index.total(self._folder)
        if items < quota.items and total + size <= quota.total:
            return
        sizes = self._index.sizes(self._folder)
        free = [old for old, (_, pinned) in sizes.items() if not pinned] if quota.evict else []
        gone: list[str] = []
        left, held = items, total
        for old in sorted(free, key=self._blobs.used):
            if left < quota.items and held + size <= quota.total:
                break
            gone.append(old)
            left, held = left - 1, held - sizes[old][0]
        if left >= quota.items or held + size > quota.total:
            self._blobs.remove(name)
            text = (
                f"There is no room for {size} more bytes: {items} artifacts hold {total} "
                f"bytes of {quota.total}. Remove some, or raise the quota."
            )
            raise Unavailable(text, code="artifact.quota")
        self._index.remove(connection, self._folder, gone)
        for old in gone:
            self._blobs.remove(old)

    def get(self, digest: str, *, start: int = 0, size: int | None = None) -> bytes:
        """Return bytes, or a range of them; all of them are verified first.

        Raises:
            NotFound: this namespace has none of this digest (``artifact.unknown``).
            Failed: they were changed on disk (``artifact.damaged``).
            ValueError: the range is negative.
        """
        if start < 0 or (size is not None and size < 0):
            text = f"a range starts at 0 or later, not at {start} for {size}"
            raise ValueError(text)
        return self._blobs.read(hex_of(digest), start, size, self._store.clock())

    def list(self, digest: str | None = None) -> tuple[Artifact, ...]:
        """Return all references, or those to one digest, oldest first."""
        return self._index.list(self._folder, None if digest is None else hex_of(digest))

    def path(self, digest: str) -> Path | None:
        """Return where a verified file lies, or None if the store does not say."""
        self.get(digest)
        return self._blobs.folder / hex_of(digest) if self._store.show_paths else None

    def pin(self, digest: str, *, pinned: bool = True) -> None:
        """Keep an artifact whatever its age and whatever needs room, or let it go.

        Raises:
            NotFound: this namespace has none of this digest.
        """
        with self._index.writing() as connection:
            changed = connection.execute(
                "UPDATE artifacts SET pinned = ? WHERE folder = ? AND name = ?",
                (pinned, self._folder, hex_of(digest)),
            )
            if not changed.rowcount:
                raise unknown(digest)

    def remove(self, digest: str) -> None:
        """Remove an artifact and all references to it.

        Raises:
            NotFound: this namespace has none of this digest.
        """
        name = hex_of(digest)
        with self._index.writing() as connection:
            if not self._index.remove(connection, self._folder, [name]):
                raise unknown(digest)
            self._blobs.remove(name)

    def expire(self, *, unused_for: float | None = None, trial: bool = False) -> int:
        """Remove what has expired and is not pinned; return how many references.

        Args:
            unused_for: Remove also what was not read for so many seconds.
            trial: Count what would go, and keep all of it.
        """
        now = self._store.clock()
        with self._index.writing() as connection:
            connection.execute("SAVEPOINT before")
            before = self._index.sizes(self._folder)
            gone = connection.execute(
                "DELETE FROM artifacts WHERE folder = ? AND expires <= ? AND pinned = 0",
                (self._folder, now),
            ).rowcount
            idle = [
                name
                for name, (_, pinned) in before.items()
                if unused_for is not None
                and not pinned
                and now - self._blobs.used(name) >= unused_for
            ]
            gone += self._index.remove(connection, self._folder, idle)
            if trial:
                connection.execute("ROLLBACK TO before")
                return gone
            for name in before.keys() - self._index.sizes(self._folder).keys():
                self._blobs.remove(name)
        return gone

    def clear(self) -> None:
        """Remove the whole namespace: references and bytes."""
        with self._index.writing() as connection:
            connection.execute("DELETE FROM artifacts WHERE folder = ?", (self._folder,))
            connection.execute("DELETE FROM namespaces WHERE folder = ?", (self._folder,))
            shutil.rmtree(self._blobs.folder, ignore_errors=True)

    def heal(self) -> Healed:
        """Put the folder in order after crashes and damage; nothing whole is lost.

        References to bytes that are damaged or gone are removed too, so that what is
        listed can be read.
        """
        with self._index.writing() as connection:
            known = set(self._index.sizes(self._folder))
            healed = self._blobs.heal(known, self._store.clock())
            lost = [hex_of(digest) for digest in (*healed.damaged, *healed.missing)]
            self._index.remove(connection, self._folder, lost)
        return healed


class SessionArtifacts:
    """A namespace as a running tool sees it; the disk never blocks the event loop."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    async def put(
        self, data: bytes, *, media_type: str, title: str | None = None
    ) -> ArtifactLink:
        """Store bytes and return the link."""
        import asyncio  # noqa: PLC0415 - the store itself is usable without it

        return await asyncio.to_thread(
            self._namespace.put, data, media_type=media_type, title=title
        )

    async def get(self, digest: str, *, start: int = 0, size: int | None = None) -> bytes:
        """Return bytes, or a range of them; a foreign digest is an unknown one."""
        import asyncio  # noqa: PLC0415

        return await asyncio.to_thread(self._namespace.get, digest, start=start, size=size)


def _tidy(title: str | None) -> str | None:
    """Return a title that every file of metadata can hold, or None."""
    if title is None:
        return None
    text = title.encode(errors="replace").decode().replace("\0", "")
    return text[:_LONGEST_TITLE] or None
