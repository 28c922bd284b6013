"""What is asked after a redirect, and what is no longer told."""

from __future__ import annotations

import attrs

from .messages import Request
from .targets import Target


__all__ = ["next_request"]

# Headers that say how an answer should be; all others stay with the origin they were for.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent", "cache-control"})
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-md5"})


def next_request(
    request: Request, status: int, source: Target, there: Target
) -> Request | None:
    """Return the request that follows a redirect, or None if none should.

    The first origin's credentials, cookies and other headers are not told to another.
    A body is not sent to another origin at all, nor to a place without encryption.
    """
    method, body = request.method, request.body
    if (status == 303 and method != "HEAD") or (status in {301, 302} and not request.safe):
        method, body = "GET", None
    headers = request.headers
    if body is None:
        headers = tuple((n, v) for n, v in headers if n not in _OF_BODY)
    if source.scheme == "https" and there.scheme != "https":
        return None
    secret = request.secret_headers
    if there.origin != source.origin:
        if body is not None or method not in {"GET", "HEAD", "OPTIONS"}:
            return None
        headers = tuple((n, v) for n, v in headers if n in _HARMLESS)
        secret = ()
    return attrs.evolve(
        request, url=there.url, method=method, body=body, headers=headers, secret_headers=secret
    )
