"""One part of a call: one effect on one resource, or on *any*."""

from __future__ import annotations

from typing import Any

from toolcrib import resources, rules
from toolcrib.vocabulary import Access, Effect


__all__ = ["TYPES", "Part", "types_of"]

_NET = ("url", "host")
_STATE = ("state", "table")

# The resource types that an effect without a resource may mean.
TYPES: dict[Effect, tuple[str, ...]] = {
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


def types_of(effect: Effect) -> tuple[str, ...]:
    """Return the resource types that an effect without a resource may mean."""
    return TYPES[effect]


class Part:
    """One effect of a call on one resource; ``value`` None is *any* resource.

    A part without effect is a resource that stands for itself, such as a server. One with
    ``tree`` is a path whose folder, if it is one, is walked.
    """

    __slots__ = (
        "_narrow",
        "_wide",
        "access",
        "effect",
        "own",
        "spelling",
        "tree",
        "type",
        "value",
    )

    def __init__(
        self,
        effect: Effect | None,
        type: str | None = None,  # noqa: A002 - the resource's word
        value: str | None = None,
        access: Access | None = None,
        spelling: str = "",
        *,
        own: bool = False,
        tree: bool = False,
    ) -> None:
        self.effect = effect
        self.type = type
        self.value = value
        self.access = access
        self.spelling = spelling
        self.own = own
        self.tree = tree
        self._narrow: dict[str, list[list[str]]] | None = None
        self._wide: dict[str, list[list[str]] | None] | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The resource types that it may touch."""
        if self.type is not None:
            return _NET if self.value is None and self.type in _NET else (self.type,)
        return TYPES[self.effect] if self.effect is not None else ()

    def narrow(self, type: str) -> list[list[str]]:  # noqa: A002
        """Return its value, taken apart for what allows."""
        if self._narrow is None:
            self._narrow = {}
        if type not in self._narrow:
            self._narrow[type] = [rules.narrow(type, self._as(type))]
        return self._narrow[type]

    def wide(self, type: str) -> list[list[str]]:  # noqa: A002
        """Return its value and what could be taken for it, for what denies or asks.

        Raises:
            ValueError: it cannot be taken apart, so it may be anything.
        """
        if self._wide is None:
            self._wide = {}
        if type not in self._wide:
            try:
                found = rules.wide(type, self._as(type), self.spelling)
            except ValueError:
                found = None
            self._wide[type] = found
        lists = self._wide[type]
        if lists is None:
            message = f"{self} cannot be taken apart"
            raise ValueError(message)
        return lists

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
