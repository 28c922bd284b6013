"""Mistral, chat completions."""

from __future__ import annotations

import re

from collections.abc import Sequence
from typing import Any

import attrs

from toolcrib import Call, Outcome
from toolcrib.projection import Dialect, ParsedReply, chat_tool, dialect

from .facts import PLAIN, hashed_id
from .messages import text_results


__all__ = ["MISTRAL"]

_ID = re.compile(r"[A-Za-z0-9]{9}", re.ASCII)


def _parse(reply: Any) -> ParsedReply:
    """Read calls as OpenAI's; an id of ``"null"`` is the SDK's word for none."""
    read = dialect("openai").parse(reply)
    calls = tuple(
        attrs.evolve(call, provider_id=None) if call.provider_id == "null" else call
        for call in read.calls
    )
    return attrs.evolve(read, calls=calls)


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer with tool messages, whose ids have nine letters or digits."""
    messages = text_results(pairs)
    return [
        {**message, "tool_call_id": hashed_id(call, _ID, "", 9), "name": call.wire_name}
        for message, (call, _) in zip(messages, pairs, strict=True)
    ]


MISTRAL = Dialect(
    name="mistral", profiles=(PLAIN,), declare=chat_tool, parse=_parse, results=_results
)
