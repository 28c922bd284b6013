"""Web tools for LLM agents: fetch pages as readable text, and search the web."""

from __future__ import annotations

from .desk import pack
from .fetch import fetch


__all__ = ["fetch", "pack"]
