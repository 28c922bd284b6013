"""Take a call apart into parts: one effect on one resource, or on *any*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolcrib.outcome import Refusal
from toolcrib.resources import paths
from toolcrib.signature import Resource, Signature
from toolcrib.vocabulary import Access, Effect

from . import refusals
from .part import TYPES, Part
from .typed import Anchor, Place, core_resources


if TYPE_CHECKING:
    from toolcrib.tool import Tool

    from .context import AuthorityContext


__all__ = ["Parts", "anchored", "part_of", "parts_of"]

_READ, _WRITE = Access.READ, Access.WRITE
_HOST_STATE = Effect.HOST_STATE

_ACCESS = {
    Effect.FS_READ: _READ,
    Effect.FS_WRITE: _WRITE,
    Effect.NET_READ: _READ,
    Effect.NET_WRITE: _WRITE,
}
# The effects that a resource gives a place to.
_EFFECTS: dict[tuple[str, Access], tuple[Effect, ...]] = {
    (kind, access): tuple(
        effect
        for effect, types in TYPES.items()
        if kind in types and _ACCESS.get(effect, access) is access
    )
    for kind in ("path", "url", "host", "command", "table", "state")
    for access in Access
}


_NOTHING = Signature()


class Parts:
    """A call taken apart: its parts, and the signature that says the same."""

    __slots__ = ("all", "signature", "vague")

    def __init__(self, parts: list[Part], signature: Signature, *, vague: bool) -> None:
        self.all = parts
        self.signature = signature
        self.vague = vague


def parts_of(
    tool: Tool,
    signature: Signature | None,
    arguments: Mapping[str, Any] | None,
    places: tuple[Place, ...],
    context: AuthorityContext,
) -> Parts | Refusal:
    """Take a call apart, or refuse one that touches more than its tool declares."""
    if not tool.effects and not places and not signature:
        # It declares that it touches nothing, and nothing says otherwise.
        return Parts([], _NOTHING, vague=False)
    return _parts_of(tool, signature, arguments, places, context)


def _parts_of(
    tool: Tool,
    signature: Signature | None,
    arguments: Mapping[str, Any] | None,
    places: tuple[Place, ...],
    context: AuthorityContext,
) -> Parts | Refusal:
    vague = False
    if not isinstance(signature, Signature) or not signature:
        signature = Signature.of(tool.effects, ())
        vague = bool(tool.effects)
    stated, anchor = anchored(signature.resources, context)
    moved = anchor is not None
    effects = signature.effects
    if not effects <= tool.effects:
        excess = effects - tool.effects
        if not _is_own_state(excess, stated, tool, context):
            return refusals.wider(tool, excess)
        effects, moved = effects & tool.effects | {_HOST_STATE}, True
    found = [] if vague else _stated_parts(effects, stated, tool, context)
    placed = {part.effect for part in found}
    anywhere = [effect for effect in effects if effect not in placed]
    if anywhere:
        found += [Part(effect, access=_ACCESS.get(effect)) for effect in sorted(anywhere)]
    if places and arguments is not None:
        anchor = anchor or Anchor(context.folder)
        known = {(r.type, r.value) for r in stated}
        for resource in core_resources(tool, arguments, places, anchor):
            if (resource.type, resource.value) in known:
                _note_spelling(found, resource)
                continue
            part = part_of(resource, tool, context)
            found.append(part)
            # Beside an effect on *any* resource, naming one would narrow the signature.
            if part.effect not in anywhere:
                stated, moved = [*stated, resource], True
                effects |= {part.effect} if part.effect else frozenset()
    if moved:
        signature = Signature.of(effects, stated)
    return Parts(found, signature, vague=vague)


def _note_spelling(parts: list[Part], resource: Resource) -> None:
    """Let rules that deny see how the model spelled what the pack has resolved."""
    if not resource.spelling:
        return
    same = [p for p in parts if (p.type, p.value) == (resource.type, resource.value)]
    for part in same:
        if not part.spelling:
            part.spelling = resource.spelling
        elif part.spelling != resource.spelling:
            parts.append(
                Part(
                    part.effect,
                    part.type,
                    part.value,
                    part.access,
                    resource.spelling,
                    tree=part.tree,
                )
            )


def anchored(
    stated: tuple[Resource, ...], context: AuthorityContext
) -> tuple[Sequence[Resource], Anchor | None]:
    """Resolve paths that are relative or not in canonical form."""
    for resource in stated:
        if resource.type == "path" and not _is_canonical(resource.value):
            anchor = Anchor(context.folder)
            return [_resolved(other, anchor) for other in stated], anchor
    return stated, None


def _resolved(resource: Resource, anchor: Anchor) -> Resource:
    if resource.type != "path" or _is_canonical(resource.value):
        return resource
    try:
        real, spelling = anchor(resource.value)
    except ValueError:
        real, spelling = "", ""
    spelling = spelling or resource.spelling
    return Resource("path", real, resource.access, spelling, resource.tree)


def _is_canonical(path: str) -> bool:
    """Tell whether a path can be used as it is; an empty one means *any*."""
    if path.startswith("/") and "/." not in path and "//" not in path and path[-1] != "/":
        return True
    if path in {"", "/"}:
        return True
    if not paths.is_absolute(path) or "//" in path:
        return False
    parts = path.split("/")[1:]
    return not ({".", "..", ""} & set(parts)) or (parts == [""] and len(path) == 3)


def _is_own_state(
    excess: frozenset[Effect], stated: Sequence[Resource], tool: Tool, context: AuthorityContext
) -> bool:
    """Tell whether what is not declared only touches files of the pack's own state."""
    if Effect.HOST_STATE not in tool.effects or excess - {Effect.FS_READ, Effect.FS_WRITE}:
        return False
    files = [r for r in stated if r.type == "path"]
    touched = [r for r in files if _EFFECTS["path", r.access][0] in excess]
    implied = {_EFFECTS["path", r.access][0] for r in touched}
    return excess == implied and all(context.is_own(tool.pack, r.value) for r in touched)


def _stated_parts(
    effects: frozenset[Effect],
    stated: Sequence[Resource],
    tool: Tool,
    context: AuthorityContext,
) -> list[Part]:
    found: list[Part] = []
    for resource in stated:
        kind, access = resource.type, resource.access
        own = kind == "state" or (
            kind == "path"
            and context.pack_state is not None
            and context.is_own(tool.pack, resource.value)
        )
        placed = False
        for effect in _EFFECTS.get((kind, access), ()):
            if effect in effects:
                placed = True
                found.append(_stated(resource, effect, own=own))
        if not placed:
            effect_of = _HOST_STATE if own and _HOST_STATE in effects else None
            found.append(_stated(resource, effect_of, own=own))
    return found


def _stated(resource: Resource, effect: Effect | None, *, own: bool) -> Part:
    return Part(
        effect,
        resource.type,
        resource.value or None,
        resource.access,
        resource.spelling,
        own=own,
        tree=resource.tree,
    )


def part_of(resource: Resource, tool: Tool, context: AuthorityContext) -> Part:
    """Return the part that a call of a tool would have for a resource."""
    possible = _EFFECTS.get((resource.type, resource.access), ())
    declared = [effect for effect in possible if effect in tool.effects]
    return Part(
        declared[0] if declared else None,
        resource.type,
        resource.value or None,
        resource.access,
        resource.spelling,
        own=resource.type == "path" and context.is_own(tool.pack, resource.value),
        tree=resource.tree,
    )
