"""Ollama over HTTP: its Python client strips schemas, so send declarations yourself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import Call, Image, Outcome
from toolcrib.projection import Dialect, WireCall, render

from .facts import PLAIN
from .messages import bare_tool, chat_calls, parser


__all__ = ["OLLAMA"]


def _calls(response: Mapping[str, Any]) -> list[WireCall]:
    cut = response.get("done_reason") == "length"
    return chat_calls(response, "done reason length" if cut else None)


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
    name="ollama",
    profiles=(PLAIN,),
    declare=bare_tool,
    parse=parser(_calls, "ollama", ("message", "content", "role", "tool_calls")),
    results=_results,
)
