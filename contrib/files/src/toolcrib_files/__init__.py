"""File tools for LLM agents: read, write, edit, glob, grep, list and patch."""

from __future__ import annotations

from .changes import edit, patch, write
from .definition import pack
from .reads import list_, read
from .searches import glob, grep


__all__ = ["edit", "glob", "grep", "list_", "pack", "patch", "read", "write"]
