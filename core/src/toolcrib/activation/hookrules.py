"""The rules that the hooks of a pack keep: checked before any of them is called."""

from __future__ import annotations

import inspect

from collections.abc import Iterator
from typing import Any

from pluggy import PluginManager, PluginValidationError

from toolcrib import hookspecs
from toolcrib.hookspecs import PROJECT
from toolcrib.loading import say
from toolcrib.names import closest


__all__ = ["problems_of", "registered"]

_ORDERING = ("tryfirst", "trylast", "wrapper", "hookwrapper")
_VARIABLE = {
    inspect.Parameter.VAR_POSITIONAL: "takes *args",
    inspect.Parameter.VAR_KEYWORD: "takes **kwargs",
    inspect.Parameter.KEYWORD_ONLY: "takes a keyword-only parameter",
}


def registered(plugin: Any, pack_id: str) -> tuple[PluginManager, list[str]]:
    """Register a plugin in a manager of its own; return it, and what is wrong.

    One manager for each pack: its hooks can be called for it alone, no wrapper of
    another pack is in the way, the cost of a call does not grow with the number of
    packs, and a pack that is refused leaves nothing behind.
    """
    manager = PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name=pack_id)
    except PluginValidationError as error:
        return manager, [say(error)]
    except Exception as error:  # noqa: BLE001 - the object may be anything
        return manager, [f"pluggy cannot register it: {say(error)}"]
    return manager, list(problems_of(manager, plugin))


def problems_of(manager: PluginManager, plugin: Any) -> Iterator[str]:
    """Give every rule that a registered plugin breaks."""
    known = [name for name in vars(hookspecs) if name.startswith("toolcrib_")]
    for caller in manager.get_hookcallers(plugin) or ():
        for implementation in caller.get_hookimpls():
            if not caller.has_spec():
                if not implementation.optionalhook:
                    like = closest(caller.name, known)
                    hint = f"; did you mean {like[0]!r}?" if like else ""
                    yield f"there is no hook {caller.name!r}{hint}"
                continue
            for option in _ORDERING:
                if getattr(implementation, option):
                    yield f"{caller.name} is declared {option}: packs do not order each other"
            yield from _parameters(caller.name, implementation.function)


def _parameters(name: str, function: Any) -> Iterator[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        yield f"{name} has no readable signature"
        return
    for parameter in parameters:
        if parameter.kind in _VARIABLE:
            yield f"{name} {_VARIABLE[parameter.kind]} ({parameter.name}): name them plainly"
        elif parameter.default is not parameter.empty:
            yield f"{name} gives {parameter.name!r} a default: the core passes every argument"
