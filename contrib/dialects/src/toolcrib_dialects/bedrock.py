"""Amazon Bedrock, ``Converse``."""

from __future__ import annotations

import re

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import Call, Outcome
from toolcrib.projection import (
    Declared,
    Dialect,
    ParsedReply,
    Profile,
    RequestLimits,
    SchemaLimits,
    WireCall,
    cut_off,
    parsed,
    plain,
    render,
    wire_call,
)

from .facts import PLAIN, hashed_id


__all__ = ["BEDROCK"]

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


def _parse(reply: Any) -> ParsedReply:
    """Read the calls of a response, a message, or a list of content blocks."""
    value = plain(reply)
    return parsed(value, _calls(value))


def _calls(value: Any) -> list[WireCall]:
    if isinstance(value, list):
        return [call for each in value for call in _calls(each)]
    if not isinstance(value, Mapping):
        return []
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
    calls = _calls(content) if isinstance(content, list) else []
    reason = value.get("stopReason")
    return cut_off(calls, f"stop reason {reason}") if reason in _STOPPED else calls


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer all calls in one message of the user.

    Media are named and not sent: models differ in what may stand in a result, and the
    SDK wants bytes where the protocol has text.
    """
    return [{"role": "user", "content": [_result(*pair) for pair in pairs]}] if pairs else []


def _result(call: Call, outcome: Outcome) -> dict[str, Any]:
    rendered = render(outcome)
    text = rendered.text
    if rendered.media:
        text += f"\n[{len(rendered.media)} part(s) cannot be shown here]"
    return {
        "toolResult": {
            "toolUseId": hashed_id(call, _ID, "tooluse_", 32),
            "content": [{"text": text}],
            "status": "error" if rendered.failed else "success",
        }
    }


BEDROCK = Dialect(
    name="bedrock",
    profiles=(PLAIN,),
    strict=_STRICT,
    declare=_declare,
    parse=_parse,
    results=_results,
    limits=RequestLimits(strict_tools=20, optional=24, unions=16),
)
