"""Gemini, ``generateContent``: with JSON Schema, or with its older schema message."""

from __future__ import annotations

import re

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from toolcrib import Call, Outcome, Tool
from toolcrib.projection import (
    Declared,
    Dialect,
    Profile,
    RequestLimits,
    WireCall,
    cut_off,
    render,
    wire_call,
)

from .messages import each, parser


__all__ = ["GEMINI", "GEMINI_OPENAPI"]

_KEYS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_START = re.compile(r"[A-Za-z_]", re.ASCII)

# ``parametersJsonSchema``: the published list of keywords; others are not looked at or
# refuse the request.
_JSON = Profile(
    name="json",
    narrow=True,
    keeps=frozenset(
        {
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "format",
            "default",
            "additionalProperties",
        }
    ),
    formats=frozenset({"date-time"}),
    inclusive=True,
    refs="bare",
    recursion="optional",
    enum_types=frozenset({"string", "integer", "number"}),
    mixed_enums=False,
    key_pattern=_KEYS,
    key_start=_START,
    keys_everywhere=True,
)

# Recursion that passes through no optional property is written out a few levels deep.
_UNROLLED = attrs.evolve(_JSON, name="json-unrolled", refs="inline", recursion="unroll")

# ``parameters``: a protobuf message; one unknown field refuses the whole request.
_OPENAPI = Profile(
    name="openapi",
    narrow=True,
    keeps=frozenset(
        {
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "pattern",
            "format",
            "default",
        }
    ),
    formats=frozenset({"date-time"}),
    inclusive=True,
    refs="inline",
    recursion="refuse",
    maps="pairs",
    tuples="widen",
    untyped=False,
    mixed=False,
    type_lists=False,
    nullable=True,
    enum_types=frozenset({"string"}),
    mixed_enums=False,
    key_pattern=_KEYS,
    key_start=_START,
    keys_everywhere=True,
)

_STOPPED = frozenset({"MAX_TOKENS", "SAFETY", "RECITATION", "PROHIBITED_CONTENT"})


def _declare(declared: Declared) -> dict[str, Any]:
    """Declare a function; a function without arguments has no schema at all."""
    out: dict[str, Any] = {"name": declared.name, "description": declared.description}
    if not declared.empty:
        field = "parameters" if declared.form == _OPENAPI.name else "parametersJsonSchema"
        out[field] = declared.schema
    return out


def _gather(declarations: Sequence[tuple[Tool, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Put all functions into the one tool that holds them."""
    functions = [declaration for _, declaration in declarations]
    return [{"functionDeclarations": functions}] if functions else []


def _calls(value: Mapping[str, Any]) -> list[WireCall]:
    """Read the calls of a response, a candidate, a content, or a part."""
    candidates = value.get("candidates")
    if isinstance(candidates, list):
        # Further candidates are alternatives, not more calls.
        return each(candidates[:1], _calls)
    function = value.get("functionCall", value.get("function_call"))
    if function is not None:
        return [_part(function)]
    if value.get("type") == "function_call":
        return [wire_call(value.get("name"), value.get("id"), value.get("arguments"))]
    calls: list[WireCall] = []
    for field in ("content", "parts", "outputs"):
        inner = value.get(field)
        if isinstance(inner, Mapping | list):
            calls += each(inner, _calls)
    reason = str(value.get("finishReason", value.get("finish_reason")) or "")
    return cut_off(calls, f"finish reason {reason}") if reason in _STOPPED else calls


def _part(function: Any) -> WireCall:
    if not isinstance(function, Mapping):
        return wire_call(None, None, None)
    arguments = function.get("args", function.get("arguments"))
    return wire_call(function.get("name"), function.get("id"), arguments)


def _results(pairs: Sequence[tuple[Call, Outcome]]) -> list[dict[str, Any]]:
    """Answer all calls in one turn of the user; media follow the answers."""
    parts: list[dict[str, Any]] = []
    media: list[dict[str, Any]] = []
    for call, outcome in pairs:
        rendered = render(outcome)
        key = "error" if rendered.failed else "output"
        answer: dict[str, Any] = {"name": call.wire_name, "response": {key: rendered.text}}
        if call.provider_id is not None:
            answer = {"id": call.provider_id, **answer}
        parts.append({"functionResponse": answer})
        if rendered.media:
            media.append({"text": f"Media of {call.wire_name}:"})
        media += [
            {"inlineData": {"mimeType": each.media_type, "data": each.data}}
            for each in rendered.media
        ]
    return [{"role": "user", "parts": [*parts, *media]}] if parts else []


# What a reply without calls has; one that was blocked has no candidates at all.
_SAID = (
    *("content", "parts", "outputs", "text", "role", "type", "thought"),
    *("finishReason", "finish_reason", "promptFeedback", "prompt_feedback"),
    *("usageMetadata", "usage_metadata"),
)

GEMINI = Dialect(
    name="gemini",
    profiles=(_JSON, _UNROLLED),
    declare=_declare,
    parse=parser(_calls, "gemini", _SAID),
    results=_results,
    limits=RequestLimits(tools=512),
    gather=_gather,
)

# What the message cannot say is declared with JSON Schema, function by function.
GEMINI_OPENAPI = attrs.evolve(
    GEMINI, name="gemini-openapi", profiles=(_OPENAPI, _JSON, _UNROLLED)
)
