"""Logins at remote servers: made by an explicit command, only used by everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .settings import ServerConfig


__all__ = ["is_web_address", "stored"]


def is_web_address(url: str) -> bool:
    """Tell whether an address may be shown to a person: http(s), a host, no credentials."""
    if len(url) > 4096 or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username


def stored(config: ServerConfig, state: Path) -> Any:
    """Return what authenticates requests with the stored login, or None."""
    return None
