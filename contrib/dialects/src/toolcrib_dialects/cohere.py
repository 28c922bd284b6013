"""Cohere, chat version 2. Strict is a flag of the whole request, so no tool carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import Call, Outcome
from toolcrib.projection import (
    Declared,
    Dialect,
    ParsedReply,
    WireCall,
    chat_results,
    cut_off,
    message_calls,
    parsed,
    plain,
)

from .facts import PLAIN


__all__ = ["COHERE"]


def _declare(declared: Declared) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": declared.name,
            "description": declared.description,
            "parameters": declared.schema,
        },
    }


def _parse(reply: Any) -> ParsedReply:
    """Read the calls of a response or of its message."""
    value = plain(reply)
    return parsed(value, _calls(value))


def _calls(value: Any) -> list[WireCall]:
    if isinstance(value, list):
        return [call for each in value for call in _calls(each)]
    if not isinstance(value, Mapping):
        return []
    message = value.get("message")
    if not isinstance(message, Mapping):
        message = value if "tool_calls" in value else {"tool_calls": [value]}
        if "function" not in value and "tool_calls" not in value:
            return []
    calls = list(message_calls(message))
    reason = value.get("finish_reason")
    return cut_off(calls, f"finish reason {reason}") if reason == "MAX_TOKENS" else calls


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    return chat_results(pairs, images=False)


COHERE = Dialect(
    name="cohere", profiles=(PLAIN,), declare=_declare, parse=_parse, results=_results
)
