"""Tasks, claims and sub-agents for LLM agents, safe with crashes and company."""

from __future__ import annotations

from .definition import pack
from .jobs import jobs, output, run, stop, wait
from .tasks import claim, create, delete, get, list_, update


__all__ = [
    "claim",
    "create",
    "delete",
    "get",
    "jobs",
    "list_",
    "output",
    "pack",
    "run",
    "stop",
    "update",
    "wait",
]
