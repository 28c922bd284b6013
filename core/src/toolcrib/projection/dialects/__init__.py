"""The dialects that the core speaks; others come from packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolcrib.projection.dialect import Dialect

from .anthropic import MESSAGES
from .mcp import MCP
from .openai import CHAT, RESPONSES


__all__ = ["CORE", "Projector", "dialect", "spoken_by"]

# What a pack's ``toolcrib_project`` is called as.
Projector = Callable[..., Any]

CORE = {each.name: each for each in (CHAT, RESPONSES, MESSAGES, MCP)}
_ALIASES = {"openai-chat": "openai"}


def dialect(name: str, extra: Iterable[Dialect] = ()) -> Dialect:
    """Return a dialect by its name.

    Args:
        name: Such as ``openai`` or ``anthropic``.
        extra: Dialects of packs that policy names as projectors, in policy's order. A
            pack cannot replace a dialect of the core.

    Raises:
        LookupError: nobody speaks it; the text names those that are spoken.
    """
    name = _ALIASES.get(name, name)
    if name in CORE:
        return CORE[name]
    known: dict[str, Dialect] = {}
    for each in extra:
        known.setdefault(each.name, each)
    if name in known:
        return known[name]
    spoken = ", ".join(sorted({*CORE, *known}))
    text = (
        f"no dialect {name!r}; spoken are {spoken}. Others come from packs "
        "that policy names as projectors, such as toolcrib-dialects."
    )
    raise LookupError(text)


def spoken_by(name: str, projectors: Iterable[Projector]) -> Iterable[Dialect]:
    """Ask packs whether they speak a dialect, each alone.

    The hook ``toolcrib_project(tool=None, dialect=name)`` answers with a
    :class:`Dialect` or None; an error or anything else means no.
    """
    for projector in projectors:
        try:
            answer = projector(tool=None, dialect=name)
        except Exception:  # noqa: BLE001, S112 - a pack that fails does not speak it
            continue
        if isinstance(answer, Dialect) and answer.name == name:
            yield answer
