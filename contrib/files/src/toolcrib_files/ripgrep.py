"""The ripgrep search engine: open files in, matching lines out.

ripgrep is given descriptors, never names: what it reads is what was judged, and a file
called ``--pre=cmd`` is no flag. The pattern follows ``-e``, nothing follows ``--`` but
descriptors, no configuration file is read, and which files are searched was decided
before.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any


__all__ = ["Match", "RipgrepFailed", "find_program", "search"]

# Index of the file, line number from 1, the line without its end, start of the match in it.
Match = tuple[int, int, str, int]
_FOLDER = "/dev/fd"


class RipgrepFailed(Exception):  # noqa: N818 - says what happened, is told by the caller
    """Raised when ripgrep cannot do it; the other engine can."""


def find_program() -> str | None:
    """Return the path of ripgrep if it is there and files can be handed to it open."""
    return shutil.which("rg") if os.path.isdir(_FOLDER) else None


def search(
    program: str, pattern: str, descriptors: Sequence[int], *, most: int | None = None
) -> Generator[Match, None, None]:
    """Yield the matching lines of open files, in the order of the files.

    Closing the iterator early ends the program.
    """
    command = [
        program,
        "--no-config",
        "--json",
        "--text",
        "--encoding=none",
        "--no-mmap",
        "--no-ignore",
        "--hidden",
        "--threads=1",
        *([f"--max-count={most}"] if most is not None else []),
        "-e",
        pattern,
        "--",
        *(f"{_FOLDER}/{descriptor}" for descriptor in descriptors),
    ]
    child = subprocess.Popen(  # noqa: S603 - every word is ours but the pattern, after -e
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=tuple(descriptors),
        env={},
        cwd="/",
    )
    assert child.stdout is not None  # noqa: S101 - asked for above
    try:
        with closing(child.stdout) as lines:
            yield from _matches(lines, descriptors)
        if child.wait() not in (0, 1):
            raise RipgrepFailed
    finally:
        child.kill()
        child.wait()


def _matches(lines: Any, descriptors: Sequence[int]) -> Iterator[Match]:
    index = {f"{_FOLDER}/{descriptor}": at for at, descriptor in enumerate(descriptors)}
    line = b""
    for line in lines:
        if not line.startswith(b'{"type":"match"'):
            continue
        data = json.loads(line)["data"]
        raw = _bytes(data["lines"])
        found = data["submatches"]
        start = found[0]["start"] if found else 0
        before = raw[:start].decode("utf-8", "surrogateescape")
        text = raw.removesuffix(b"\n").removesuffix(b"\r")
        yield (
            index[_bytes(data["path"]).decode()],
            data["line_number"],
            text.decode("utf-8", "surrogateescape"),
            len(before),
        )
    if not line.rstrip().endswith(b'"type":"summary"}'):
        raise RipgrepFailed  # "nothing found" is believed only from who came to the end


def _bytes(value: dict[str, str]) -> bytes:
    if "text" in value:
        return value["text"].encode("utf-8", "surrogatepass")
    return base64.b64decode(value["bytes"])
