"""The pack: its live source, what its calls touch, and its commands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from toolcrib import (
    Access,
    Effect,
    Pack,
    PackHost,
    Resource,
    Signature,
    Tool,
    hookimpl,
    resources,
)

from .hub import Hubs


__all__ = ["HUBS", "pack"]

_CHANGES = frozenset({Effect.FS_WRITE, Effect.NET_WRITE, Effect.PROCESS, Effect.HOST_STATE})

HUBS = Hubs()

pack = Pack("mcp", title="MCP servers", category="mcp")
pack.command_group(
    "mcp", help="Servers of the Model Context Protocol.", target="toolcrib_mcp.commands:mcp"
)
pack.command_group(
    "serve", help="Offer the catalog over the protocol.", target="toolcrib_mcp.serving:serve"
)


@pack.source
def servers(host: PackHost) -> Any:
    """Offer the tools of every configured server."""
    return HUBS.open(host)


def _signature(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """Say which server a call goes to, and the host it is on."""
    if tool.source is None:
        made = next((f for f in pack.functions if f.tool.id == tool.id), None)
        function = made.implementation.companions.signature if made is not None else None
        return None if function is None else function(**arguments)
    return _at_server(tool.source, tool.effects)


@lru_cache(maxsize=512)
def _at_server(source: str, effects: frozenset[Effect]) -> Signature:
    changes = bool(effects & _CHANGES)
    server = resources.Server(source)
    access = Access.WRITE if changes else Access.READ
    return Signature.of(effects, [Resource(server.type, server.value, access)])


# Live tools have no function of their own for the pack to take this from.
pack.toolcrib_signature = hookimpl(specname="toolcrib_signature")(_signature)  # type: ignore[attr-defined]
