"""Amazon Bedrock, ``Converse``."""

from __future__ import annotations

import base64
import re

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from toolcrib import Audio, Call, File, Image, Outcome
from toolcrib.projection import (
    Declared,
    Dialect,
    Profile,
    RequestLimits,
    SchemaLimits,
    WireCall,
    cut_off,
    render,
    wire_call,
)

from .facts import PLAIN, hashed_id
from .messages import each, parser


__all__ = ["BEDROCK", "BEDROCK_TEXT"]

_STRICT = Profile(
    name="strict",
    narrow=True,
    strict=True,
    closed=True,
    keeps=frozenset(
        {"title", "default", "pattern", "format", "minItems", "minLength", "maxLength"}
    ),
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6"}
        | {"uuid"}
    ),
    plain_patterns=True,
    most_min_items=1,
    refs="bare",
    recursion="refuse",
    maps="pairs",
    tuples="object",
    untyped=False,
    mixed=False,
    mixed_enums=False,
    limits=SchemaLimits(optional=24, unions=16),
)

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)
_IMAGES = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
_STOPPED = frozenset({"max_tokens", "malformed_tool_use", "malformed_model_output"})


def _declare(declared: Declared) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": declared.name}
    if declared.description:
        # An empty one is refused.
        spec["description"] = declared.description
    spec["inputSchema"] = {"json": declared.schema}
    if declared.strict:
        spec["strict"] = True
    return {"toolSpec": spec}


def _calls(value: Mapping[str, Any]) -> list[WireCall]:
    """Read the calls of a response, a message, or a content block."""
    use = value.get("toolUse")
    if use is not None:
        if not isinstance(use, Mapping):
            return [wire_call(None, None, None)]
        if use.get("type") == "server_tool_use":
            return []
        return [wire_call(use.get("name"), use.get("toolUseId"), use.get("input"))]
    output = value.get("output")
    message = output.get("message") if isinstance(output, Mapping) else value
    content = message.get("content") if isinstance(message, Mapping) else None
    calls = each(content, _calls) if isinstance(content, list) else []
    reason = value.get("stopReason")
    return cut_off(calls, f"stop reason {reason}") if reason in _STOPPED else calls


class _Blob(str):
    """Base64 text, as the protocol has it, that ``boto3`` encodes to that very text.

    The SDK takes bytes, or text that it turns into bytes, and encodes those. Plain text
    would be encoded twice; this one turns into the bytes that it stands for.
    """

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Return the bytes."""
        return base64.b64decode(str(self))


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer all calls in one message of the user."""
    return [{"role": "user", "content": [_result(*pair) for pair in pairs]}] if pairs else []


def _text_results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer all calls in one message of the user; media are named and not sent."""
    content = [_result(*pair, media=False) for pair in pairs]
    return [{"role": "user", "content": content}] if content else []


def _result(call: Call, outcome: Outcome, *, media: bool = True) -> dict[str, Any]:
    rendered = render(outcome)
    found = [_part(each, n) for n, each in enumerate(rendered.media, 1) if media]
    parts = [part for part in found if part is not None]
    unseen = len(rendered.media) - len(parts)
    text = rendered.text + (f"\n[{unseen} part(s) cannot be shown here]" if unseen else "")
    return {
        "toolResult": {
            "toolUseId": hashed_id(call, _ID, "tooluse_", 32),
            "content": [{"text": text}, *parts],
            "status": "error" if rendered.failed else "success",
        }
    }


def _part(media: Image | Audio | File, number: int) -> dict[str, Any] | None:
    source = {"bytes": _Blob(media.data)}
    form = _IMAGES.get(media.media_type)
    if form is not None:
        return {"image": {"format": form, "source": source}}
    form = _DOCUMENTS.get(media.media_type)
    if form is not None:
        # Names have a narrow alphabet, and one that a model chose could steer it.
        name = f"part {number}"
        return {"document": {"format": form, "name": name, "source": source}}
    return None


BEDROCK = Dialect(
    name="bedrock",
    profiles=(PLAIN,),
    strict=_STRICT,
    declare=_declare,
    parse=parser(_calls, "bedrock", ("output", "message", "content", "role", "text")),
    results=_results,
    limits=RequestLimits(strict_tools=20, optional=24, unions=16),
)

# For models that take no media in results; they refuse the whole request.
BEDROCK_TEXT = attrs.evolve(BEDROCK, name="bedrock-text", results=_text_results)
