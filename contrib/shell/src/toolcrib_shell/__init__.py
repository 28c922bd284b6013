"""Shell commands for LLM agents, judged by a real grammar before they run."""

from __future__ import annotations

from .definition import pack
from .tools import input_, run, stop


__all__ = ["input_", "pack", "run", "stop"]
