"""The form of a manifest as a JSON Schema: for editors, other programs and readers.

The reader in :mod:`toolcrib.manifestform` refuses the same; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from toolcrib.vocabulary import Audience, Cancellation, Concurrency, Effect, Idempotence, Label

from .form import NEEDED


__all__ = ["API", "HOOKS", "MANIFEST_SCHEMA"]

# The generation of the format and of the hooks.
API = 1
HOOKS = frozenset(
    {
        "toolcrib_guard",
        "toolcrib_observe",
        "toolcrib_project",
        "toolcrib_retry",
        "toolcrib_review",
        "toolcrib_signature",
        "toolcrib_sources",
        "toolcrib_tools",
    }
)


def _texts(words: type[StrEnum] | None = None) -> dict[str, Any]:
    items = {"enum": [str(word) for word in words]} if words else {"minLength": 1}
    return {"type": "array", "items": {"type": "string", **items}}


def _closed(properties: dict[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


_LINE = {"type": "string", "pattern": r"\S"}
REQUIRES_SCHEMA = _closed({name: _texts() for name in ("executables", "capabilities", "flags")})
TOOL_SCHEMA: dict[str, Any] = _closed(
    {
        "name": {
            "type": "string",
            "pattern": "^[a-z][a-z0-9]*(_[a-z0-9]+)*$",
            "maxLength": 64,
            "description": "Last part of the id; the pack's id is the first.",
        },
        "title": _LINE,
        "version": _LINE,
        "category": _LINE,
        "tags": _texts(),
        "description": _closed(
            {
                "summary": _LINE,
                "details": {"type": "string"},
                "usage": _texts(),
                "cautions": _texts(),
                "examples": {
                    "type": "array",
                    "items": _closed(
                        {"description": {"type": "string"}, "arguments": {"type": "object"}},
                        ("description", "arguments"),
                    ),
                },
            },
            ("summary",),
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "type": {"const": "object"},
                "properties": {"type": "object"},
            },
            "required": ["type"],
        },
        "output_schema": {"type": ["object", "boolean"]},
        "effects": {**_texts(Effect), "description": "Left out: all of them."},
        "audience": _texts(Audience),
        "serves": _texts(),
        "idempotent": {"enum": [str(word) for word in Idempotence]},
        "concurrency": {"enum": [str(word) for word in Concurrency]},
        "cancellation": {"enum": [str(word) for word in Cancellation]},
        "strict": {"type": "boolean"},
        "deferred": {"type": "boolean"},
        "labels": {**_texts(Label), "description": "Left out: all of them."},
        "requires": REQUIRES_SCHEMA,
        "timeout": {"type": "number", "exclusiveMinimum": 0},
        "result_budget": {"type": "integer", "minimum": 1},
        "delegate": _LINE,
        "intent": {"type": "boolean"},
        "companions": _texts(),
        "directives": _texts(),
    },
    NEEDED,
)
MANIFEST_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "toolcrib manifest",
    "type": "object",
    "properties": {
        "api": {"const": API},
        "pack": {
            "type": "string",
            "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
            "maxLength": 32,
        },
        "title": _LINE,
        "version": _LINE,
        "hooks": {"type": "array", "items": {"enum": sorted(HOOKS)}},
        "requires": REQUIRES_SCHEMA,
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"},
                    "help": _LINE,
                    "target": {"type": "string", "pattern": "^[\\w.]+:[\\w.]+$"},
                },
                "required": ["name", "help", "target"],
                "additionalProperties": False,
            },
        },
        "tools": {"type": "array", "items": TOOL_SCHEMA},
    },
    "required": ["api", "pack", "tools"],
    "additionalProperties": False,
}
