"""Cohere, chat version 2. Strict is a flag of the whole request, so no tool carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.projection import Dialect, WireCall

from .facts import PLAIN
from .messages import bare_tool, chat_calls, parser, text_results


__all__ = ["COHERE"]


def _calls(response: Mapping[str, Any]) -> list[WireCall]:
    cut = response.get("finish_reason") == "MAX_TOKENS"
    return chat_calls(response, "finish reason MAX_TOKENS" if cut else None)


COHERE = Dialect(
    name="cohere",
    profiles=(PLAIN,),
    declare=bare_tool,
    parse=parser(_calls, "cohere", ("message", "content", "role", "tool_calls")),
    results=text_results,
)
