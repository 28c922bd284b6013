"""Which providers there are, and which hosts each asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from .base import Provider


__all__ = ["DESTINATIONS", "make"]

#: Provider → hosts that it asks by default.
DESTINATIONS: Mapping[str, tuple[str, ...]] = {
    "searxng": (),
    "brave": ("api.search.brave.com",),
    "tavily": ("api.tavily.com",),
    "exa": ("api.exa.ai",),
    "ddgs": ("duckduckgo.com", "html.duckduckgo.com", "search.brave.com", "www.mojeek.com"),
}
_HOMES = {
    "searxng": ("searxng", "SearXNG"),
    "brave": ("brave", "Brave"),
    "tavily": ("tavily", "Tavily"),
    "exa": ("exa", "Exa"),
    "ddgs": ("keyless", "Keyless"),
}


def make(name: str) -> Provider:
    """Return a provider by its name."""
    module, kind = _HOMES[name]
    build: Callable[[], Provider] = getattr(import_module(f"{__package__}.{module}"), kind)
    return build()
