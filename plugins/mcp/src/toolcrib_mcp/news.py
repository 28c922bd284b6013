"""What servers tell of their tasks: a reason to ask at once, and no more than that.

Nothing that is told is believed. Whoever waits for a task asks how it stands, as it would
have done a little later; so what is told wrongly, or not at all, costs only time.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Iterator
from typing import Any

from mcp.client.extension import NotificationBinding
from pydantic import BaseModel, ConfigDict, Field


__all__ = ["METHODS", "News", "bindings"]

METHODS = ("notifications/tasks/status", "notifications/tasks")
"""Of 2025-11-25, and of the tasks extension."""


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore")

    task_id: Any = Field(default=None, alias="taskId")


class News:
    """Wakes those who wait for tasks of one server."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}

    @contextlib.contextmanager
    def of(self, task: str) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever something is told of a task."""
        event = self._waiting.setdefault(task, asyncio.Event())
        try:
            yield event
        finally:
            if self._waiting.get(task) is event:
                del self._waiting[task]

    async def told(self, about: _Told) -> None:
        """Take what a server tells."""
        event = self._waiting.get(about.task_id) if isinstance(about.task_id, str) else None
        if event is not None:
            event.set()


def bindings(news: News) -> list[NotificationBinding[Any]]:
    """Return what lets a session of the SDK hear of tasks."""
    return [
        NotificationBinding(method=method, params_type=_Told, handler=news.told)
        for method in METHODS
    ]
