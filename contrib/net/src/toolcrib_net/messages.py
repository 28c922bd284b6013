"""Requests and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from .targets import Target


__all__ = ["Answer", "Body", "Exchange", "Headers", "Hop", "Request", "header"]

Headers = tuple[tuple[str, str], ...]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# What the client alone decides: who is asked, how a message is framed and coded.
_OWN = frozenset({
    *("host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"),
    *("transfer-encoding", "content-length", "accept-encoding", "proxy-authorization"),
    *("expect", "http2-settings"),
})  # fmt: skip
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


def _pairs(value: Mapping[str, str] | Iterable[tuple[str, str]]) -> Headers:
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple((name.lower(), text) for name, text in pairs)


def _checked(_: object, __: object, headers: Headers) -> None:
    for name, text in headers:
        if not name or not set(name) <= _TOKEN:
            message = f"{name[:40]!r} is no name of a header"
            raise ValueError(message)
        if name in _OWN:
            message = f"the header {name} is the client's own to set"
            raise ValueError(message)
        if any(c in text for c in "\r\n\0") or len(text) > 8192 or not text.isprintable():
            message = f"the value of header {name} holds what no header may"
            raise ValueError(message)


def _upper(method: str) -> str:
    return method.upper()


def _method(_: object, __: object, method: str) -> None:
    if method not in _METHODS:
        message = f"{method[:20]!r} is no method of a request; known are {sorted(_METHODS)}"
        raise ValueError(message)


@attrs.frozen(kw_only=True)
class Request:
    """What is asked.

    Attributes:
        url: Where.
        method: In upper case.
        headers: Names in lower case; those of framing are the client's own.
        secret_headers: Headers that hold credentials: sent to the first origin only,
            and never shown.
        body: What is sent, or None.

    Raises:
        ValueError: a method or header that cannot be sent.
    """

    url: str
    method: str = attrs.field(default="GET", converter=_upper, validator=_method)
    headers: Headers = attrs.field(default=(), converter=_pairs, validator=_checked)
    secret_headers: Headers = attrs.field(
        default=(), converter=_pairs, validator=_checked, repr=False
    )
    body: bytes | None = attrs.field(default=None, repr=False)

    @property
    def safe(self) -> bool:
        """Whether it only reads."""
        return self.method in {"GET", "HEAD", "OPTIONS"}


@attrs.frozen
class Hop:
    """One redirect that was followed, or that was not: where it stood, where it leads."""

    status: int
    url: str
    location: str


@attrs.frozen
class Body:
    """What was read of a body; ``problem`` says why it is not all, or not what it claims."""

    data: bytes = attrs.field(repr=False)
    complete: bool = True
    problem: str | None = None
    wire: int = 0


@attrs.frozen
class Exchange:
    """One hop: where it went, and what came back; ``age`` is set if it was stored."""

    target: Target
    status: int
    headers: Headers
    body: Body
    http: str = ""
    address: str = ""
    age: float | None = None


@attrs.frozen(kw_only=True)
class Answer:
    """What came back, its body read as far as the limits go.

    Attributes:
        status: As the server sent it.
        headers: Names in lower case, in order.
        body: After decompression.
        url: Where it came from in the end.
        hops: Redirects that were followed.
        redirect: One that was not followed, or None.
        complete: Whether the body is all there is.
        problem: What is wrong with the body, or None.
        wire: Bytes of the body that came over the wire.
        http: Version of the protocol.
        address: Address that was connected to; empty behind a proxy.
        age: Seconds for which it was stored before, or None if it came just now.
        elapsed: Seconds.
    """

    status: int
    headers: Headers
    body: bytes = attrs.field(default=b"", repr=False)
    url: str
    hops: tuple[Hop, ...] = ()
    redirect: Hop | None = None
    complete: bool = True
    problem: str | None = None
    wire: int = 0
    http: str = ""
    address: str = ""
    age: float | None = None
    elapsed: float = 0.0

    def header(self, name: str) -> str | None:
        """Return a header's value, several joined with commas, or None."""
        return header(self.headers, name)


def header(headers: Headers, name: str) -> str | None:
    """Return a header's value, several joined with commas, or None."""
    found = [value for key, value in headers if key == name]
    return ", ".join(found) if found else None
