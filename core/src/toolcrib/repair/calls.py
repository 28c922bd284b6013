"""Decorated tool names, and calls that hold other calls."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import attrs

from toolcrib import canonical
from toolcrib.call import Call, Repair, Sent
from toolcrib.codes import refuse


__all__ = ["PARALLEL", "WRAPPERS", "expand_parallel", "rename", "unwrap_name"]

# What models and servers are known to put in front of a name.
WRAPPERS = ("functions.", "default_api:", "default_api.", "tool:")
PARALLEL = "multi_tool_use.parallel"
_MOST = 128


def unwrap_name(name: str, known: Container[str]) -> str | None:
    """Return the known name inside one known wrapper (R10), or None.

    A name that is known as it is needs no repair; nothing else is ever guessed.
    """
    if name in known:
        return None
    found = {
        name.removeprefix(wrapper)
        for wrapper in WRAPPERS
        if name.startswith(wrapper) and name.removeprefix(wrapper) in known
    }
    return found.pop() if len(found) == 1 else None


def rename(call: Call, name: str) -> Call:
    """Return a call under the name that was found inside its wrapper."""
    sent = _sent(call, "R10", f"read the name {call.wire_name} as {name}")
    return attrs.evolve(call, wire_name=name, sent=sent)


def _sent(call: Call, rule: str, text: str) -> Sent:
    return Sent(
        name=call.wire_name,
        provider_id=call.provider_id,
        position=call.position,
        repairs=(Repair(rule, "", text),),
    )


def expand_parallel(call: Call, *, positions: Iterable[int] = ()) -> tuple[Call, ...] | None:
    """Expand a ``multi_tool_use.parallel`` call into the calls that it holds (R11).

    Each gets the ids of the outer call with its own number behind a dot, and the next of
    *positions*, or the outer call's position where there are none; ``sent`` says what
    they were. A call that holds something else becomes one call with a problem.

    Returns None for every other call.
    """
    if call.wire_name not in (PARALLEL, *(wrapper + PARALLEL for wrapper in WRAPPERS)):
        return None
    if call.problem is not None:
        return (call,)
    try:
        uses = _uses(call.arguments)
    except ValueError as error:
        text = (
            f"Invalid arguments for `{PARALLEL}`: {error}. Nothing ran. Call each tool itself."
        )
        return (attrs.evolve(call, problem=refuse("arguments.invalid", call.wire_name, text)),)
    places = iter(positions)
    outer = call.provider_id
    return tuple(
        attrs.evolve(
            call,
            id=f"{call.id}.{number}",
            wire_name=name,
            tool_id=None,
            provider_id=None if outer is None else f"{outer}.{number}",
            arguments=arguments,
            position=next(places, call.position),
            sent=_sent(call, "R11", f"took call {number} out of {call.wire_name}"),
        )
        for number, (name, arguments) in enumerate(uses)
    )


def _uses(arguments: Any) -> list[tuple[str, Any]]:
    value = canonical.loads(arguments) if isinstance(arguments, str) else arguments
    uses = value.get("tool_uses") if isinstance(value, dict) else None
    if not isinstance(uses, list) or not 1 <= len(uses) <= _MOST:
        text = f"`tool_uses` must be a list of 1 to {_MOST} calls"
        raise ValueError(text)
    found = []
    for number, use in enumerate(uses):
        name = use.get("recipient_name") if isinstance(use, dict) else None
        if not isinstance(name, str) or not use.keys() <= {"recipient_name", "parameters"}:
            text = f"/tool_uses/{number} must hold `recipient_name` and `parameters`"
            raise ValueError(text)
        wrapper = next((each for each in WRAPPERS if name.startswith(each)), "")
        found.append((name.removeprefix(wrapper), use.get("parameters")))
    return found
