"""The hooks that a pack may answer, and the markers to declare them.

The first four are the framework's reason. Every hook is called for one pack at a time,
and only for packs that may answer it; a hook may return an awaitable. Silence, an
exception and a late answer always mean the stricter outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy


if TYPE_CHECKING:
    from .call import AdmittedCall
    from .context import PackHost
    from .implementation import Implementation
    from .outcome import Outcome
    from .projection import Dialect, Projection
    from .signature import Signature
    from .tool import Tool


__all__ = ["PROJECT", "hookimpl", "hookspec"]

PROJECT = "toolcrib"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def toolcrib_tools(host: PackHost) -> Iterable[Implementation]:  # type: ignore[empty-body]
    """Provide the pack's tools.

    Answered by the pack itself, once, when it is activated. The tools must be the ones
    that the manifest declares.

    Silence or error: the pack is quarantined (``pack.inert``, ``pack.unloadable``).
    """


@hookspec(firstresult=True)
def toolcrib_project(
    tool: Tool | None, dialect: str
) -> Dialect | Projection | Mapping[str, Any] | None:
    """Project a tool into a dialect, or say that the pack speaks one.

    Answered by the core, then by packs that policy names as projectors.

    * ``tool`` is None: does the pack speak this dialect? The answer is a ``Dialect``,
      with which the core then projects, parses and answers; a pack cannot replace a
      dialect of the core.
    * Otherwise the dialect is known and cannot say the tool's schema. The answer is the
      declaration in the provider's form, or a whole ``Projection`` where the arguments
      that come back have to be undone.

    ``None`` leaves it to the next. Silence from all, or error: nobody speaks the
    dialect; the tool is not shown in it.
    """


@hookspec(firstresult=True)
def toolcrib_signature(
    tool: Tool, arguments: Mapping[str, Any], host: PackHost
) -> Signature | None:
    """Say what this call touches.

    Answered by the tool's own pack. Called with validated arguments, before any effect.

    Silence or error: everything declared, on any resource, and a person is asked. A
    ``ToolFailure`` says that the call cannot do its work, and refuses it: nobody is asked.
    """


@hookspec(firstresult=True)
def toolcrib_retry(tool: Tool, failure: BaseException, attempt: int) -> bool | float | None:
    """Tighten the core's answer whether to try a failed call again.

    Answered by the tool's own pack, and only where the core's own answer is yes.
    ``True`` keeps it, ``False`` forbids, a number asks to wait that many seconds more.

    Not implemented: the core's answer. ``None``, error or late: no retry.
    """


@hookspec
def toolcrib_sources(host: PackHost) -> Iterable[Any]:  # type: ignore[empty-body]
    """Provide live sources of tools.

    Answered by the pack itself when the toolbox is entered.

    Silence or error: no live tools.
    """


@hookspec(firstresult=True)
def toolcrib_guard(call: AdmittedCall) -> Any:
    """Look at a call before it is authorised.

    Answered by packs that policy names as guards, in policy's order. ``None`` lets it
    pass; a ``Refusal`` stops it; a mapping replaces the arguments, which sends the call
    back to *admit* (a second rewrite by the same guard refuses).

    Error, hang, or a guard that is missing: the call is refused.
    """


@hookspec(firstresult=True)
def toolcrib_review(call: AdmittedCall, outcome: Outcome) -> Any:
    """Look at an outcome before the model does.

    Answered by packs that policy names as reviewers. It may append a note or a block,
    redact text or mark the outcome failed; it never rewrites, and the original is kept.

    Silence or error: unchanged.
    """


@hookspec
def toolcrib_observe(event: Mapping[str, Any]) -> None:
    """Hear what happens.

    Answered by packs that policy names as observers; other packs hear of their own
    tools. Observers read a bounded queue and cannot delay a call.

    Silence or error: nothing.
    """
