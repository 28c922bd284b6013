"""Diagnostics as servers push them, dated and never forgotten on a time-out."""

from __future__ import annotations

import asyncio
import time

from typing import Any

import attrs

from .places import path_of


__all__ = ["Known", "Published"]

_MOST_FILES = 2000
_MOST_EACH = 2000


@attrs.frozen
class Known:
    """The last word of a server on one file.

    Attributes:
        items: As the server gave them.
        version: Of the document, if it said so; else of the open document then.
        changes: How many changes the server had been told of.
        time: When, seconds since the epoch.
        number: Counts the words of this server.
        digest: Of the content that they are about, where that is certain.
        more: How many items it gave besides, which are not kept.
    """

    items: tuple[Any, ...]
    version: int | None
    changes: int
    time: float
    number: int
    digest: str = ""
    more: int = 0


class Published:
    """What one server has told of every file, through all of its processes.

    Attributes:
        encoding: Of the positions.
    """

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._news = asyncio.Event()
        self._number = 0
        self._epoch = 0
        self.encoding = "utf-16"

    def new_epoch(self) -> int:
        """Return where a new process of the server begins to count changes."""
        self._epoch += 1_000_000_000
        return self._epoch

    def wake(self) -> None:
        """Let those who wait look again."""
        self._news.set()

    def take(self, path: str, items: Any, **facts: Any) -> None:
        """Keep a server's word on a file."""
        self._number += 1
        if not isinstance(items, list):
            items = []
        kept = tuple(item for item in items[:_MOST_EACH] if isinstance(item, dict))
        self._known.pop(path, None)
        facts["more"] = max(len(items) - _MOST_EACH, 0)
        self._known[path] = Known(kept, time=time.time(), number=self._number, **facts)
        if len(self._known) > _MOST_FILES:
            del self._known[next(iter(self._known))]
        self._news.set()

    def heard(self, params: Any, version: int | None, changes: int, digest: str) -> None:
        """Take a ``publishDiagnostics``."""
        path = path_of(params["uri"])
        if path is None:
            return
        said = params.get("version")
        said = said if isinstance(said, int) else None
        if said is not None and version is not None and said < version:
            return  # About a text that is no more.
        self.take(
            path,
            params.get("diagnostics"),
            version=said if said is not None else version,
            changes=changes,
            digest=digest,
        )

    def get(self, path: str) -> Known | None:
        """Return the last word on a file."""
        return self._known.get(path)

    def forget(self, path: str) -> None:
        """Forget a file that is gone."""
        self._known.pop(path, None)

    def items(self) -> list[tuple[str, Known]]:
        """Return everything that is known, by path."""
        return sorted(self._known.items())

    async def news(self, seconds: float) -> bool:
        """Wait for any news; tell whether there was some."""
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), max(seconds, 0))
        except TimeoutError:
            return False
        return True
