"""Read model replies from a file: one provider response, or one reply a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from .. import canonical


__all__ = ["Entry", "detect", "read"]


@attrs.frozen(kw_only=True)
class Entry:
    """One reply of a transcript.

    Attributes:
        line: Its line, from 1; None if it is the whole file.
        reply: The reply, or None if the line cannot be read.
        problem: Why the line cannot be read.
    """

    line: int | None
    reply: Any = None
    problem: str | None = None


def read(text: str) -> list[Entry]:
    """Return the replies of a transcript, broken lines included.

    A file that is one JSON value is one reply; an array of replies is as many.
    """
    try:
        whole = canonical.loads(text)
    except ValueError:
        return [_entry(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if isinstance(whole, list) and whole and all(_is_reply(item) for item in whole):
        return [Entry(line=n, reply=item) for n, item in enumerate(whole, 1)]
    return [Entry(line=None, reply=whole)]


def _entry(number: int, line: str) -> Entry:
    try:
        return Entry(line=number, reply=canonical.loads(line))
    except ValueError as error:
        return Entry(line=number, problem=f"line {number} is not JSON: {error}")


def _is_reply(value: Any) -> bool:
    return isinstance(value, Mapping) and detect(value) is not None and "type" not in value


def detect(reply: Any) -> str | None:
    """Return the dialect that a reply is in, or None if its shape is none of ours."""
    if isinstance(reply, list):
        kinds = {item.get("type") for item in reply if isinstance(item, Mapping)}
        if "tool_use" in kinds:
            return "anthropic"
        return "openai-responses" if "function_call" in kinds else None
    if not isinstance(reply, Mapping):
        return None
    if "choices" in reply or "tool_calls" in reply:
        return "openai"
    if reply.get("type") == "function_call" or isinstance(reply.get("output"), list):
        return "openai-responses"
    if reply.get("type") == "tool_use" or isinstance(reply.get("content"), list):
        return "anthropic"
    if reply.get("method") == "tools/call" or {"name", "arguments"} <= reply.keys():
        return "mcp"
    return None
