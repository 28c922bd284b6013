"""What goes wrong on the network, as one exception with a code that never changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolcrib import (
    Busy,
    Failed,
    NotFound,
    Refused,
    ToolFailure,
    Transient,
    Unavailable,
    Uncertain,
)


__all__ = ["CODES", "Kind", "NetError", "TimedOut", "failure"]

Kind = Literal["refused", "not_found", "timeout", "failed", "busy", "unavailable"]

#: Code → how a call ends that meets it, and whether the same call may succeed later.
CODES: Mapping[str, tuple[Kind, bool]] = {
    "net.url_invalid": ("refused", False),
    "net.scheme_refused": ("refused", False),
    "net.credentials_in_url": ("refused", False),
    "net.port_refused": ("refused", False),
    "net.address_refused": ("refused", False),
    "net.host_refused": ("refused", False),
    "net.redirect_loop": ("failed", False),
    "net.redirect_broken": ("failed", False),
    "net.name_not_found": ("not_found", False),
    "net.resolver_failed": ("failed", True),
    "net.connect_failed": ("failed", True),
    "net.connect_timeout": ("timeout", True),
    "net.tls_failed": ("failed", False),
    "net.protocol_error": ("failed", False),
    "net.connection_lost": ("failed", True),
    "net.timeout": ("timeout", True),
    "net.too_slow": ("timeout", True),
    "net.busy": ("busy", True),
    "net.proxy_failed": ("failed", True),
    "net.unusable": ("unavailable", False),
}

_FAILURES: Mapping[str, type[ToolFailure]] = {
    "refused": Refused,
    "not_found": NotFound,
    "failed": Failed,
    "busy": Busy,
    "unavailable": Unavailable,
}


class NetError(Exception):
    """Raised when a request was not made, or not answered as it should be.

    Attributes:
        code: One of :data:`CODES`.
        text: What is wrong and what to do next.
        kind: How a call ends that meets it.
        retryable: Whether the same request may succeed later.
        sent: Whether the request may have reached the server.
        details: JSON-safe facts.
    """

    def __init__(
        self,
        text: str,
        *,
        code: str,
        sent: bool = False,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.code = code
        self.text = text
        self.kind, self.retryable = CODES[code]
        self.sent = sent
        self.details = dict(details or {})
        super().__init__(f"{text} [{code}]")


class TimedOut(TimeoutError):  # noqa: N818 - said to models, who read it as it is
    """A time limit of a request; the core ends a call that raises it as ``timeout``.

    A call that writes ends as ``uncertain`` instead, since nobody knows.
    """


def failure(error: NetError, *, passing: bool = True) -> Exception:
    """Return what a tool raises for an error, so that its call ends as it should.

    Args:
        error: What happened.
        passing: Whether a passing failure may be raised as such, so that the call is
            tried again: False for requests that must not be made twice.
    """
    if error.kind == "timeout":
        return TimedOut(f"{error.text} [{error.code}]")
    if error.sent and not passing:
        return Uncertain(error.text, code=error.code)
    if error.retryable and passing:
        return Transient(error.text, code=error.code)
    return _FAILURES[error.kind](error.text, code=error.code)
