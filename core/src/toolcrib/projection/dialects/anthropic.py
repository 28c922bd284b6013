"""Anthropic: Messages."""

from __future__ import annotations

import hashlib
import re

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolcrib.call import Call
from toolcrib.outcome import Image, Outcome
from toolcrib.projection.dialect import Declared, Dialect, ParsedReply, WireCall
from toolcrib.projection.facts import Profile, RequestLimits, SchemaLimits
from toolcrib.projection.forms import check_form
from toolcrib.projection.rendering import Media, Rendered, render
from toolcrib.projection.replies import cut_off, made_id, parsed, plain, wire_call


__all__ = ["KEYS", "LAX", "MESSAGES", "STRICT"]

# Names of top-level properties are checked, deeper ones are not.
KEYS = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)

LAX = Profile(name="lax", key_pattern=KEYS)

STRICT = Profile(
    name="strict",
    narrow=True,
    strict=True,
    closed=True,
    absent="omit",
    keeps=frozenset({"title", "default", "pattern", "format", "minItems"}),
    formats=frozenset(
        {
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "uri",
            "ipv4",
            "ipv6",
            "uuid",
        }
    ),
    plain_patterns=True,
    most_min_items=1,
    refs="bare",
    recursion="refuse",
    maps="pairs",
    tuples="object",
    untyped=False,
    mixed=False,
    mixed_enums=True,
    key_pattern=KEYS,
    limits=SchemaLimits(optional=24, unions=16),
)

_ID = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def _tool(declared: Declared) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": declared.name,
        "description": declared.description,
        "input_schema": declared.schema,
    }
    if declared.strict:
        tool["strict"] = True
    if declared.examples:
        tool["input_examples"] = list(declared.examples)
    if declared.deferred:
        tool["defer_loading"] = True
    return tool


def _parse(reply: Any) -> ParsedReply:
    """Read the calls of a response, a message, or a list of content blocks.

    Raises:
        ValueError: it is none of these.
    """
    value = plain(reply)
    calls = _calls(value)
    if not calls:
        check_form(value, "anthropic", ("content", "role", "type"))
    return parsed(value, calls)


def _calls(value: Any) -> list[WireCall]:
    if isinstance(value, list):
        return [call for each in value for call in _calls(each)]
    if not isinstance(value, Mapping):
        return []
    if value.get("type") == "tool_use":
        return list(_block_calls([value]))
    blocks = value.get("content")
    if not isinstance(blocks, list):
        return []
    calls = list(_block_calls(blocks))
    reason = value.get("stop_reason")
    last = blocks[-1] if blocks else None
    ends_in_call = isinstance(last, Mapping) and last.get("type") == "tool_use"
    if reason in ("max_tokens", "model_context_window_exceeded", "refusal") and ends_in_call:
        return cut_off(calls, f"stop reason {reason}")
    return calls


def _block_calls(blocks: list[Any]) -> Iterator[WireCall]:
    """Read calls for us; what the provider runs itself is not ours to answer."""
    for block in blocks:
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            yield wire_call(block.get("name"), block.get("id"), block.get("input"))


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer all calls in one message of the user, with the error flag where it belongs."""
    if not pairs:
        return []
    return [{"role": "user", "content": [_result(call, o) for call, o in pairs]}]


def _result(call: Call, outcome: Outcome) -> dict[str, Any]:
    rendered = render(outcome)
    result: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": _id(call),
        "content": _content(rendered),
    }
    if rendered.failed:
        result["is_error"] = True
    return result


def _content(rendered: Rendered) -> Any:
    parts = [part for media in rendered.media if (part := _part(media)) is not None]
    unseen = len(rendered.media) - len(parts)
    text = rendered.text + (f"\n[{unseen} part(s) cannot be shown here]" if unseen else "")
    return [{"type": "text", "text": text}, *parts] if parts else text


def _part(media: Media) -> dict[str, Any] | None:
    source = {"type": "base64", "media_type": media.media_type, "data": media.data}
    if isinstance(media, Image) and media.media_type in _IMAGES:
        return {"type": "image", "source": source}
    if media.media_type == "application/pdf":
        return {"type": "document", "source": source}
    return None


def _id(call: Call) -> str:
    """Return an id of the provider's alphabet; a foreign one is hashed, the same always."""
    known = made_id(call)
    if _ID.fullmatch(known):
        return known
    return "toolu_" + hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:24]


MESSAGES = Dialect(
    name="anthropic",
    profiles=(LAX,),
    strict=STRICT,
    declare=_tool,
    parse=_parse,
    results=_results,
    limits=RequestLimits(strict_tools=20, optional=24, unions=16),
    native_examples=True,
    defers=True,
    search=({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},),
)
