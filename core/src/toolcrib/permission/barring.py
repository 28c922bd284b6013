"""What a call comes upon on its way: rules keep it from that as well.

A call is judged by what it names. One that names a folder and looks at all below it comes
upon files that nobody named, and rules speak of those too. There is no person to ask in
the middle of a call, so what a rule denies, or asks about, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bound import Strike
from .part import Part
from .parts import anchored, part_of


if TYPE_CHECKING:
    from toolcrib.signature import Resource, Signature
    from toolcrib.tool import Tool

    from .context import AuthorityContext
    from .ruleset import ToolRules


__all__ = ["Barrier"]


class Barrier:
    """The rules that speak of one tool, for what a call of it comes upon.

    A rule that asks and that met what the call named was answered when the call was
    let run; it bars nothing more.

    Args:
        tool: The tool.
        signature: What its call was authorised to touch.
        context: What the call was judged by; what its caller is judged by counts as well.
    """

    __slots__ = ("_context", "_levels", "_tool")

    def __init__(self, tool: Tool, signature: Signature, context: AuthorityContext) -> None:
        self._tool = tool
        self._context = context
        self._levels: list[tuple[ToolRules, AuthorityContext, frozenset[int]]] = []
        level: AuthorityContext | None = context
        while level is not None:
            known = level.rules.for_tool(tool)
            if not (known.deny.empty and known.ask.empty):
                met = {
                    bound.order
                    for part in _named(tool, signature, level)
                    for _, bound in known.ask.strikes(part, level.facts)
                }
                self._levels.append((known, level, frozenset(met)))
            level = level.parent

    def bars(self, resource: Resource) -> bool:
        """Tell whether a rule keeps the call from a resource that it came upon."""
        if not self._levels:
            return False
        (resource,), _ = anchored((resource,), self._context)
        for known, level, answered in self._levels:
            part = part_of(resource, self._tool, level)
            if known.deny.strike(part, level.facts)[0] is not Strike.NO:
                return True
            asking = known.ask.strikes(part, level.facts)
            if any(bound.order not in answered for _, bound in asking):
                return True
        return False


def _named(tool: Tool, signature: Signature, context: AuthorityContext) -> list[Part]:
    if signature.resources:
        return [part_of(resource, tool, context) for resource in signature.resources]
    return [Part(effect) for effect in sorted(signature.effects)] or [Part(None)]
