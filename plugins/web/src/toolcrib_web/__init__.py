"""Web tools for LLM agents: fetch pages as readable text, and search the web."""

from __future__ import annotations

from .bound import bind
from .desk import pack
from .fetch import fetch
from .search import search


__all__ = ["fetch", "pack", "search"]

bind(pack)
