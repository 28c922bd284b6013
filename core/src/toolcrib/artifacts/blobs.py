"""Files named by the SHA-256 of their bytes: given whole or not at all, read verified."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat

from pathlib import Path
from typing import Final

import attrs

from toolcrib.errors import Failed, NotFound
from toolcrib.ownership import check_private_folder, create_private_file, sync_folder


__all__ = ["Blobs", "Healed", "hex_of"]

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
_HEX: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_PART: Final = ".part"
_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_CHUNK: Final = 1 << 20
#: A file without an owner may belong to a writer that is still at work.
_GRACE: Final = 3600.0
#: How fine "last used" is; touching each time would cost a write for each read.
_TOUCH: Final = 60.0


@attrs.frozen(kw_only=True)
class Healed:
    """What a scan put in order.

    Attributes:
        parts: Files of writers that died.
        orphans: Blobs that no artifact refers to.
        damaged: Digests whose bytes are not theirs; removed, so that a put repairs.
        missing: Digests that artifacts refer to and that are gone.
    """

    parts: int = 0
    orphans: int = 0
    damaged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def hex_of(digest: str) -> str:
    """Return the file name of a digest.

    Raises:
        NotFound: it is not one; the answer is that for an unknown one.
    """
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise unknown(digest)
    return found[1]


def unknown(digest: str) -> NotFound:
    """Return the one answer for unknown, foreign and malformed digests."""
    text = f"There is no artifact {digest[:80]!r} in this session."
    return NotFound(text, code="artifact.unknown")


def damaged(digest: str) -> Failed:
    """Return the answer for an artifact whose bytes are not its own."""
    text = (
        f"Artifact {digest!r} was changed on disk, so its bytes are not given. Make it "
        "again: storing the same bytes repairs it."
    )
    return Failed(text, code="artifact.damaged")


class Blobs:
    """One folder of blobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._checked = False

    def write(self, data: bytes, name: str) -> None:
        """Write bytes under their name, replacing whatever is there.

        Where nothing is there they are written in place. A reader or a crash may then
        meet a part of them: that is not what the name says, so it is never given, and
        whoever stores the bytes again replaces it. Renaming a finished file would cost
        the disk a second commit, nearly the price of the first.
        """
        target = f"{self.folder}/{name}"
        try:
            _fill(self._create(target), data)
        except FileExistsError:
            # A writer of the same bytes, at work or dead, or a damaged file.
            self._replace(target, data)
        sync_folder(self.folder)

    def _replace(self, target: str, data: bytes) -> None:
        part = f"{target}.{secrets.token_hex(8)}{_PART}"
        try:
            _fill(self._create(part), data)
            os.replace(part, target)  # noqa: PTH105 - a hot path
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)  # noqa: PTH108 - as above
            raise

    def _create(self, path: str) -> int:
        if self._checked:
            try:
                return create_private_file(path)
            except FileNotFoundError:
                pass  # the namespace was removed meanwhile
        check_private_folder(self.folder, exact=True)
        sync_folder(self.folder.parent)
        self._checked = True
        return create_private_file(path)

    def holds(self, name: str, size: int) -> bool:
        """Tell whether a blob is there and whole; false if its bytes are not its own."""
        try:
            return len(self.read(name, 0, None, 0.0)) == size
        except (NotFound, Failed):
            return False

    def read(self, name: str, start: int, size: int | None, now: float) -> bytes:
        """Return a range of a blob whose bytes were all verified.

        Raises:
            NotFound: there is none.
            Failed: its bytes, owner, mode or kind are not what was written.
        """
        digest = "sha256:" + name
        try:
            descriptor = os.open(f"{self.folder}/{name}", _READ)
        except FileNotFoundError:
            raise unknown(digest) from None
        except OSError as error:  # a link, or a file that is not ours to read
            raise damaged(digest) from error
        try:
            found = os.fstat(descriptor)
            if not _is_ours(found):
                raise damaged(digest)
            data = _read_verified(descriptor, found.st_size, name, start, size)
            if data is None:
                raise damaged(digest)
            if now - found.st_mtime > _TOUCH:
                os.utime(f"{self.folder}/{name}", (now, now))
        finally:
            os.close(descriptor)
        return data

    def exists(self, name: str) -> bool:
        """Tell whether there is a file of this name, whole or not."""
        return os.path.exists(f"{self.folder}/{name}")  # noqa: PTH110 - a hot path

    def used(self, name: str) -> float:
        """Return when a blob was last written or read; 0 if it is gone."""
        try:
            return (self.folder / name).lstat().st_mtime
        except OSError:
            return 0.0

    def remove(self, name: str) -> None:
        """Remove a blob."""
        (self.folder / name).unlink(missing_ok=True)

    def heal(self, known: set[str], now: float) -> Healed:
        """Remove what dead writers left and what is damaged; report what is missing."""
        parts = orphans = 0
        bad: list[str] = []
        found: set[str] = set()
        entries = sorted(os.listdir(self.folder)) if self.folder.is_dir() else []  # noqa: PTH208
        for entry in entries:
            path = self.folder / entry
            old = now - self.used(entry) > _GRACE
            if entry.endswith(_PART):
                if old:
                    path.unlink(missing_ok=True)
                    parts += 1
            elif _HEX.fullmatch(entry) is None or entry not in known:
                if old and path.is_file():
                    path.unlink(missing_ok=True)
                    orphans += 1
            elif self.holds(entry, path.lstat().st_size):
                found.add(entry)
            else:
                path.unlink(missing_ok=True)
                bad.append("sha256:" + entry)
        gone = sorted("sha256:" + name for name in known - found)
        missing = tuple(d for d in gone if d not in bad)
        return Healed(parts=parts, orphans=orphans, damaged=tuple(bad), missing=missing)


def _fill(descriptor: int, data: bytes) -> None:
    """Write all of a new file, sync and close it; leave it empty if that fails.

    It is not removed here: its name may be that of another writer's whole file by then.
    """
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        raise
    finally:
        os.close(descriptor)


def _is_ours(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    if os.name != "posix":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _read_verified(
    descriptor: int, length: int, name: str, start: int, size: int | None
) -> bytes | None:
    """Read all, keep the range; None if the whole is not what the name says."""
    end = length if size is None else min(length, start + size)
    if start == 0 and end == length:
        data = _read_all(descriptor, length)
        return data if hashlib.sha256(data).hexdigest() == name else None
    hashed = hashlib.sha256()
    kept = bytearray()
    offset = 0
    while chunk := os.read(descriptor, _CHUNK):
        hashed.update(chunk)
        kept += chunk[max(0, start - offset) : max(0, end - offset)]
        offset += len(chunk)
    return bytes(kept) if hashed.hexdigest() == name else None


def _read_all(descriptor: int, length: int) -> bytes:
    data = os.read(descriptor, length + 1)
    while len(data) < length:  # a large read may come in parts
        more = os.read(descriptor, length + 1 - len(data))
        if not more:
            break
        data += more
    return data
