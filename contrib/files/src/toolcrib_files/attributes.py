"""What a file has beside its bytes and its mode: lists of who may do what, and attributes.

The group's bits of a file with an access list are the list's mask, not what the group may
do. A new file that took them without the list would be open to a group that was kept out.
"""

from __future__ import annotations

import os
import stat

from contextlib import suppress


__all__ = ["carry_over", "mode_without_list", "safe_mode"]

_ACCESS_LIST = "system.posix_acl_access"
# What vouches for the bytes goes with them, as it does when a program writes to the file.
_OF_THE_BYTES = ("security.capability", "security.ima", "security.evm")


def safe_mode(mode: int) -> int:
    """Return a mode for new bytes: they do not inherit the right to run as the owner."""
    return stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID)


def mode_without_list(descriptor: int, mode: int) -> int:
    """Return the mode for a copy of a file that gets no access list."""
    return mode & ~stat.S_IRWXG if _ACCESS_LIST in _names(descriptor) else mode


def carry_over(source: int, target: int, mode: int) -> None:
    """Give a new file the mode, attributes and access list of the one that it replaces.

    What cannot be given is left out; without its access list, the group gets nothing.
    """
    os.fchmod(target, mode_without_list(source, mode))
    for name in _names(source):
        if name not in _OF_THE_BYTES:
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))


def _names(descriptor: int) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(descriptor)
    except OSError:
        return []  # a file system that has none
