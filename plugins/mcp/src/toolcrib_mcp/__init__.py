"""Both ways through the Model Context Protocol: servers in, the whole catalog out."""

from __future__ import annotations

from . import helpers as helpers
from .definition import pack


__all__ = ["pack"]
