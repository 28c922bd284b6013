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
    question.asked question.decided catalog.changed source.stale lifecycle.failed``.
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

    Of two events about one thing (the same ``key``) only the newest is kept.
    """

    def __init__(self, bound: int = 256) -> None:
        self._bound = bound
        self._next = 0
        self._items: deque[tuple[int, str | None, Event]] = deque()

    @property
    def end(self) -> int:
        """The cursor behind the newest event."""
        return self._next

    def append(self, event: Event, *, key: str | None = None) -> None:
        """Add an event; the oldest gives way when the log is full."""
        if key is not None:
            kept = (item for item in self._items if item[1] != key)
            self._items = deque(kept)
        self._items.append((self._next, key, event))
        self._next += 1
        while len(self._items) > self._bound:
            self._items.popleft()

    def read(self, cursor: int) -> tuple[int, tuple[Event | Gap, ...]]:
        """Return a new cursor and everything since the given one.

        A superseded event is not a loss; one that the bound pushed out is a gap.
        """
        found: list[Event | Gap] = [item[2] for item in self._items if item[0] >= cursor]
        oldest = self._items[0][0] if self._items else self._next
        if self._dropped_since(cursor, oldest):
            found.insert(0, Gap(oldest - cursor))
        return self._next, tuple(found)

    def _dropped_since(self, cursor: int, oldest: int) -> bool:
        return cursor < oldest and len(self._items) >= self._bound
