"""Ollama over HTTP: its Python client strips schemas, so send declarations yourself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import Call, Image, Outcome
from toolcrib.projection import (
    Declared,
    Dialect,
    ParsedReply,
    WireCall,
    cut_off,
    message_calls,
    parsed,
    plain,
    render,
)

from .facts import PLAIN


__all__ = ["OLLAMA"]


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
    """Read the calls of a response or of its message; they may have no ids."""
    value = plain(reply)
    return parsed(value, _calls(value))


def _calls(value: Any) -> list[WireCall]:
    if isinstance(value, list):
        return [call for each in value for call in _calls(each)]
    if not isinstance(value, Mapping):
        return []
    message = value.get("message")
    if not isinstance(message, Mapping):
        message = value if "function" not in value else {"tool_calls": [value]}
    calls = list(message_calls(message))
    return (
        cut_off(calls, "done reason length") if value.get("done_reason") == "length" else calls
    )


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer in the order of the calls, which is all that tells two of one tool apart."""
    messages = []
    for call, outcome in pairs:
        rendered = render(outcome)
        images = [each.data for each in rendered.media if isinstance(each, Image)]
        unseen = len(rendered.media) - len(images)
        text = rendered.text
        if unseen:
            text += f"\n[{unseen} part(s) cannot be shown here]"
        message: dict[str, Any] = {"role": "tool", "tool_name": call.wire_name, "content": text}
        if images:
            message["images"] = images
        messages.append(message)
    return messages


OLLAMA = Dialect(
    name="ollama", profiles=(PLAIN,), declare=_declare, parse=_parse, results=_results
)
