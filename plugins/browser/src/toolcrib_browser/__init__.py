"""Browser tools for LLM agents: real Chromium, with authority that cannot go stale."""

from __future__ import annotations

from .definition import pack
from .inspect import inspect
from .interact import interact
from .navigate import navigate
from .page import page
from .snapshot import snapshot
from .wait import wait


__all__ = ["inspect", "interact", "navigate", "pack", "page", "snapshot", "wait"]
