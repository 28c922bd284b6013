"""Take a call apart into parts: one effect on one resource, or on *any*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import resources, rules
from ..codes import refuse
from ..outcome import Refusal
from ..resources import _paths
from ..signature import Resource, Signature
from ..vocabulary import Access, Effect
from .typed import Place, values_at


if TYPE_CHECKING:
    from ..tool import Tool
    from .context import AuthorityContext


__all__ = ["Part", "Parts", "core_resources", "parts_of"]

_READ, _WRITE = Access.READ, Access.WRITE
_NET = ("url", "host")
_STATE = ("state", "table")

# The resource types that an effect without a resource may mean.
_TYPES: dict[Effect, tuple[str, ...]] = {
    Effect.FS_READ: ("path",),
    Effect.FS_WRITE: ("path",),
    Effect.NET_READ: _NET,
    Effect.NET_WRITE: _NET,
    Effect.PROCESS: ("command",),
    Effect.HOST_STATE: _STATE,
    Effect.AGENT: (),
    Effect.BROWSER: _NET,
    Effect.DEVICE: (),
}
_ACCESS = {
    Effect.FS_READ: _READ,
    Effect.FS_WRITE: _WRITE,
    Effect.NET_READ: _READ,
    Effect.NET_WRITE: _WRITE,
}
# The effects that a resource gives a place to.
_EFFECTS: dict[tuple[str, Access], tuple[Effect, ...]] = {
    (type, access): tuple(
        effect
        for effect, types in _TYPES.items()
        if type in types and _ACCESS.get(effect, access) is access
    )
    for type in ("path", "url", "host", "command", "table", "state")
    for access in Access
}


class Part:
    """One effect of a call on one resource; ``value`` None is *any* resource.

    A part without effect is a resource that stands for itself, such as a server.
    """

    __slots__ = ("_narrow", "_wide", "access", "effect", "own", "spelling", "type", "value")

    def __init__(  # noqa: PLR0913 - the row of a table
        self,
        effect: Effect | None,
        type: str | None = None,  # noqa: A002 - the resource's word
        value: str | None = None,
        access: Access | None = None,
        spelling: str = "",
        *,
        own: bool = False,
    ) -> None:
        self.effect = effect
        self.type = type
        self.value = value
        self.access = access
        self.spelling = spelling
        self.own = own
        self._narrow: dict[str, list[list[str]]] | None = None
        self._wide: dict[str, list[list[str]]] | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The resource types that it may touch."""
        if self.type is not None:
            return _NET if self.value is None and self.type in _NET else (self.type,)
        return _TYPES[self.effect] if self.effect is not None else ()

    def narrow(self, type: str) -> list[list[str]]:  # noqa: A002
        """Return its value, taken apart for what allows."""
        if self._narrow is None:
            self._narrow = {}
        if type not in self._narrow:
            self._narrow[type] = [rules.narrow(type, self._as(type))]
        return self._narrow[type]

    def wide(self, type: str) -> list[list[str]]:  # noqa: A002
        """Return its value and what could be taken for it, for what denies or asks."""
        if self._wide is None:
            self._wide = {}
        if type not in self._wide:
            self._wide[type] = rules.wide(type, self._as(type), self.spelling)
        return self._wide[type]

    def _as(self, type: str) -> str:  # noqa: A002
        value = self.value or ""
        if type == "host" and self.type == "url":
            return resources.host_of(value)
        return value

    def __str__(self) -> str:
        what = f"{self.type} {self.value or '(any)'}" if self.type else "(anything)"
        if self.effect is None:
            return f"{self.access or 'use'} {what}"
        return f"{self.effect} {what}" if self.type else f"{self.effect} (any)"

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        return {
            "effect": self.effect,
            "type": self.type,
            "value": self.value,
            "access": self.access,
            "spelling": self.spelling or None,
        }


class Parts:
    """A call taken apart: its parts, and the signature that says the same."""

    __slots__ = ("all", "signature", "vague")

    def __init__(self, parts: list[Part], signature: Signature, *, vague: bool) -> None:
        self.all = parts
        self.signature = signature
        self.vague = vague


def core_resources(
    tool: Tool,
    arguments: Mapping[str, Any],
    places: tuple[Place, ...],
    folder: str,
) -> list[Resource]:
    """Return what the ``Path``- and ``Url``-typed parameters of a call name.

    Written where the tool declares that it writes, read otherwise. A value that has no
    canonical form stands for *any* resource of its type.
    """
    found: list[Resource] = []
    for kind, text in values_at(places, arguments):
        if kind == "path":
            access = _WRITE if Effect.FS_WRITE in tool.effects else _READ
            found.extend(_path_resources(text, access, folder))
            continue
        access = _WRITE if Effect.NET_WRITE in tool.effects else _READ
        try:
            found.append(Resource("url", resources.Url(text).value, access))
        except ValueError:
            found.append(Resource("url", "", access))
            if text.strip()[:5].lower() == "file:":
                found.extend(_path_resources(_file_path(text), _READ, folder))
    return found


def _path_resources(text: str, access: Access, folder: str) -> list[Resource]:
    try:
        readings = [_paths.text_of(text)]
        if readings[0] == "~" or readings[0].startswith("~/"):
            # The tool may or may not expand it; both readings are judged.
            readings.append(_paths.home() + readings[0][1:])
        anchored = [_paths.anchor(reading, folder) for reading in readings]
    except ValueError:
        return [Resource("path", "", access)]
    return [Resource("path", real, access, spelling) for real, spelling in anchored]


def _file_path(text: str) -> str:
    from urllib.parse import unquote  # noqa: PLC0415 - only file addresses need it

    rest = text.strip()[5:].partition("#")[0].partition("?")[0]
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    return unquote(rest)


def parts_of(
    tool: Tool,
    signature: Signature | None,
    arguments: Mapping[str, Any] | None,
    places: tuple[Place, ...],
    context: AuthorityContext,
) -> Parts | Refusal:
    """Take a call apart, or refuse one that touches more than its tool declares."""
    given = signature if isinstance(signature, Signature) else None
    vague = not given and bool(tool.effects)
    if given is None or not given:
        given = Signature(effects=tool.effects)
    stated, moved = _anchored(given.resources, context, tool.pack)
    excess = given.effects - tool.effects
    if excess and not _is_own_state(excess, stated, tool, context):
        return _wider(tool, excess)
    effects = given.effects & tool.effects
    if excess:
        effects, moved = effects | {Effect.HOST_STATE}, True
    found = [] if vague else _stated_parts(effects, stated, tool, context)
    for effect in sorted(effects):
        if not any(part.effect is effect for part in found):
            found.append(Part(effect, access=_ACCESS.get(effect)))
    if places and arguments is not None:
        known = {(r.type, r.value) for r in stated}
        added = [
            resource
            for resource in core_resources(tool, arguments, places, context.folder)
            if (resource.type, resource.value) not in known
        ]
        found += [_core_part(resource, tool, context) for resource in added]
        stated, moved = [*stated, *added], moved or bool(added)
    if moved:
        given = Signature.of(effects, stated)
    return Parts(found, given, vague=vague)


def _anchored(
    stated: tuple[Resource, ...], context: AuthorityContext, pack: str
) -> tuple[list[Resource], bool]:
    """Resolve paths that are relative or not in canonical form."""
    found: list[Resource] = []
    moved = False
    for resource in stated:
        if resource.type != "path" or not resource.value or _is_canonical(resource.value):
            found.append(resource)
            continue
        moved = True
        try:
            real, spelling = _paths.anchor(resource.value, context.folder)
        except ValueError:
            real, spelling = "", ""
        found.append(Resource("path", real, resource.access, spelling or resource.spelling))
    return found, moved


def _is_canonical(path: str) -> bool:
    return _paths.is_absolute(path) and not (
        "//" in path
        or "/." in path
        and ("/./" in path or "/../" in path)
        or path.endswith(("/..", "/."))
        or (path.endswith("/") and len(path) > 3)
    )


def _is_own_state(
    excess: frozenset[Effect], stated: list[Resource], tool: Tool, context: AuthorityContext
) -> bool:
    """Tell whether what is not declared only touches files of the pack's own state."""
    if Effect.HOST_STATE not in tool.effects or excess - {Effect.FS_READ, Effect.FS_WRITE}:
        return False
    paths = [r for r in stated if r.type == "path" and _EFFECTS["path", r.access][0] in excess]
    implied = {_EFFECTS["path", r.access][0] for r in paths}
    return excess == implied and all(context.is_own(tool.pack, r.value) for r in paths)


def _stated_parts(
    effects: frozenset[Effect], stated: list[Resource], tool: Tool, context: AuthorityContext
) -> list[Part]:
    found: list[Part] = []
    for resource in stated:
        kind, value, access = resource.type, resource.value or None, resource.access
        own = kind == "state" or (kind == "path" and context.is_own(tool.pack, resource.value))
        matching = [e for e in _EFFECTS.get((kind, access), ()) if e in effects]
        if own and not matching and Effect.HOST_STATE in effects:
            matching = [Effect.HOST_STATE]
        found += [
            Part(effect, kind, value, access, resource.spelling, own=own)
            for effect in matching or (None,)
        ]
    return found


def _core_part(resource: Resource, tool: Tool, context: AuthorityContext) -> Part:
    declared = [e for e in _EFFECTS[resource.type, resource.access] if e in tool.effects]
    return Part(
        declared[0] if declared else None,
        resource.type,
        resource.value or None,
        resource.access,
        resource.spelling,
        own=resource.type == "path" and context.is_own(tool.pack, resource.value),
    )


def _wider(tool: Tool, excess: frozenset[Effect]) -> Refusal:
    names = ", ".join(sorted(excess))
    text = (
        f"This call of {tool.id} would also do {names}, which the tool does not declare. "
        "Nothing ran. Its pack has to declare the effect."
    )
    return refuse("signature.wider", tool.id, text, effects=sorted(excess))
