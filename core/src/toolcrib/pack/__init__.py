"""The author's side: packs, tools, resources, and their declarations."""

from __future__ import annotations

from .definition import Pack, PackOptions, ResourceDef, ToolFunction, ToolOptions


__all__ = [
    "Pack",
    "PackOptions",
    "ResourceDef",
    "ToolFunction",
    "ToolOptions",
]
