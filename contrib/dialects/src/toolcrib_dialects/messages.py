"""Replies and answers that several providers have in the form of messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from toolcrib import Call, Outcome
from toolcrib.projection import (
    Declared,
    ParsedReply,
    WireCall,
    chat_results,
    check_form,
    cut_off,
    message_calls,
    parsed,
    plain,
)


__all__ = ["bare_tool", "chat_calls", "each", "parser", "text_results"]

Read = Callable[[Mapping[str, Any]], list[WireCall]]


def bare_tool(declared: Declared) -> dict[str, Any]:
    """Declare a function for a provider that knows no strict tools."""
    return {
        "type": "function",
        "function": {
            "name": declared.name,
            "description": declared.description,
            "parameters": declared.schema,
        },
    }


def each(value: Any, read: Read) -> list[WireCall]:
    """Read the calls of a mapping, or of every mapping in a list; others hold none."""
    if isinstance(value, list):
        return [call for part in value for call in each(part, read)]
    return read(value) if isinstance(value, Mapping) else []


def parser(read: Read, form: str, keys: Collection[str]) -> Callable[[Any], ParsedReply]:
    """Make what reads the calls of a reply, and refuses one of another form.

    Args:
        read: Reads those of one mapping: a response, a message, or a part of one.
        form: The name of the form.
        keys: Keys of which a reply without calls has one.
    """

    def parse(reply: Any) -> ParsedReply:
        value = plain(reply)
        calls = each(value, read)
        if not calls:
            check_form(value, form, keys)
        return parsed(value, calls)

    return parse


def chat_calls(response: Mapping[str, Any], stopped: str | None) -> list[WireCall]:
    """Read the calls of a response with a message, of a message, or of one call.

    Args:
        response: The mapping.
        stopped: Why the response ended early, or None where it did not.
    """
    message = response.get("message")
    if not isinstance(message, Mapping):
        alone = "function" in response and "tool_calls" not in response
        message = {"tool_calls": [response]} if alone else response
    calls = list(message_calls(message))
    return calls if stopped is None else cut_off(calls, stopped)


def text_results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer with tool messages that hold text alone."""
    return chat_results(pairs, images=False)
