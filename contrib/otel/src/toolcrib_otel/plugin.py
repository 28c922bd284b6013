"""The pack: it answers ``toolcrib_observe`` and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib import Pack

from .spans import Spans


if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


__all__ = ["observer", "pack"]


def observer(tracer_provider: TracerProvider | None = None) -> Pack:
    """Make the pack for a tracer provider of one's own, to pass to ``Policy(local=[…])``.

    Args:
        tracer_provider: Where spans go; the application's global one by default, looked
            up when the first event is heard.
    """
    made = Pack("otel", title="OpenTelemetry", version="1")
    spans = Spans(tracer_provider)

    # Asynchronous although it waits for nothing: it starts and ends spans, which costs
    # less than the way to a thread and back. Exporting is the span processor's business.
    @made.observe
    async def hear(event: Mapping[str, Any]) -> None:
        spans.hear(event)

    return made


pack = observer()
