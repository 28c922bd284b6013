"""A handler and the functions beside it: what they may take, and how they are called."""

from __future__ import annotations

import inspect
import typing

from collections.abc import Callable, Mapping
from typing import Any, get_origin

from toolcrib.context import Context
from toolcrib.errors import DeclarationError
from toolcrib.typed.introspection import Shape, shape


__all__ = ["adapt", "check_arguments", "check_form", "check_values", "takes_host", "where"]

# Admission and selection are synchronous: a coroutine there would never be awaited.
_SYNC = frozenset({"check", "check_output", "resolve"})
# Functions that take the arguments, and may take the host before them.
_HOSTED = frozenset({"signature", "generalize", "preview", "check", "debug_steps"})


def where(function: Callable[..., Any]) -> str:
    """Return the name of a function and where it is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def check_form(form: Shape, subject: str, *, given: Any) -> list[str]:
    """Return what is wrong with the parameters of a handler, as far as names tell."""
    here = f"{subject}: {where(form.function)}"
    if not form.positional:
        return [f"{here} takes no context: write (ctx: Context, …)"]
    problems = []
    if form.positional[0] in ("self", "cls"):
        problems.append(f"{here} is a method: a handler is a function (ctx, …)")
    elif not _is_context(form):
        name = form.positional[0]
        problems.append(
            f"{here}: parameter {name!r} comes first, where the context is given: write "
            f"(ctx: Context, {name}, …), or annotate it with Context"
        )
    problems += [
        f"{here}: parameter {name!r} is positional-only; arguments are given by name"
        for name in form.positional[1 : form.only_positional]
    ]
    if inspect.isgeneratorfunction(form.function) or inspect.isasyncgenfunction(form.function):
        problems.append(f"{here} is a generator: return one value, report() what comes before")
    if form.rest is not None:
        problems.append(f"{here}: parameter '*{form.rest}' has no name for its values")
    if form.extra is not None and given is None and not _may_unpack(form):
        problems.append(
            f"{here}: parameter '**{form.extra}' has no names: write the parameters, "
            "annotate it with Unpack[a TypedDict], or pass input_schema"
        )
    return problems


def _is_context(form: Shape) -> bool:
    """Tell whether the first parameter is meant to be the context, by name or annotation."""
    first = form.positional[0]
    if first.strip("_") in ("ctx", "context", ""):
        return True
    note = form.function.__annotations__.get(first)
    if isinstance(note, str):
        if note.strip("'\"").rpartition(".")[2].endswith("Context"):
            return True
        note = getattr(form.function, "__globals__", {}).get(note)
    return Context in getattr(note, "__mro__", ())


def _may_unpack(form: Shape) -> bool:
    note = form.function.__annotations__.get(form.extra or "")
    return "Unpack[" in note if isinstance(note, str) else get_origin(note) is typing.Unpack


def check_arguments(
    kind: str,
    function: Callable[..., Any],
    tool: Shape,
    handler: Callable[..., Any],
    subject: str,
) -> None:
    """Check a function that takes the arguments of the tool by name.

    Raises:
        DeclarationError: it takes what the tool has not; both functions are named.
    """
    form = shape(function)
    leading = _leading(kind, form)
    known = tool.names[1:]
    both = f"{subject}: {kind}: {where(function)}"
    problems = _sync(kind, function, both)
    if kind == "resolve" and not (form.positional or form.rest):
        problems.append(f"{both} takes no stage_id: it comes first")
    if form.only_positional > leading or (
        form.only_positional and kind != "resolve" and form.positional[0] in known
    ):
        problems.append(
            f"{both} takes arguments by position only; they are given by name, and only "
            "the host may come first: (host, /, …)"
        )
    if tool.extra is None:
        problems += [
            f"{both} takes {name!r}, which {where(handler)} does not; it takes "
            + (", ".join(known) or "no arguments")
            for name in form.names[leading:]
            if name not in known
        ]
    if problems:
        raise DeclarationError(*problems)


def takes_host(kind: str, function: Callable[..., Any]) -> bool:
    """Tell whether a function asks for the host: it takes one parameter by position only."""
    return kind in _HOSTED and shape(function).only_positional == 1


def _leading(kind: str, form: Shape) -> int:
    if kind == "resolve":
        return 1
    return int(kind in _HOSTED and form.only_positional == 1)


def check_values(
    kind: str, function: Callable[..., Any], names: tuple[str, ...], subject: str
) -> None:
    """Check a function that is given fixed values by position.

    Raises:
        DeclarationError: it cannot be called with them.
    """
    form = shape(function)
    both = f"{subject}: {kind}: {where(function)}"
    problems = _sync(kind, function, both)
    needed = [name for name in form.positional if name not in form.defaults]
    most = len(form.positional)
    stray = [name for name in form.keyword if name not in form.defaults]
    if len(needed) > len(names) or (most < len(names) and form.rest is None) or stray:
        problems.append(f"{both} must be callable with ({', '.join(names)})")
    if problems:
        raise DeclarationError(*problems)


def _sync(kind: str, function: Callable[..., Any], both: str) -> list[str]:
    if kind in _SYNC and inspect.iscoroutinefunction(function):
        return [f"{both} is async; {kind} runs where nothing can be awaited"]
    return []


def adapt(
    kind: str,
    function: Callable[..., Any],
    tool: Shape,
    structure: Callable[[Mapping[str, Any]], dict[str, Any]] | None,
) -> Callable[..., Any]:
    """Return a companion in the form that the core calls: with JSON arguments by name.

    It is given the same typed values as the handler, and only those that it takes.
    """
    form = shape(function)
    leading = _leading(kind, form)
    takes = set(form.names[leading:])
    everything = form.extra is not None or takes >= set(tool.names[1:])
    if structure is None and everything:
        return function

    def fitting(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        made = arguments if structure is None else structure(arguments)
        return made if everything else {k: v for k, v in made.items() if k in takes}

    if inspect.iscoroutinefunction(function):

        async def run_async(*before: Any, **arguments: Any) -> Any:
            return await function(*before, **fitting(arguments))

        return run_async

    def run(*before: Any, **arguments: Any) -> Any:
        return function(*before, **fitting(arguments))

    return run
