"""From the exceptions of the HTTP library to ours."""

from __future__ import annotations

import ssl

import httpcore2

from .connecting import reason_of
from .faults import NetError
from .targets import Target, shown


__all__ = ["translated"]


def translated(error: Exception, where: Target) -> NetError:
    """Return the error that an exception of the HTTP library stands for."""
    host = where.host
    tls = _tls_error(error)
    if tls is not None:
        return NetError(_tls_text(tls, host), code="net.tls_failed")
    match error:
        case httpcore2.PoolTimeout():
            return NetError(
                "Too many requests are open at once; try again later.", code="net.busy"
            )
        case httpcore2.ConnectTimeout():
            return NetError(
                f"{host} did not answer to a connection.", code="net.connect_timeout"
            )
        case httpcore2.TimeoutException():
            text = f"{host} sent nothing for too long; the request was given up."
            return NetError(text, code="net.timeout", sent=True)
        case httpcore2.ConnectError():
            text = f"{host} could not be connected to: {reason_of(error)}."
            return NetError(text, code="net.connect_failed")
        case httpcore2.ProxyError():
            text = f"The proxy did not let the request through: {shown(str(error))}."
            return NetError(text, code="net.proxy_failed")
        case httpcore2.RemoteProtocolError() if "disconnected" in str(error):
            text = f"{host} closed the connection without an answer."
            return NetError(text, code="net.connection_lost", sent=True)
        case httpcore2.NetworkError():
            return NetError(
                f"{host} closed the connection.", code="net.connection_lost", sent=True
            )
        case httpcore2.ProtocolError():
            text = f"{host} does not speak HTTP as it should: {shown(str(error))}."
            return NetError(text, code="net.protocol_error", sent=True)
    text = f"The request to {host} failed: {type(error).__name__}: {shown(str(error))}."
    return NetError(text, code="net.protocol_error", sent=True)


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    for _ in range(8):
        if error is None or isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _tls_text(error: ssl.SSLError, host: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message
        return f"The certificate of {host} is not to be trusted: {reason}. Nothing was sent."
    reason = error.reason or str(error)
    return f"No encrypted connection with {host} came about: {shown(str(reason))}."
