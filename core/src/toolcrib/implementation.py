"""A tool with its code: what a pack hands to the core when it is activated."""

from __future__ import annotations

import inspect

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .tool import Tool


__all__ = ["Companions", "Implementation"]


@attrs.frozen(kw_only=True)
class Companions:
    """The optional functions beside a handler; the parameters are the tool's own.

    ``signature generalize preview check debug_steps`` take the arguments by name;
    ``resolve`` a leading ``stage_id``; ``check_output`` the value; ``active rules
    context`` the app value; ``visible_text`` a text and the app value; ``deliver`` an
    outcome and the app value.

    Functions named in ``hosted``, which take the arguments, are given the host first: what
    the pack was given, with the workspace of the session that asks.
    """

    signature: Callable[..., Any] | None = None
    generalize: Callable[..., Any] | None = None
    preview: Callable[..., Any] | None = None
    check: Callable[..., Any] | None = None
    check_output: Callable[[Any], Any] | None = None
    active: Callable[[Any], Any] | None = None
    resolve: Callable[..., Any] | None = None
    rules: Callable[[Any], Any] | None = None
    visible_text: Callable[[str, Any], Any] | None = None
    context: Callable[[Any], Any] | None = None
    deliver: Callable[[Any, Any], Any] | None = None
    debug_steps: Callable[..., Any] | None = None
    hosted: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Return the names of the functions that are there."""
        fields = (f.name for f in attrs.fields(Companions) if f.name != "hosted")
        return frozenset(name for name in fields if getattr(self, name))


@attrs.frozen(kw_only=True, eq=False)
class Implementation:
    """One tool and its code.

    Attributes:
        tool: The declaration.
        handler: ``handler(ctx, **arguments)``, sync or async.
        companions: The functions beside it.
        structure: From validated JSON arguments to the handler's keyword arguments;
            None passes them as they are. Never coerces; a mismatch raises.
        unstructure: From the handler's value to a JSON value; None: it is one already.
        asynchronous: Whether the handler is a coroutine function, and runs on the loop.
    """

    tool: Tool
    handler: Callable[..., Any]
    companions: Companions = attrs.field(factory=Companions)
    structure: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    unstructure: Callable[[Any], Any] | None = None
    asynchronous: bool = attrs.field(init=False)

    @asynchronous.default
    def _asynchronous(self) -> bool:
        code = getattr(self.handler, "__code__", None)
        if code is not None:
            return bool(code.co_flags & inspect.CO_COROUTINE)
        return inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(
            getattr(self.handler, "__call__", None)  # noqa: B004 - asks for the method
        )
