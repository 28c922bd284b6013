"""From what a handler raises to an honest status."""

from __future__ import annotations

import re
import traceback

from typing import Any

import attrs

from toolcrib.call import AuthorizedCall
from toolcrib.codes import CODES
from toolcrib.errors import (
    Busy,
    Failed,
    Invalid,
    NotFound,
    Refused,
    ToolFailure,
    Transient,
    Unavailable,
    Uncertain,
)
from toolcrib.retry import is_transient, replayable
from toolcrib.vocabulary import Access, Effect, Status


__all__ = ["Ending", "has_effects", "interrupted", "of_exception", "unwrapped"]

_TEXT_LIMIT = 4000
_TRACE_LIMIT = 8000
_WORD = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", re.ASCII)
_READS = frozenset({Effect.FS_READ, Effect.NET_READ})

_CODES: tuple[tuple[type[ToolFailure], str], ...] = (
    (Invalid, "tool.invalid"),
    (NotFound, "tool.not_found"),
    (Unavailable, "tool.unavailable"),
    (Busy, "tool.busy"),
    (Refused, "tool.refused"),
    (Failed, "tool.failed"),
    (Uncertain, "call.uncertain"),
    (Transient, "tool.transient"),
    (ToolFailure, "tool.failed"),
)


@attrs.frozen
class Ending:
    """How an attempt ended badly: what an outcome is made of."""

    status: Status
    code: str
    text: str
    retryable: bool = False
    details: dict[str, Any] = attrs.field(factory=dict)


def has_effects(authorized: AuthorizedCall) -> bool:
    """Whether this call may leave a trace: it does more than read files and the network."""
    signature = authorized.signature
    effects = signature.effects or authorized.tool.effects
    if not effects <= _READS:
        return True
    return any(r.access is Access.WRITE for r in signature.resources)


def unwrapped(error: BaseException) -> BaseException:
    """Return the one exception inside groups of one, and any request to stop the program."""
    while isinstance(error, BaseExceptionGroup):
        stops = error.subgroup(KeyboardInterrupt)
        inner = (stops or error).exceptions
        if len(inner) != 1 and stops is None:
            return error
        error = inner[0]
    return error


def of_exception(error: BaseException, authorized: AuthorizedCall, attempts: int) -> Ending:
    """Classify what a handler raised of its own accord."""
    if isinstance(error, ToolFailure):
        return _failure(error, authorized)
    if is_transient(error):
        return _passing(error, authorized, attempts)
    name = type(error).__name__
    message = _message(error)
    text = f"{authorized.tool.id} failed unexpectedly: {name}{': ' if message else ''}{message}"
    return Ending(Status.FAILED, "tool.crashed", bounded(text), details=_trace(error))


def _failure(error: ToolFailure, authorized: AuthorizedCall) -> Ending:
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    known = CODES[code]
    if code == "tool.transient":
        # The tool vouches that nothing happened, so the model may simply ask again.
        retryable = True
    elif code == "call.uncertain":
        retryable = _replayable(authorized)
    else:
        retryable = known.retryable
    details: dict[str, Any] = {}
    if isinstance(error, Invalid):
        details["path"] = bounded(error.path)
    own = error.code
    if (
        isinstance(own, str)
        and len(own) <= 100
        and _WORD.fullmatch(own)
        and (own not in CODES or CODES[own].status is known.status)
    ):
        code = own
    text = bounded(error.text) if isinstance(error.text, str) and error.text else known.meaning
    return Ending(known.status, code, text, retryable, details)


def _passing(error: BaseException, authorized: AuthorizedCall, attempts: int) -> Ending:
    """Classify a passing failure that the tool did not vouch for."""
    tool_id = authorized.tool.id
    times = f" in {attempts} attempts" if attempts > 1 else ""
    what = f"{type(error).__name__}: {_message(error)}".rstrip(": ")
    lost = isinstance(error, ConnectionError | TimeoutError)
    details = _trace(error)
    if lost and has_effects(authorized):
        text = (
            f"{tool_id} lost its answer{times} ({what}). Its effect may have happened: "
            "check before you call it again."
        )
        again = _replayable(authorized)
        return Ending(Status.UNCERTAIN, "call.uncertain", bounded(text), again, details)
    if isinstance(error, TimeoutError):
        text = f"{tool_id} ran into a time limit of its own{times} ({what})."
        return Ending(Status.TIMEOUT, "call.timeout", bounded(text), True, details)
    text = f"{tool_id} met a passing failure{times} ({what})."
    again = _replayable(authorized) or not has_effects(authorized)
    return Ending(Status.FAILED, "tool.transient", bounded(text), again, details)


def interrupted(
    authorized: AuthorizedCall,
    *,
    cause: str,
    reason: str,
    running: bool,
    started: bool = True,
    error: BaseException | None = None,
) -> Ending:
    """Say how a call ended that was cancelled or met its deadline.

    ``running`` says that its work still goes on somewhere; ``started`` that its handler
    was called, and did not vouch that nothing happened.
    """
    tool = authorized.tool
    details: dict[str, Any] = {"cause": cause, "cancellation": str(tool.cancellation)}
    if running:
        details["still_running"] = True
    if error is not None:
        details.update(_trace(error))
    tail = " It may still be running." if running else ""
    if started and has_effects(authorized):
        text = (
            f"{reason} {tool.id} had started, so its effect may have happened: check "
            f"before you call it again.{tail}"
        )
        again = _replayable(authorized) and not running
        return Ending(Status.UNCERTAIN, "call.uncertain", text, again, details)
    nothing = "" if started else " Nothing was done."
    if cause == "deadline":
        text = f"{reason}{nothing}{tail} Ask for less, or try again later."
        return Ending(Status.TIMEOUT, "call.timeout", text, True, details)
    return Ending(
        Status.CANCELLED, "call.cancelled", f"{reason}{nothing}{tail}", False, details
    )


def _replayable(authorized: AuthorizedCall) -> bool:
    return replayable(authorized.tool.idempotent, authorized.idempotency_key)


def _message(error: BaseException) -> str:
    try:
        return bounded(str(error), 1000)
    except Exception:  # noqa: BLE001 - a __str__ may do anything
        return ""


def _trace(error: BaseException) -> dict[str, Any]:
    """Return what people need to find the fault; never shown to a model."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - formatting calls code of the exception
        text = type(error).__name__
    kind = type(error)
    return {
        "exception": f"{kind.__module__}.{kind.__qualname__}",
        "traceback": bounded(text, _TRACE_LIMIT),
    }


def bounded(text: str, limit: int = _TEXT_LIMIT) -> str:
    """Return a text of bounded length that can be written as UTF-8."""
    if len(text) > limit:
        half = limit // 2 - 20
        gone = len(text) - 2 * half
        text = f"{text[:half]} [{gone} characters left out] {text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
