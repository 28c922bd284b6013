"""The body of an answer, read within its limits."""

from __future__ import annotations

import time

from collections.abc import AsyncIterable

import httpcore2

from .decoding import BadEncodingError, Decoding
from .faults import NetError
from .messages import Body, Headers, header
from .policy import NetPolicy


__all__ = ["read_body"]

_BODILESS = frozenset({"HEAD"})


async def read_body(
    stream: AsyncIterable[bytes],
    headers: Headers,
    *,
    method: str,
    policy: NetPolicy,
    most: int,
    host: str,
) -> Body:
    """Read a body up to ``most`` bytes after decompression, and not slower than allowed.

    Raises:
        NetError: it comes too slowly.
    """
    if method in _BODILESS:
        return Body(b"")
    decoding = Decoding.of(header(headers, "content-encoding"))
    reader = _Reader(decoding, policy, most, host)
    try:
        async for chunk in stream:
            if reader.take(chunk):
                break
    except (httpcore2.RemoteProtocolError, httpcore2.ReadError):
        # What came is worth something: it is given, and marked.
        if not reader.wire:
            raise
        return reader.body(cut="the connection was closed before the end")
    except BadEncodingError:
        return reader.body(cut=decoding.problem)
    return reader.body()


class _Reader:
    def __init__(self, decoding: Decoding, policy: NetPolicy, most: int, host: str) -> None:
        self._decoding = decoding
        self._policy = policy
        self._most = most
        self._host = host
        self._data = bytearray()
        self._started = time.monotonic()
        self._cut: str | None = None
        self.wire = 0

    def take(self, chunk: bytes) -> bool:
        """Take bytes of the wire; True once a limit is reached."""
        self.wire += len(chunk)
        self._check_rate()
        for piece in self._decoding.feed(chunk):
            room = self._most - len(self._data)
            self._data += piece[:room]
            if len(piece) > room:
                self._cut = f"only the first {self._most:,} bytes were read"
                return True
        if self.wire >= self._policy.max_wire:
            self._cut = f"only {self.wire:,} bytes were taken from the wire"
            return True
        return False

    def _check_rate(self) -> None:
        spent = time.monotonic() - self._started
        if spent > self._policy.rate_grace and self.wire < spent * self._policy.min_rate:
            rate = self.wire / spent
            text = f"{self._host} sends only {rate:.3g} bytes a second; that was given up."
            raise NetError(text, code="net.too_slow")

    def body(self, *, cut: str | None = None) -> Body:
        """Return what was read."""
        cut = cut or self._cut
        if cut is None and not self._decoding.finished:
            cut = "the compressed body ends before its own end"
        return Body(bytes(self._data), cut is None, cut or self._decoding.problem, self.wire)
