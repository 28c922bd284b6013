"""Read model replies: one provider response, or one reply a line, as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from toolcrib import canonical


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

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"line {self.line}" if self.line is not None else "the transcript"


def read(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Give the replies of a transcript, broken lines included.

    If the first line is a JSON value, each line is a reply, given as soon as it is read.
    Otherwise the whole is one value, or it is lines of which the first is broken.
    """
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if not line.strip():
            continue
        first = _entry(number, line)
        if first.problem is None:
            # A file of one line is a whole file.
            yield from _replies(first)
            yield from _each(numbered)
        else:
            yield from _whole(number, [line, *(more for _, more in numbered)])
        return


def _each(numbered: Iterable[tuple[int, bytes]]) -> Iterator[Entry]:
    for number, line in numbered:
        if line.strip():
            yield from _replies(_entry(number, line))


def _whole(number: int, lines: list[bytes]) -> Iterator[Entry]:
    try:
        value = canonical.loads(b"".join(lines), max_bytes=1 << 28)
    except (ValueError, RecursionError):
        yield from _each(enumerate(lines, number))
        return
    entry = Entry(line=None, reply=value)
    yield from _replies(entry)


def _entry(number: int, line: bytes) -> Entry:
    try:
        return Entry(line=number, reply=canonical.loads(line))
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 (byte {error.start + 1})"
    except (ValueError, RecursionError) as error:
        why = f"is not JSON: {error}"
    return Entry(line=number, problem=f"line {number} {why}")


def _replies(entry: Entry) -> Iterator[Entry]:
    """Take a list of whole replies apart."""
    reply = entry.reply
    if isinstance(reply, list) and reply and all(map(_is_whole, reply)):
        for each in reply:
            yield attrs.evolve(entry, reply=each)
    else:
        yield entry


def _is_whole(value: Any) -> bool:
    """Tell a provider's whole response, or a message, from an item of one."""
    return isinstance(value, Mapping) and (
        "choices" in value
        or value.get("object") == "response"
        or "tool_calls" in value
        or (value.get("role") == "assistant" and isinstance(value.get("content"), list))
    )


def detect(reply: Any) -> str | None:
    """Return the dialect that a reply is in, or None if its shape is none of ours."""
    if isinstance(reply, list):
        known = {dialect for item in reply if (dialect := detect(item)) is not None}
        return known.pop() if len(known) == 1 else None
    if not isinstance(reply, Mapping):
        return None
    kind = reply.get("type")
    if (
        "choices" in reply
        or "tool_calls" in reply
        or isinstance(reply.get("function"), Mapping)
    ):
        return "openai"
    if kind in _ITEMS or isinstance(reply.get("output"), list):
        return "openai-responses"
    if kind in {"tool_use", "thinking"} or _has_blocks(reply):
        return "anthropic"
    if reply.get("method") == "tools/call" or {"name", "arguments"} <= reply.keys():
        return "mcp"
    return _without_calls(reply)


_ITEMS = frozenset({"function_call", "custom_tool_call", "reasoning"})


def _has_blocks(reply: Mapping[str, Any]) -> bool:
    content = reply.get("content")
    return isinstance(content, list) and not any(
        isinstance(block, Mapping) and str(block.get("type")).startswith("output_")
        for block in content
    )


def _without_calls(reply: Mapping[str, Any]) -> str | None:
    """A message that only says something is a reply without calls, in any dialect."""
    said = reply.get("role") == "assistant" and isinstance(reply.get("content"), str | None)
    return "openai" if said else None
