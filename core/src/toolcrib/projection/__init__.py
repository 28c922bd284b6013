"""*Project*: what a model is shown of each tool, in its provider's dialect, and back.

For authors of dialects: a :class:`Dialect` is a table of facts (:class:`Profile`,
:class:`RequestLimits`) and three functions (declare, parse, results); the modules
:mod:`~toolcrib.projection.replies` and :mod:`~toolcrib.projection.rendering` hold what
they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dialect import Declared, Dialect, ParsedReply, WireCall
from .dialects import dialect, spoken_by
from .dialects.openai import chat_results, chat_tool, message_calls
from .facts import Profile, RequestLimits, SchemaLimits
from .forms import check_form
from .losses import Loss
from .preparing import Projection
from .rendering import Rendered, render
from .replies import cut_off, made_id, parsed, plain, unreadable, wire_call
from .stage import Projected, ProjectionCache, project


if TYPE_CHECKING:
    from .inverse import Inverse


__all__ = [
    "Declared",
    "Dialect",
    "Inverse",
    "Loss",
    "ParsedReply",
    "Profile",
    "Projected",
    "Projection",
    "ProjectionCache",
    "Rendered",
    "RequestLimits",
    "SchemaLimits",
    "WireCall",
    "chat_results",
    "chat_tool",
    "check_form",
    "cut_off",
    "dialect",
    "made_id",
    "message_calls",
    "parsed",
    "plain",
    "project",
    "render",
    "spoken_by",
    "unreadable",
    "wire_call",
]


def __getattr__(name: str) -> Any:
    if name != "Inverse":
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    from .inverse import Inverse  # noqa: PLC0415 - only schemas that were rewritten need it

    return Inverse
