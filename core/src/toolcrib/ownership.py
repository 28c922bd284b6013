"""Files and folders that only their owner may read or change.

On systems without POSIX owners and modes (Windows) the checks of mode and owner pass;
the folder's access list is what protects it there.
"""

from __future__ import annotations

import os
import stat

from pathlib import Path

from .errors import RecordError


__all__ = ["check_private_file", "check_private_folder", "create_private_file", "sync_folder"]

_POSIX = os.name == "posix"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _refuse(path: Path, what: str, advice: str) -> RecordError:
    return RecordError(f"{path}: {what}; {advice}")


def _check_owner(path: Path, found: os.stat_result) -> None:
    if _POSIX and found.st_uid != os.geteuid():
        raise _refuse(
            path,
            f"belongs to user {found.st_uid}, not to you ({os.geteuid()})",
            "use a path of your own",
        )


def check_private_folder(path: Path, *, create: bool = True, exact: bool = False) -> None:
    """Refuse a folder in which somebody else could plant or replace a file.

    Args:
        path: The folder; missing ones are made with mode 0700.
        create: Whether to make it.
        exact: Whether others may not even list it (mode 0700).

    Raises:
        RecordError: it is not a folder, not owned by this user, or open to others.
    """
    if create:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        found = path.lstat() if exact else path.stat()
    except OSError as error:
        raise _refuse(path, f"cannot be used ({error.strerror})", "name another") from error
    if not stat.S_ISDIR(found.st_mode):
        raise _refuse(path, "is not a folder", "move it aside or use another path")
    if not _POSIX:
        return
    # A folder of the system (such as /tmp) is safe only where its sticky bit keeps
    # others from replacing our files.
    sticky = bool(found.st_mode & stat.S_ISVTX) and not exact
    if not (sticky and found.st_uid in (0, os.geteuid())):
        _check_owner(path, found)
        if found.st_mode & (_OTHERS if exact else _OTHERS_WRITE):
            raise _refuse(path, "is open to other users", f"run: chmod 700 {path}")


def check_private_file(path: Path) -> os.stat_result | None:
    """Refuse a file that is not a regular file of mode 0600 (or less) of this user.

    The file is not opened: closing a descriptor would drop the locks that SQLite
    holds on it for another connection of this process.

    Returns:
        What is known of the file, or None if it does not exist.

    Raises:
        RecordError: it is a link, not a file, not owned by this user, or open to others.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refuse(path, f"cannot be used ({error.strerror})", "name another") from error
    if not stat.S_ISREG(found.st_mode):
        raise _refuse(path, "is not a regular file", "move it aside or use another path")
    if _POSIX:
        _check_owner(path, found)
        if found.st_mode & _OTHERS:
            raise _refuse(path, "is open to other users", f"run: chmod 600 {path}")
    return found


def create_private_file(path: Path | str) -> int:
    """Create a new file of mode 0600 and return its descriptor, open for writing.

    Raises:
        FileExistsError: something is there already, be it a link to nowhere.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600)


def sync_folder(path: Path) -> None:
    """Force a folder's entries to disk, so that a rename survives a power loss."""
    if not _POSIX:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
