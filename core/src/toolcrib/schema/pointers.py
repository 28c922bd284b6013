"""JSON pointers (RFC 6901)."""

from __future__ import annotations


__all__ = ["escape", "unescape"]


def escape(token: str) -> str:
    """Escape one step of a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return one step of a pointer as it was before it was escaped."""
    return token.replace("~1", "/").replace("~0", "~")
