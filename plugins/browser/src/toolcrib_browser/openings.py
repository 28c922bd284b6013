"""What tells one opening of a conversation from all others, in the ids of its pages.

A conversation that is taken up again has none of the pages of before, so no id of before
may name one of now. Openings are therefore counted, in a file for each conversation; the
first one of a name is always called alike, so that a recorded transcript can be run again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os

from pathlib import Path


__all__ = ["tag"]

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_MOST = 512


def tag(folder: Path, conversation: str) -> str:
    """Count an opening of a conversation and return four characters for it.

    Args:
        folder: Where openings are counted; made if need be.
        conversation: The conversation's name.
    """
    name = hashlib.sha256(conversation.encode()).hexdigest()[:24]
    number = _counted(folder, name)
    digest = hashlib.sha256(f"{conversation}\0{number}".encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:4])


def _counted(folder: Path, name: str) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(number, "r+b") as file:
        # Given back when the file is closed.
        fcntl.flock(file, fcntl.LOCK_EX)
        said = file.read(20)
        count = int(said) + 1 if said.isdigit() else 1
        file.seek(0)
        file.truncate()
        file.write(str(count).encode())
    for path in _oldest(list(folder.iterdir())):
        with contextlib.suppress(OSError):
            path.unlink()
    return count


def _oldest(paths: list[Path]) -> list[Path]:
    """Return the older half of the marks, once there are many."""
    if len(paths) <= _MOST:
        return []
    aged: list[tuple[float, Path]] = []
    for path in paths:
        with contextlib.suppress(OSError):
            aged.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(aged)[: _MOST // 2]]
