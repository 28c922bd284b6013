"""The command line: ``toolcrib``, with the extra ``toolcrib[cli]``."""

from __future__ import annotations

from .main import main


__all__ = ["main"]
