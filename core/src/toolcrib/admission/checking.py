"""The tool's own check of its arguments, after their schema."""

from __future__ import annotations

import json

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from toolcrib.call import AdmittedCall
from toolcrib.codes import refuse
from toolcrib.errors import Busy, Invalid, NotFound, Refused, ToolFailure, Unavailable
from toolcrib.outcome import Refusal
from toolcrib.repair import LOSSLESS
from toolcrib.schema import Problem

from .arguments import MAX_BYTES, MAX_DEPTH, read
from .saying import Wire, facts, say


__all__ = ["checked", "hopeless"]

_FAILURES = {
    NotFound: "tool.not_found",
    Unavailable: "tool.unavailable",
    Busy: "tool.busy",
    Refused: "tool.refused",
}


async def checked(
    admitted: AdmittedCall,
    check: Callable[[dict[str, Any]], Awaitable[Any]],
    *,
    inverse: Any = None,
    repairs: frozenset[str] = LOSSLESS,
) -> AdmittedCall | Refusal:
    """Have the tool's own check look at an admitted call; whatever goes wrong refuses it.

    Args:
        admitted: The call; its arguments fit the schema.
        check: Runs the check on a copy of the arguments, where it may take its time.
            ``TimeoutError`` says that it took too long.
        inverse: As for *admit*, so that a refusal speaks of what was sent.
        repairs: As for *admit*.
    """
    try:
        await check(json.loads(admitted.text))
    except KeyboardInterrupt:
        raise
    except Exception as error:  # noqa: BLE001 - a pack's code may raise anything
        if isinstance(error, ToolFailure):
            return hopeless(admitted, error, inverse=inverse, repairs=repairs)
        return _refusal(admitted, error, None)
    return admitted


def hopeless(
    admitted: AdmittedCall,
    failure: ToolFailure,
    *,
    inverse: Any = None,
    repairs: frozenset[str] = LOSSLESS,
) -> Refusal:
    """Refuse a call whose pack says, before it ran, that it cannot do its work."""
    wire = _wire(admitted, inverse, repairs) if isinstance(failure, Invalid) else None
    return _refusal(admitted, failure, wire)


def _refusal(admitted: AdmittedCall, error: Exception, wire: Wire | None) -> Refusal:
    call, tool = admitted.call, admitted.tool
    if isinstance(error, Invalid):
        problem = Problem(error.path, "check", error.text[:1000])
        said = say(call, [problem], wire)
        return attrs.evolve(
            refuse("tool.invalid", tool.id, said, problems=facts([problem])),
            code=error.code or "tool.invalid",
        )
    if isinstance(error, ToolFailure):
        code = next((_FAILURES[kind] for kind in _FAILURES if isinstance(error, kind)), None)
        said = f"{error.text[:1000]} Nothing ran."
        return attrs.evolve(
            refuse(code or "tool.failed", tool.id, said),
            code=error.code or code or "tool.failed",
        )
    if isinstance(error, TimeoutError):
        said = f"The check of `{call.wire_name}` did not end in time ({error}). Nothing ran."
        return refuse("check.late", tool.id, said)
    said = f"The check of `{call.wire_name}` broke ({type(error).__name__}). Nothing ran."
    return refuse("tool.crashed", tool.id, said)


def _wire(admitted: AdmittedCall, inverse: Any, repairs: frozenset[str]) -> Wire | None:
    """Return what says a pointer as the model knows it."""
    found = getattr(inverse, "wire_pointer", None)
    if found is None:
        return None
    sent, _ = read(admitted.call.arguments, MAX_BYTES, MAX_DEPTH, repairs)
    return lambda pointer: str(found(pointer, sent))
