"""A client's artifacts, served as resources to it alone."""

from __future__ import annotations

import base64
import contextlib

from typing import Any

from toolcrib import ToolcribError

from .gateway import Client


__all__ = ["SCHEME", "contents", "listed"]

SCHEME = "artifact:"
"""What their addresses begin with."""


def listed(client: Client) -> list[dict[str, Any]]:
    """Return a client's artifacts as resources."""
    session = client.session
    store = session.toolbox.artifacts
    try:
        kept = store.namespace(session.conversation, session.principal).list()
    except (ToolcribError, OSError):
        return []
    return [
        {
            "uri": f"{SCHEME}{each.digest}",
            "name": each.title or each.digest,
            "mimeType": each.media_type,
            "size": each.size,
        }
        for each in kept
    ]


async def contents(client: Client, uri: str) -> dict[str, Any] | None:
    """Return a client's own artifact; one of another client answers like an unknown one."""
    digest = uri.removeprefix(SCHEME)
    known = {each["uri"]: each for each in listed(client)}
    if uri not in known:
        return None
    try:
        data = await client.session.artifacts.get(digest)
    except (ToolcribError, OSError, KeyError, ValueError):
        return None
    media = known[uri]["mimeType"]
    if media.startswith("text/") or media == "application/json":
        with contextlib.suppress(UnicodeDecodeError):
            return {"uri": uri, "mimeType": media, "text": data.decode()}
    return {"uri": uri, "mimeType": media, "blob": base64.b64encode(data).decode("ascii")}
