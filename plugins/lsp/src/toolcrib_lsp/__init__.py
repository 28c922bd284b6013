"""Code intelligence for LLM agents, from any language server."""

from __future__ import annotations

from .calls import incoming_calls, outgoing_calls
from .checks import diagnostics, status
from .definition import pack
from .reads import definition, hover, implementation, references, type_definition
from .symbols import symbols, workspace_symbols
from .writes import code_action, code_actions, format_, rename


__all__ = [
    "code_action",
    "code_actions",
    "definition",
    "diagnostics",
    "format_",
    "hover",
    "implementation",
    "incoming_calls",
    "outgoing_calls",
    "pack",
    "references",
    "rename",
    "status",
    "symbols",
    "type_definition",
    "workspace_symbols",
]
