"""What happens while a toolbox works, and logs of it that are read by cursor."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import attrs


__all__ = ["Event", "EventLog", "Gap"]


@attrs.frozen(kw_only=True)
class Event:
    """Something that happened.

    ``name`` is one of ``call.started call.progress call.queued call.finished
    question.asked question.decided question.contested intent.selected guard.rewrote
    catalog.changed source.stale lifecycle.failed``.
    """

    name: str
    conversation: str = ""
    batch_id: str = ""
    call_id: str = ""
    tool_id: str = ""
    time: float = 0.0
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False)

    def as_json(self) -> dict[str, Any]:
        """Return the event as a JSON-safe value."""
        return attrs.asdict(self, recurse=False) | {"data": dict(self.data)}


@attrs.frozen
class Gap:
    """Stands for events that a reader missed because the log is bounded."""

    missed: int


class EventLog:
    """A bounded log with a position of its own for every reader.

    Of two events about one thing (the same ``key``) only the newest is kept. That is no
    loss; an event that the bound pushed out is one, and readers who had not come to it
    find a :class:`Gap` that counts it.
    """

    def __init__(self, bound: int = 256) -> None:
        self._bound = bound
        self._next = 0
        self._items: dict[int, tuple[str | None, Event]] = {}
        self._by_key: dict[str, int] = {}
        self._lost: deque[int] = deque(maxlen=64 * bound)

    @property
    def end(self) -> int:
        """The cursor behind the newest event."""
        return self._next

    def append(self, event: Event, *, key: str | None = None) -> None:
        """Add an event; the oldest gives way when the log is full."""
        if key is not None:
            before = self._by_key.pop(key, None)
            if before is not None:
                del self._items[before]
            self._by_key[key] = self._next
        self._items[self._next] = (key, event)
        self._next += 1
        while len(self._items) > self._bound:
            oldest = next(iter(self._items))
            dropped, _ = self._items.pop(oldest)
            if dropped is not None:
                del self._by_key[dropped]
            self._lost.append(oldest)

    def read(self, cursor: int) -> tuple[int, tuple[Event | Gap, ...]]:
        """Return a new cursor and everything since the given one."""
        if cursor >= self._next:
            return self._next, ()
        found: list[Event | Gap] = [
            event for number, (_, event) in self._items.items() if number >= cursor
        ]
        missed = sum(1 for number in self._lost if number >= cursor)
        if missed:
            found.insert(0, Gap(missed))
        return self._next, tuple(found)
