"""Say why a call was not admitted, so that a model can correct it in one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from toolcrib import names
from toolcrib.call import Call
from toolcrib.codes import refuse
from toolcrib.outcome import Refusal
from toolcrib.schema import Problem
from toolcrib.schema.pointers import escape, unescape
from toolcrib.schema.values import shorten
from toolcrib.tool import Tool

from .arguments import UnusableError


__all__ = ["facts", "invalid", "say", "unknown", "unusable"]

# From a pointer into the declared arguments to one into what was sent.
Wire = Callable[[str], str]

_MOST_TEXT = 4_000
_MOST_POINTER = 200


def unknown(call: Call, known: Iterable[str]) -> Refusal:
    """Refuse a call of a tool that is not there; names are only suggested."""
    name = call.wire_name[:100]
    close = names.closest(name, known)
    text = f"There is no tool `{name}`. Nothing ran."
    if close:
        text += f" Did you mean {' or '.join(f'`{each}`' for each in close)}?"
    return refuse("tool.unknown", call.wire_name, text, closest=close)


def unusable(call: Call, tool: Tool, error: UnusableError) -> Refusal:
    """Refuse arguments that no schema was asked about."""
    text = f"The arguments for `{call.wire_name}` cannot be used: {error}. Nothing ran."
    return refuse(error.code, tool.id, text)


def invalid(
    call: Call, tool: Tool, problems: tuple[Problem, ...], wire: Wire | None
) -> Refusal:
    """Refuse arguments that do not fit the schema."""
    return refuse(
        "arguments.invalid", tool.id, say(call, problems, wire), problems=facts(problems)
    )


def facts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON-safe facts for programs."""
    return [
        {
            "pointer": each.pointer,
            "keyword": each.keyword,
            "expected": each.expected,
            "sent": each.sent,
        }
        for each in problems
    ]


def say(call: Call, problems: Iterable[Problem], wire: Wire | None) -> str:
    """Say what is wrong in the names and paths that the model knows."""
    lines = [f"Invalid arguments for `{call.wire_name}`. Nothing ran."]
    for number, problem in enumerate(problems, 1):
        shown = _sent(problem, wire) if wire is not None else problem
        if len(shown.pointer) > _MOST_POINTER:
            shown = attrs.evolve(shown, pointer=shown.pointer[:_MOST_POINTER])
        lines.append(f"{number}. {shown}")
    text = "\n".join(lines)
    if len(text) > _MOST_TEXT:
        text = text[:_MOST_TEXT] + "…"
    return f"{text}\nCall `{call.wire_name}` again with all arguments corrected."


def _sent(problem: Problem, wire: Wire) -> Problem:
    """Return a problem in terms of what was sent: its place, and the names it speaks of."""
    allowed, hint = problem.allowed, problem.hint
    if problem.keyword == "additionalProperties":
        parent = problem.pointer.rpartition("/")[0]
        allowed = tuple(
            unescape(wire(f"{parent}/{escape(name)}").rpartition("/")[2]) for name in allowed
        )
        for old, new in zip(problem.allowed, allowed, strict=True):
            if old != new and shorten(old) in hint:
                hint = f"Did you mean {shorten(new)}?"
    return attrs.evolve(problem, pointer=wire(problem.pointer), allowed=allowed, hint=hint)
