"""Goals for LLM agents that only somebody else can call complete."""

from __future__ import annotations

from .definition import pack
from .tools import create, get, list_, update


__all__ = ["create", "get", "list_", "pack", "update"]
