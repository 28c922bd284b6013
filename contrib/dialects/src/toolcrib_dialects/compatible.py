"""Endpoints that speak OpenAI's Chat Completions with facts of their own."""

from __future__ import annotations

import json

from collections.abc import Mapping
from typing import Any

import attrs

from toolcrib import Refusal, Status
from toolcrib.projection import (
    Declared,
    Dialect,
    ParsedReply,
    Profile,
    RequestLimits,
    SchemaLimits,
    WireCall,
    chat_tool,
    dialect,
    parsed,
    plain,
    wire_call,
)

from .facts import PLAIN
from .messages import text_results


__all__ = ["DEEPSEEK", "GROQ", "XAI", "XAI_SDK"]

# Strict is on the beta path of the endpoint only.
_DEEPSEEK_STRICT = Profile(
    name="strict",
    narrow=True,
    strict=True,
    closed=True,
    absent="null",
    keeps=frozenset(
        {
            "title",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        }
    ),
    formats=frozenset({"email", "hostname", "ipv4", "ipv6", "uuid"}),
    plain_patterns=True,
    refs="bare",
    maps="pairs",
    tuples="object",
    untyped=False,
    mixed=False,
    mixed_enums=False,
    limits=SchemaLimits(depth=10, properties=5_000, enum_values=1_000, characters=120_000),
)


# -- Groq --------------------------------------------------------------------------


def _groq_parse(reply: Any) -> ParsedReply:
    """Read calls, and the ones that the endpoint refused with ``tool_use_failed``."""
    value = plain(reply)
    if isinstance(value, Mapping):
        error = value.get("error", value)
        if isinstance(error, Mapping) and error.get("code") == "tool_use_failed":
            return parsed(value, _failed(error))
    return dialect("openai").parse(value)


def _failed(error: Mapping[str, Any]) -> list[WireCall]:
    """Make calls of what the model wrote; they are answered with the error, never run."""
    written = error.get("failed_generation")
    try:
        value = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        value = None
    entries = value if isinstance(value, list) else [value]
    why = str(error.get("message") or "The provider refused the call.")[:500]
    calls = []
    for entry in entries:
        named = entry if isinstance(entry, Mapping) else {}
        arguments = named.get("arguments", named.get("parameters"))
        call = wire_call(named.get("name") or "call", named.get("id"), arguments)
        text = f"{why} Nothing ran. Call again with arguments that fit the tool's schema."
        problem = Refusal(Status.INVALID, "call.malformed", call.name, text)
        calls.append(attrs.evolve(call, problem=problem))
    return calls


GROQ = Dialect(
    name="groq",
    profiles=(PLAIN,),
    declare=chat_tool,
    parse=_groq_parse,
    results=text_results,
    limits=RequestLimits(tools=128),
)


# -- xAI ---------------------------------------------------------------------------


def _xai_sdk_tool(declared: Declared) -> dict[str, Any]:
    """Declare a function as the gRPC message has it: the schema is JSON text."""
    text = json.dumps(declared.schema, ensure_ascii=False, separators=(",", ":"))
    return {
        "function": {
            "name": declared.name,
            "description": declared.description,
            "strict": declared.strict,
            "parameters": text,
        }
    }


XAI = Dialect(
    name="xai",
    profiles=(PLAIN,),
    declare=chat_tool,
    parse=dialect("openai").parse,
    results=text_results,
    limits=RequestLimits(tools=128),
)
XAI_SDK = attrs.evolve(XAI, name="xai-sdk", declare=_xai_sdk_tool)

DEEPSEEK = Dialect(
    name="deepseek",
    profiles=(PLAIN,),
    strict=_DEEPSEEK_STRICT,
    declare=chat_tool,
    parse=dialect("openai").parse,
    results=text_results,
    limits=RequestLimits(tools=128),
)
