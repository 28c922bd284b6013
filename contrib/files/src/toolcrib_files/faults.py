"""What the engine raises when a file operation cannot or must not be done.

The engine knows nothing of toolcrib. The pack turns a fault into the failure of its kind.
"""

from __future__ import annotations

import errno

from typing import Literal


__all__ = ["Fault", "Kind", "from_os"]

Kind = Literal["invalid", "not_found", "refused", "failed", "busy", "unavailable"]


class Fault(Exception):  # noqa: N818 - a refusal with a code, not a bug
    """Raised when an operation is refused or fails; nothing was changed.

    Attributes:
        kind: How a call that meets it ends.
        code: Stable dotted word, ``files.*``.
        text: What is wrong and what to do next.
        pointer: JSON pointer of the argument at fault.
    """

    def __init__(self, text: str, *, kind: Kind, code: str, pointer: str = "") -> None:
        self.kind = kind
        self.code = code
        self.text = text
        self.pointer = pointer
        super().__init__(f"{code}: {text}")


_MEANINGS: dict[int, tuple[Kind, str, str]] = {
    errno.ENOENT: (
        "not_found",
        "files.not_found",
        "does not exist. Find the right path with files.glob or files.list",
    ),
    errno.ENOTDIR: (
        "invalid",
        "files.not_folder",
        "runs through something that is no folder. Check it with files.list",
    ),
    errno.EISDIR: ("invalid", "files.is_folder", "is a folder. List it with files.list"),
    errno.EEXIST: (
        "refused",
        "files.exists",
        "exists already. Choose another name, or change the file with files.edit",
    ),
    errno.EACCES: (
        "failed",
        "files.no_permission",
        "may not be opened by this user. Ask a person to change its permissions",
    ),
    errno.EPERM: (
        "failed",
        "files.no_permission",
        "may not be changed by this user. Ask a person to change its permissions",
    ),
    errno.ELOOP: (
        "refused",
        "files.path_changed",
        "became a link after it was judged, or is a loop of links. Call again",
    ),
    errno.ENAMETOOLONG: ("invalid", "files.path_invalid", "has too long a name. Shorten it"),
    errno.ENOSPC: (
        "failed",
        "files.disk_full",
        "could not be written: the disk is full. Nothing was changed; free some space",
    ),
    errno.EROFS: (
        "failed",
        "files.no_permission",
        "is on a read-only file system. Write elsewhere",
    ),
}


def from_os(error: OSError, shown: str, *, pointer: str = "/path") -> Fault:
    """Turn an error of the operating system into a fault about the path *shown*."""
    kind, code, meaning = _MEANINGS.get(
        error.errno or 0,
        ("failed", "files.io", f"could not be used: {error.strerror or error}. Try again"),
    )
    return Fault(f"{shown} {meaning}.", kind=kind, code=code, pointer=pointer)
