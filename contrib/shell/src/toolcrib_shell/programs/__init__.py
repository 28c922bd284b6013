"""What is known of programs: which words make them run, read or write something else."""

from __future__ import annotations

from .base import Args, Look
from .table import look_into


__all__ = ["Args", "Look", "look_into"]
