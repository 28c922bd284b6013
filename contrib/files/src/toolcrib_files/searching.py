"""The Python search engine: texts in, matching lines out.

A backtracking pattern may need more time than there is, and nothing can stop it inside
one process. So patterns that repeat run in a child, which is this file run by itself:
it imports nothing but the standard library, is given texts and can only give numbers
back.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import threading

from typing import IO, Protocol


__all__ = ["Child", "Hit", "InProcess", "PatternTooSlow", "Searcher", "search"]

# Line number from 1, start and end of the line or lines, start of the match.
Hit = tuple[int, int, int, int]
_LENGTH = struct.Struct("<QQ")


class PatternTooSlow(Exception):  # noqa: N818 - says what happened, is told by the caller
    """Raised when a pattern does not come to an end in its time."""


def search(pattern: re.Pattern[str], text: str, most: int, *, multiline: bool) -> list[Hit]:
    """Return the first matches of a text, one for each line that a match starts in."""
    hits: list[Hit] = []
    position, counted, number = 0, 0, 1
    last = len(text) - text.endswith("\n")
    while len(hits) < most and (match := pattern.search(text, position)):
        start, end = match.span()
        if not text or start > last:
            break  # behind the last line end there is no line
        number += text.count("\n", counted, start)
        counted = start
        until = text.find("\n", max(start, end - 1) if multiline and end > start else start)
        until = len(text) if until < 0 else until
        hits.append((number, text.rfind("\n", 0, start) + 1, until, start))
        position = until + 1
        if position > len(text):
            break
    return hits


class Searcher(Protocol):
    """Something that searches texts for one pattern."""

    def search(self, text: str, most: int) -> list[Hit]:
        """Return the first matches."""

    def close(self) -> None:
        """Let go of what it holds."""


class InProcess:
    """Searches here and now; for patterns that cannot run away."""

    def __init__(self, pattern: re.Pattern[str], *, multiline: bool) -> None:
        self._pattern = pattern
        self._multiline = multiline

    def search(self, text: str, most: int) -> list[Hit]:
        """Return the first matches."""
        return search(self._pattern, text, most, multiline=self._multiline)

    def close(self) -> None:
        """Nothing is held."""


class Child:
    """Searches in a child process, which is ended when a text takes too long."""

    def __init__(self, pattern: re.Pattern[str], *, multiline: bool, seconds: float) -> None:
        self._seconds = seconds
        self._child = subprocess.Popen(  # noqa: S603 - this interpreter, this file
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd=os.path.abspath(os.sep),
        )
        assert self._child.stdin is not None  # noqa: S101 - asked for above
        assert self._child.stdout is not None  # noqa: S101
        self._stdin: IO[bytes] = self._child.stdin
        self._stdout: IO[bytes] = self._child.stdout
        self._send(json.dumps([pattern.pattern, pattern.flags, multiline]).encode(), 0)

    def _send(self, data: bytes, most: int) -> None:
        self._stdin.write(_LENGTH.pack(len(data), most))
        self._stdin.write(data)
        self._stdin.flush()

    def search(self, text: str, most: int) -> list[Hit]:
        """Return the first matches.

        Raises:
            PatternTooSlow: The time ran out, or the child died; it is gone.
        """
        watch = threading.Timer(self._seconds, self._child.kill)
        watch.daemon = True
        watch.start()
        try:
            self._send(text.encode("utf-8", "surrogatepass"), min(most, 1 << 40))
            line = self._stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watch.cancel()
        if not line:
            raise PatternTooSlow
        hits: list[Hit] = [tuple(hit) for hit in json.loads(line)]
        return hits

    def close(self) -> None:
        """End the child."""
        self._child.kill()
        for stream in (self._stdin, self._stdout):
            try:
                stream.close()
            except BrokenPipeError:
                continue
        self._child.wait()


def _serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer texts with hits, one line each, until the input ends."""
    pattern: re.Pattern[str] | None = None
    multiline = False
    while len(head := source.read(_LENGTH.size)) == _LENGTH.size:
        length, most = _LENGTH.unpack(head)
        data = source.read(length)
        if pattern is None:
            text, flags, multiline = json.loads(data)
            pattern = re.compile(text, flags)
            continue
        found = search(
            pattern, data.decode("utf-8", "surrogatepass"), most, multiline=multiline
        )
        sink.write(json.dumps(found).encode() + b"\n")
        sink.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
