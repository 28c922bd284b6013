"""Content encodings, undone in bounded pieces: a small answer can mean a very large one."""

from __future__ import annotations

import zlib

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import attrs


__all__ = ["ACCEPTED", "BadEncodingError", "Decoding"]

#: What requests say they accept.
ACCEPTED = "gzip, deflate, br, zstd"

_PIECE = 1 << 16
_MOST_LAYERS = 3
# Work that gives nothing has an end as well: an encoding may hold any number of empty parts,
# and one around another may mean gigabytes of them.
_MOST_PARTS = 10_000
_MOST_BETWEEN = 64 << 20
# The largest window that RFC 9659 lets a server assume: 8 MiB.
_ZSTD_WINDOW_LOG = 23


class BadEncodingError(Exception):
    """Raised when bytes are not what ``Content-Encoding`` says."""


class _TooMuchWorkError(BadEncodingError):
    """Raised when bytes mean more work than any honest answer is."""


class _Layer(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def finished(self) -> bool: ...


class _Parts:
    """Counts members or frames, of which one answer holds a few."""

    def __init__(self) -> None:
        self._seen = 0

    def begun(self) -> None:
        self._seen += 1
        if self._seen > _MOST_PARTS:
            message = f"more than {_MOST_PARTS:,} parts"
            raise _TooMuchWorkError(message)


class _Zlib:
    """gzip (of several members, too), and deflate with or without its wrapper."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._inner: Any = None
        self._started = False
        self._parts = _Parts()

    def _new(self, head: bytes) -> Any:
        self._parts.begun()
        if self._kind == "gzip":
            return zlib.decompressobj(zlib.MAX_WBITS | 16)
        # What servers call deflate is either; the wrapper's first byte tells.
        wrapped = (head[0] & 0x0F) == 8 and head[0] >> 4 <= 7
        return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner is None:
                if self._started and not data.startswith(b"\x1f\x8b"):
                    return  # padding after the end is not content
                self._inner = self._new(data)
                self._started = True
            try:
                piece = self._inner.decompress(data, _PIECE)
            except zlib.error as error:
                raise BadEncodingError(str(error)) from error
            if piece:
                yield piece
            if self._inner.eof:
                data = self._inner.unused_data
                self._inner = None
            else:
                data = self._inner.unconsumed_tail

    @property
    def finished(self) -> bool:
        return self._started and self._inner is None


class _Brotli:
    def __init__(self) -> None:
        try:
            import brotli  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - loaded for the first answer that needs it
        except ImportError:
            import brotlicffi as brotli  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - the same
        self._error = brotli.error
        self._inner = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            # Whether there is more is told by asking only: it says that it can take more
            # input while it still holds output.
            while piece := self._inner.process(data, output_buffer_limit=_PIECE):
                yield piece
                data = b""
        except self._error as error:
            raise BadEncodingError(str(error)) from error

    @property
    def finished(self) -> bool:
        return bool(self._inner.is_finished())


class _Zstd:
    def __init__(self) -> None:
        try:
            from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        except ImportError:
            from backports import zstd  # noqa: PLC0415 - as above
        self._zstd: Any = zstd
        self._inner: Any = None
        self._started = False
        self._parts = _Parts()

    def _new(self) -> Any:
        self._parts.begun()
        options = {self._zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        return self._zstd.ZstdDecompressor(options=options)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._inner is None:
                if not data:
                    return
                self._inner = self._new()
                self._started = True
            try:
                piece = self._inner.decompress(data, _PIECE)
            except self._zstd.ZstdError as error:
                raise BadEncodingError(str(error)) from error
            if piece:
                yield piece
            if self._inner.eof:
                data = self._inner.unused_data
                self._inner = None
            elif self._inner.needs_input:
                return
            else:
                data = b""

    @property
    def finished(self) -> bool:
        return self._started and self._inner is None


_LAYERS: Mapping[str, Callable[[], _Layer]] = {
    "gzip": lambda: _Zlib("gzip"),
    "x-gzip": lambda: _Zlib("gzip"),
    "deflate": lambda: _Zlib("deflate"),
    "br": _Brotli,
    "zstd": _Zstd,
}


@attrs.define
class Decoding:
    """The encodings of one answer, undone in order.

    Attributes:
        layers: What undoes them, the outermost first.
        problem: What is wrong with them, once that is known.
    """

    layers: list[_Layer] = attrs.field(factory=list, repr=False)
    problem: str | None = None
    _some: bool = False
    _between: int = 0

    @classmethod
    def of(cls, header: str | None) -> Decoding:
        """Make one for a ``Content-Encoding`` header."""
        words = [w.strip().lower() for w in (header or "").split(",")]
        words = [w for w in words if w not in {"", "identity", "none", "utf-8", "binary"}]
        unknown = [w for w in words if w not in _LAYERS]
        if unknown or len(words) > _MOST_LAYERS:
            what = f"{len(words)} encodings" if not unknown else f"encoding {unknown[0][:40]!r}"
            return cls(problem=f"the body is left as it came: {what}")
        return cls(layers=[_LAYERS[word]() for word in reversed(words)])

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what bytes of the wire mean, in pieces of at most 64 KiB.

        Where the very first bytes are not encoded at all, as servers that lie send
        them, they and all that follow are given as they are.

        Raises:
            BadEncodingError: the encoding breaks later on, or is more work than it may be.
        """
        if not self.layers:
            yield data
            return
        try:
            for piece in self._through(0, data):
                self._some = True
                yield piece
        except _TooMuchWorkError as error:
            self.problem = f"the body was given up: its encoding holds {error}"
            raise
        except BadEncodingError as error:
            if self._some:
                self.problem = f"the encoding is broken: {str(error)[:100]}"
                raise
            self.problem = "the body is not encoded as its header says"
            self.layers = []
            yield data

    def _through(self, position: int, data: bytes) -> Iterator[bytes]:
        last = position == len(self.layers) - 1
        for piece in self.layers[position].feed(data):
            if last:
                yield piece
            else:
                self._spend(len(piece))
                yield from self._through(position + 1, piece)

    def _spend(self, size: int) -> None:
        """Count what one encoding hands to the next, of which no caller sees anything."""
        self._between += size
        if self._between > _MOST_BETWEEN:
            message = f"more than {_MOST_BETWEEN:,} bytes of another one"
            raise _TooMuchWorkError(message)

    @property
    def finished(self) -> bool:
        """Whether every encoding came to its own end."""
        return all(layer.finished for layer in self.layers) or not self._some
