"""What one call touches: resources and effects, in canonical form."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from .vocabulary import Access, Effect


__all__ = ["Resource", "Signature"]


# What reading and writing a resource of a type does to the world. A type that is not
# listed contributes no effect of its own: its pack names the effects.
_EFFECTS: dict[tuple[str, Access], Effect] = {
    ("path", Access.READ): Effect.FS_READ,
    ("path", Access.WRITE): Effect.FS_WRITE,
    ("host", Access.READ): Effect.NET_READ,
    ("host", Access.WRITE): Effect.NET_WRITE,
    ("url", Access.READ): Effect.NET_READ,
    ("url", Access.WRITE): Effect.NET_WRITE,
    ("command", Access.READ): Effect.PROCESS,
    ("command", Access.WRITE): Effect.PROCESS,
    ("table", Access.READ): Effect.HOST_STATE,
    ("table", Access.WRITE): Effect.HOST_STATE,
    ("state", Access.READ): Effect.HOST_STATE,
    ("state", Access.WRITE): Effect.HOST_STATE,
}


@attrs.frozen(order=True)
class Resource:
    """One thing that a call touches.

    Make one with a constructor of :mod:`toolcrib.resources`, which gives ``value`` its
    canonical form. Inside a :class:`Signature` the list it stands in sets ``access``.
    An empty ``value`` means *any* resource of the type.

    ``spelling`` is another name by which the same thing was asked for, such as the path
    of a link. It is no part of the identity; a rule that denies or asks looks at both.

    ``tree`` says that the call walks: if the path is a folder, it looks at all below it
    by itself, with nobody who leaves out what rules keep it from. A rule that denies or
    asks about something below then *might* concern the call, so a person is asked.
    """

    type: str
    value: str
    access: Access = Access.READ
    spelling: str = attrs.field(default="", eq=False, order=False, repr=False)
    tree: bool = attrs.field(default=False, repr=False)

    def __str__(self) -> str:
        return f"{self.access} {self.type} {self.value or '(any)'}"


@attrs.frozen(init=False)
class Signature:
    """Effects and resources of one call.

    An effect without a resource means *any* resource of its types. An empty signature
    of a tool that declares effects says nothing, so a person is asked.

    Args:
        reads: Resources that the call reads.
        writes: Resources that the call changes or uses up.
        effects: Effects of this call; those that the resources imply are added.
    """

    effects: frozenset[Effect]
    resources: tuple[Resource, ...]

    def __init__(
        self,
        *,
        reads: Iterable[Resource] = (),
        writes: Iterable[Resource] = (),
        effects: Iterable[Effect | str] = (),
    ) -> None:
        resources = {attrs.evolve(r, access=Access.READ) for r in reads}
        resources |= {attrs.evolve(r, access=Access.WRITE) for r in writes}
        ordered = tuple(sorted(resources))
        implied = (_EFFECTS.get((r.type, r.access)) for r in ordered)
        self.__attrs_init__(
            effects=frozenset(Effect(e) for e in effects) | {e for e in implied if e},
            resources=ordered,
        )

    def __bool__(self) -> bool:
        return bool(self.effects or self.resources)

    @classmethod
    def of(cls, effects: frozenset[Effect], resources: Iterable[Resource]) -> Signature:
        """Return a signature of exactly these effects, each resource with its access."""
        signature = cls.__new__(cls)
        signature.__attrs_init__(effects=effects, resources=tuple(sorted(set(resources))))
        return signature

    @classmethod
    def widest(cls, effects: Iterable[Effect]) -> Signature:
        """Return the signature of a call of which nothing is known."""
        return cls(effects=effects)
