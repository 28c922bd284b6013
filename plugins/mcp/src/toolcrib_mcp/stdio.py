"""Messages over the pipes of a process: one line of JSON each, nothing else believed.

The SDK's own transport inherits stderr, buffers lines without bound and logs every line
that is no message. Here lines and waiting output are bounded, noise is counted, and a
message that is too large answers the call that waits for it.
"""

from __future__ import annotations

import asyncio
import json
import re

from collections import deque
from types import TracebackType
from typing import Any

import mcp_types as types

from mcp.shared.message import SessionMessage


__all__ = ["OVERSIZE", "PipeReader", "PipeWriter"]

OVERSIZE = -32013
"""Our code for an answer that was larger than we read; the server has acted."""

MOST_MESSAGE = 32 * 1024 * 1024
MOST_WAITING = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_SMALL = 16 * 1024
_EDGE = 2048
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"(?:[^"\\]){1,64}")')


class _Stream:
    """The part of the SDK's stream protocols that both directions share."""

    async def aclose(self) -> None:
        """Stop using the pipe."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class PipeReader(_Stream):
    """What a server writes, message by message.

    Attributes:
        ended: Whether the server closed its output.
        noise: Lines that were no messages.
    """

    def __init__(self, stream: asyncio.StreamReader, *, most: int = MOST_MESSAGE) -> None:
        self._stream = stream
        self._most = most
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._size = 0
        self._dropping = False
        self._head = b""
        self.ended = False
        self.noise = 0

    def __aiter__(self) -> PipeReader:
        return self

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            StopAsyncIteration: there are no more.
        """
        return await self.__anext__()

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            while self._lines:
                message = self._parsed(self._lines.popleft())
                if self._lines:
                    # What follows at once waits until others have had their turn.
                    await asyncio.sleep(0)
                if message is not None:
                    return message
            try:
                chunk = await self._stream.read(_CHUNK)
            except (OSError, ValueError):
                chunk = b""
            if not chunk:
                self.ended = True
                raise StopAsyncIteration
            self._take(chunk)
            if len(chunk) > _SMALL:
                # A server that floods must not starve the others. After a small piece
                # there is nothing left, so that the next reading waits by itself.
                await asyncio.sleep(0)

    def _take(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._add(first)
        for part in others:
            self._finish()
            self._add(part)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._rest.append(part)
        if self._size > self._most:
            if not self._dropping:
                self._dropping = True
                self._head = b"".join(self._rest)[:_EDGE]
            # Of what is too large only the end is kept: the id may stand there.
            self._rest = [(b"".join(self._rest))[-_EDGE:]]

    def _finish(self) -> None:
        line = b"".join(self._rest)
        if self._dropping:
            line = _too_large(self._head, line, self._size)
        self._rest, self._size, self._dropping = [], 0, False
        if line.strip():
            self._lines.append(line)

    def _parsed(self, line: bytes) -> SessionMessage | None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            odd = _odd_answer(line)
            if odd is None:
                self.noise += 1
            return odd
        return SessionMessage(message)


def _odd_answer(line: bytes) -> SessionMessage | None:
    """Read an answer that the SDK cannot: too deep, or of another form than is right.

    The server has acted, and nothing else would come for the request. So what can be
    read is given on, and what cannot ends its request.
    """
    if not line.lstrip().startswith(b"{") or b'"jsonrpc"' not in line:
        return None
    try:
        value = json.loads(line)
    except (RecursionError, ValueError):
        if b'"method"' in line[:_EDGE] or _ID.search(line[:_EDGE]) is None:
            return None
        edge = _too_large(line[:_EDGE], line[-_EDGE:], len(line))
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(edge, by_name=False))
    number = value.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str) or "method" in value:
        return None
    result, error = value.get("result"), value.get("error")
    if "error" in value and "result" not in value:
        said = error.get("message") if isinstance(error, dict) else error
        data = types.ErrorData(code=types.INTERNAL_ERROR, message=str(said)[:2000])
        return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=data))
    if "result" not in value:
        return None
    whole = result if isinstance(result, dict) else {"content": [result]}
    answer = types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=number, result=whole)
    return SessionMessage(answer)


def _too_large(head: bytes, tail: bytes, size: int) -> bytes:
    """Return the error that ends the request whose answer was too large, if it can be told."""
    found = _ID.search(head) or _ID.search(tail)
    if found is None:
        return b"a message that was too large"
    text = f"the answer of {size} bytes is too large to read"
    number = found.group(1).decode("ascii", "replace")
    error = f'{{"code":{OVERSIZE},"message":"{text}"}}'
    return f'{{"jsonrpc":"2.0","id":{number},"error":{error}}}'.encode()


class PipeWriter(_Stream):
    """What a server is sent. Writing never waits, so that a cancellation never does."""

    def __init__(self, pipe: asyncio.StreamWriter) -> None:
        self._pipe = pipe
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message.

        Raises:
            BrokenPipeError: the server is gone, or has not read for very long.
        """
        pipe = self._pipe
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        if self._closed or pipe.is_closing():
            message = "the other side is gone"
            raise BrokenPipeError(message)
        if pipe.transport.get_write_buffer_size() > MOST_WAITING:
            message = "the other side has stopped reading"
            raise BrokenPipeError(message)
        pipe.write(text.encode() + b"\n")
        if pipe.transport.get_write_buffer_size():
            # Let other tasks run: a sender that never waits would starve them.
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Stop sending; the pipe itself is closed with the process."""
        self._closed = True
