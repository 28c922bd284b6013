"""Read lines of a file, or of standard input without holding up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import threading

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar


__all__ = ["file_lines", "followed", "stdin_lines"]

T = TypeVar("T")


def file_lines(path: Path) -> list[bytes]:
    """Return the lines of a file."""
    return path.read_bytes().splitlines(keepends=True)


def stdin_lines() -> Iterator[bytes]:
    """Give the lines of standard input as they arrive."""
    stream = sys.stdin.buffer
    try:
        descriptor = stream.fileno()
    except (io.UnsupportedOperation, AttributeError):
        yield from stream
        return
    # Not through the stream: a thread that waits inside it would hold its lock while
    # Python ends.
    yield from _split(lambda: os.read(descriptor, 1 << 16))


def _split(read: Callable[[], bytes]) -> Iterator[bytes]:
    rest = bytearray()
    while data := read():
        rest += data
        if b"\n" in data:
            *lines, tail = bytes(rest).split(b"\n")
            rest = bytearray(tail)
            for line in lines:
                yield line + b"\n"
    if rest:
        yield bytes(rest)


async def followed(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate in a thread, so that waiting for the next item can be cancelled."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[T] | BaseException | None] = asyncio.Queue()

    def put(item: tuple[T] | BaseException | None) -> None:
        # The loop may be closed meanwhile: then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            for item in items:
                put((item,))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            put(error)
        else:
            put(None)

    threading.Thread(target=work, name="input", daemon=True).start()
    while (found := await queue.get()) is not None:
        if isinstance(found, BaseException):
            raise found
        yield found[0]
