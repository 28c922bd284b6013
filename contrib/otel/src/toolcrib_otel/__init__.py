"""OpenTelemetry spans for what a toolbox does, by the GenAI conventions.

The pack has no tools. Policy enables its distribution and names it as an observer::

    packs = ["toolcrib-otel"]
    observers = ["otel"]
"""

from __future__ import annotations

from .plugin import observer, pack
from .spans import Spans, parent


__all__ = ["Spans", "observer", "pack", "parent"]
