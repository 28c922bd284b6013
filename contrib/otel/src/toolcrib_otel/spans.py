"""From a toolbox's events to spans.

Events carry no arguments, no results and no texts of errors, and of what they do carry
only names, numbers and codes are taken: a span cannot tell what a call was about.
"""

from __future__ import annotations

import contextlib
import threading

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, TracerProvider


__all__ = ["Spans", "parent"]

# Attributes of the GenAI conventions. Written here and not imported: their package is
# unstable by its own word, and these words are what collectors look for.
_OPERATION: Final = "gen_ai.operation.name"
_TOOL: Final = "gen_ai.tool.name"
_TYPE: Final = "gen_ai.tool.type"
_CALL: Final = "gen_ai.tool.call.id"
_CONVERSATION: Final = "gen_ai.conversation.id"
_ERROR: Final = "error.type"

_SCOPE: Final = "toolcrib"
# Names come from models and packs; none of them may fill a collector.
_LONGEST: Final = 256
_MOST_OPEN: Final = 4096
_FINE: Final = frozenset({"ok", "needs_approval"})

_parents: dict[str, list[Context]] = {}
_parents_lock = threading.Lock()


@contextlib.contextmanager
def parent(conversation: str, context: Context | None = None) -> Iterator[None]:
    """Make the current span the parent of the spans of a conversation's calls.

    Observers hear of events later and elsewhere, so the span that is current when a call
    is made has to be named::

        with tracer.start_as_current_span("chat"), toolcrib_otel.parent("conv-42"):
            await session.answer(reply)

    Args:
        conversation: The conversation's name.
        context: Another parent than the current context.
    """
    found = otel_context.get_current() if context is None else context
    with _parents_lock:
        _parents.setdefault(conversation, []).append(found)
    try:
        yield
    finally:
        with _parents_lock:
            stack = _parents[conversation]
            stack.remove(found)
            if not stack:
                del _parents[conversation]


class Spans:
    """Turns events into spans.

    Each call that a handler was started for is a span ``execute_tool NAME``, from there
    to its outcome; a call that was stopped before is one without duration; the wait for
    a person is a span ``approve_tool NAME``. What happens to the whole toolbox is a span
    without duration, too.

    Args:
        tracer_provider: Where spans go; the global one by default.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        self._provider = tracer_provider
        self._tracer: Tracer | None = None
        self._open: OrderedDict[str, tuple[Span, int]] = OrderedDict()
        self._handlers: Mapping[str, Callable[[Mapping[str, Any], int], None]] = {
            "call.started": self._started,
            "call.queued": self._during,
            "call.retrying": self._during,
            "call.progress": self._during,
            "call.finished": self._finished,
            "question.asked": self._asked,
            "question.decided": self._decided,
        }

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event, as ``toolcrib_observe`` is given it."""
        at = int(float(event.get("time") or 0) * 1e9)
        handler = self._handlers.get(str(event["name"]), self._noted)
        handler(event, at)

    # -- calls ---------------------------------------------------------------------------

    def _started(self, event: Mapping[str, Any], at: int) -> None:
        self._begin(str(event["call_id"]), "execute_tool", event, at)

    def _during(self, event: Mapping[str, Any], at: int) -> None:
        found = self._open.get(str(event["call_id"]))
        if found is not None:
            span, start = found
            name = "toolcrib." + str(event["name"]).removeprefix("call.")
            span.add_event(name, _plain(event["data"]), max(at, start))

    def _finished(self, event: Mapping[str, Any], at: int) -> None:
        call_id = str(event["call_id"])
        if call_id not in self._open:
            self._begin(call_id, "execute_tool", event, at)
        span, start = self._open.pop(call_id)
        data = event["data"]
        status, code = str(data.get("status", "")), data.get("code")
        span.set_attribute("toolcrib.status", status)
        if code:
            span.set_attribute("toolcrib.code", _short(code))
        if status not in _FINE:
            word = _short(code or status)
            span.set_attribute(_ERROR, word)
            span.set_status(StatusCode.ERROR, word)
        span.end(max(at, start))

    # -- questions -----------------------------------------------------------------------

    def _asked(self, event: Mapping[str, Any], at: int) -> None:
        self._begin(_question(event), "approve_tool", event, at)

    def _decided(self, event: Mapping[str, Any], at: int) -> None:
        question = _question(event)
        if question not in self._open:
            # It was asked in another process, or too long ago.
            self._begin(question, "approve_tool", event, at)
        span, start = self._open.pop(question)
        span.end(max(at, start))

    # -- the rest ------------------------------------------------------------------------

    def _noted(self, event: Mapping[str, Any], at: int) -> None:
        """Note what is no call and no question, such as ``catalog.changed``."""
        data = event["data"]
        facts = {
            f"toolcrib.{key}": len(value)
            for key, value in data.items()
            if isinstance(value, list | dict)
        }
        name = f"toolcrib.{_short(event['name'])}"
        attributes = {**facts, **_plain(data, "toolcrib."), **_identity(event)}
        span = self._tracer_now().start_span(
            name, self._context(event), attributes=attributes, start_time=at
        )
        span.end(at)

    def _begin(self, key: str, operation: str, event: Mapping[str, Any], at: int) -> None:
        tool = _short(event["tool_id"])
        attributes = {_OPERATION: operation, **_identity(event)}
        if operation == "execute_tool":
            attributes[_TYPE] = "function"
        span = self._tracer_now().start_span(
            f"{operation} {tool}",
            self._context(event),
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            start_time=at,
        )
        self._open[key] = (span, at)
        while len(self._open) > _MOST_OPEN:
            # Its end was missed, or a person never answers.
            _, (oldest, start) = self._open.popitem(last=False)
            oldest.set_attribute("toolcrib.incomplete", value=True)
            oldest.end(max(at, start))

    def _tracer_now(self) -> Tracer:
        if self._tracer is None:
            version = metadata.version("toolcrib")
            self._tracer = trace.get_tracer(_SCOPE, version, self._provider)
        return self._tracer

    @staticmethod
    def _context(event: Mapping[str, Any]) -> Context:
        # Never the current one: an observer runs in the context of some other call.
        with _parents_lock:
            stack = _parents.get(str(event.get("conversation", "")))
            return stack[-1] if stack else Context()


def _identity(event: Mapping[str, Any]) -> dict[str, str]:
    tool = str(event.get("tool_id") or "")
    found = {
        _TOOL: tool,
        _CALL: event.get("call_id"),
        _CONVERSATION: event.get("conversation"),
        "toolcrib.pack": tool.partition(".")[0] if "." in tool else None,
    }
    return {key: _short(value) for key, value in found.items() if value}


def _question(event: Mapping[str, Any]) -> str:
    return f"question {event['data'].get('question') or event['call_id']}"


_WORDS: Final = frozenset({"attempt", "delay", "failure", "guard", "progress", "total"})


def _plain(data: Mapping[str, Any], prefix: str = "") -> dict[str, str | float]:
    """Return what of an event's data is a number or a known word; texts are left out."""
    return {
        prefix + key: _short(value) if isinstance(value, str) else value
        for key, value in data.items()
        if isinstance(value, int | float) or (key in _WORDS and isinstance(value, str))
    }


def _short(value: Any) -> str:
    return str(value)[:_LONGEST]
