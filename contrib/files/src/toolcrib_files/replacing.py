"""Replacing one file's bytes as one step: the old ones or the new ones, never a mixture.

Rules, each tested:

* The bytes that the change was made from must still be there (compare and swap), also
  at the last moment before the new ones take their name.
* A link stays a link: the path was resolved, so its target is what gets replaced.
* A file with several names (hard links) is parted: this name gets the new file, the
  other names keep the old one. Writing through would change files outside of the
  workspace, such as a package manager's store.
* Permissions stay, access lists and attributes too; but new bytes do not run as the
  file's owner. A file that nobody may write is refused, whoever runs this.
* Where the folder takes no new file, the file itself is overwritten; the caller keeps
  the old bytes until that is done (see :mod:`toolcrib_files.journal`).
"""

from __future__ import annotations

import errno
import os
import secrets
import stat

from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .attributes import carry_over, safe_mode
from .faults import Fault, from_os
from .folders import Folder
from .places import Place
from .reading import read_descriptor
from .texts import digest


if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = [
    "create",
    "lock",
    "make_folders",
    "missing_folders",
    "overwrite",
    "remove",
    "replace",
    "takes_new_files",
]

NEW_MODE = 0o666


def _changed(shown: str) -> Fault:
    text = (
        f"{shown} is not what it was when it was read: something else changed it. Nothing"
        " was written. Read it again with files.read and make the change anew."
    )
    return Fault(text, kind="refused", code="files.changed", pointer="/path")


@contextmanager
def _locked(folder: Folder, name: str, shown: str, *, write: bool) -> Iterator[int]:
    """Open a file that exists and hold the lock that every writer here takes.

    The lock is on the file and not on its name, so after it is taken the name must
    still lead to the file.
    """
    flags = os.O_RDWR if write else os.O_RDONLY
    for _ in range(100):
        descriptor = folder.open_file(name, flags)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                text = f"{shown} is no regular file. Only files can be written."
                raise Fault(text, kind="refused", code="files.not_regular", pointer="/path")
            if not found.st_mode & 0o222:
                text = f"{shown} is read-only. Ask a person to make it writable first."
                raise Fault(text, kind="refused", code="files.read_only", pointer="/path")
            lock(descriptor)
            there = folder.find(name)
            if there and (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino):
                yield descriptor
                return
        finally:
            os.close(descriptor)
        if there is None:
            raise _changed(shown)
    text = f"{shown} is being replaced over and over. Try again later."
    raise Fault(text, kind="busy", code="files.busy", pointer="/path")


def lock(descriptor: int) -> None:
    """Wait for the lock of an open file; closing the file gives it back."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    with suppress(OSError):  # a file system without locks still has compare and swap
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _require(descriptor: int, expected: str, shown: str) -> os.stat_result:
    """Compare the bytes behind a descriptor with those that a change was made from."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    if digest(read_descriptor(descriptor, shown)) != expected:
        raise _changed(shown)
    return os.fstat(descriptor)


def _same(one: os.stat_result, two: os.stat_result | None) -> bool:
    return two is not None and (
        (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns)
        == (two.st_dev, two.st_ino, two.st_size, two.st_mtime_ns)
    )


def replace(place: Place, data: bytes, *, expected: str) -> bool:
    """Replace a file's bytes; *expected* is the digest of what must be there.

    Returns:
        Whether the file had other names, which keep the old bytes.
    """
    try:
        with Folder.open(place.parent) as folder:
            with _locked(folder, place.name, place.shown, write=False) as descriptor:
                found = _require(descriptor, expected, place.shown)

                def publish(temporary: str) -> None:
                    if not _same(found, folder.find(place.name)):
                        raise _changed(place.shown)
                    folder.replace(temporary, place.name)

                _publish(folder, data, safe_mode(found.st_mode), descriptor, publish)
            folder.sync()
    except OSError as error:
        raise from_os(error, place.shown) from None
    return found.st_nlink > 1


def create(place: Place, data: bytes, *, mode: int | None = None) -> None:
    """Make a file that must not exist; one that does is never replaced."""
    try:
        with Folder.open(place.parent) as folder:
            if folder.find(place.name) is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            final = NEW_MODE & ~_umask() if mode is None else mode
            unnamed = folder.open_unnamed()
            if unnamed is not None:
                # The name appears with all bytes behind it, or not at all.
                try:
                    _fill(unnamed, data, final, None)
                    folder.name_unnamed(unnamed, place.name)
                finally:
                    os.close(unnamed)
            else:
                _publish_named(
                    folder, data, final, None, lambda temp: folder.link(temp, place.name)
                )
            folder.sync()
    except OSError as error:
        raise from_os(error, place.shown) from None


def overwrite(place: Place, data: bytes, *, expected: str) -> None:
    """Overwrite a file in place, for folders that take no new file.

    This is not one step. The caller must be able to put the old bytes back.
    """
    try:
        with (
            Folder.open(place.parent) as folder,
            _locked(folder, place.name, place.shown, write=True) as descriptor,
        ):
            _require(descriptor, expected, place.shown)
            os.lseek(descriptor, 0, os.SEEK_SET)
            _write(descriptor, data)
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
    except OSError as error:
        raise from_os(error, place.shown) from None


def remove(place: Place, *, expected: str) -> None:
    """Remove a file whose bytes are known."""
    try:
        with Folder.open(place.parent) as folder:
            with _locked(folder, place.name, place.shown, write=False) as descriptor:
                found = _require(descriptor, expected, place.shown)
                if not _same(found, folder.find(place.name)):
                    raise _changed(place.shown)
                folder.unlink(place.name)
            folder.sync()
    except OSError as error:
        raise from_os(error, place.shown) from None


def make_folders(place: Place) -> list[str]:
    """Make the folders above a place; return those that were made, outermost first."""
    made: list[str] = []
    parts = [part for part in place.parent.split("/") if part]
    try:
        folder = Folder.open("/") if place.parent.startswith("/") else Folder.open(place.parent)
        for part in parts:
            with folder:
                if folder.find(part) is None:
                    with suppress(FileExistsError):
                        folder.make(part)
                        made.append(f"{folder.path.rstrip('/')}/{part}")
                folder = folder.child(part)
        folder.close()
    except OSError as error:
        raise from_os(error, place.shown) from None
    return made


def takes_new_files(place: Place) -> bool:
    """Tell whether the folder of a file takes a new file beside it."""
    try:
        with Folder.open(place.parent) as folder:
            return folder.writable()
    except OSError as error:
        raise from_os(error, place.shown) from None


def missing_folders(place: Place) -> list[str]:
    """Return the folders above a place that are not there, outermost first."""
    missing: list[str] = []
    parent = place.parent
    while not os.path.lexists(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    return missing[::-1]


def _temporary() -> str:
    return f".toolcrib-{secrets.token_hex(8)}.tmp"


def _umask() -> int:
    """Return the process's mask without changing it, where the system tells."""
    # Read as bytes: a codec may still have to be loaded, which not every user of it can do.
    with suppress(OSError, ValueError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _fill(descriptor: int, data: bytes, mode: int, like: int | None) -> None:
    """Write bytes to a new file; *like* is the open file that it replaces."""
    _write(descriptor, data)
    if like is not None and hasattr(os, "fchown"):
        mine, its = os.fstat(descriptor), os.fstat(like)
        if (mine.st_uid, mine.st_gid) != (its.st_uid, its.st_gid):
            with suppress(PermissionError):
                os.fchown(descriptor, its.st_uid, its.st_gid)
    if hasattr(os, "fchmod"):
        if like is None:
            os.fchmod(descriptor, mode)
        else:
            carry_over(like, descriptor, mode)
    os.fsync(descriptor)


def _publish(
    folder: Folder,
    data: bytes,
    mode: int,
    like: int | None,
    publish: Callable[[str], None],
) -> None:
    """Write bytes to a file and publish it under its name as the last step."""
    unnamed = folder.open_unnamed()
    if unnamed is None:
        _publish_named(folder, data, mode, like, publish)
        return
    # Without a name nothing is left over, however the process ends while writing.
    try:
        _fill(unnamed, data, mode, like)
        name = _temporary()
        try:
            folder.name_unnamed(unnamed, name)
            publish(name)
        finally:
            with suppress(FileNotFoundError):
                folder.unlink(name)
    finally:
        os.close(unnamed)


def _publish_named(
    folder: Folder,
    data: bytes,
    mode: int,
    like: int | None,
    publish: Callable[[str], None],
) -> None:
    name = _temporary()
    descriptor = folder.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            _fill(descriptor, data, mode, like)
        finally:
            os.close(descriptor)
        publish(name)
    finally:
        with suppress(FileNotFoundError):
            folder.unlink(name)
