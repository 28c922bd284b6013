"""Whether a server is still busy with the workspace, as far as it says so."""

from __future__ import annotations

import asyncio

from typing import Any


__all__ = ["Progress"]

_MOST = 256


class Progress:
    """The pieces of work that a server has announced and not ended."""

    def __init__(self) -> None:
        self._running: dict[str, dict[str, Any]] = {}
        self._changed = asyncio.Event()
        self.seen = 0

    @property
    def busy(self) -> bool:
        """Whether any work goes on."""
        return bool(self._running)

    def take(self, params: Any) -> None:
        """Take a ``$/progress``."""
        token, value = repr(params["token"]), params["value"]
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin" and len(self._running) < _MOST:
            self._running[token] = dict(value)
            self.seen += 1
        elif kind == "report" and token in self._running:
            self._running[token].update({k: v for k, v in value.items() if k != "kind"})
        elif kind == "end":
            self._running.pop(token, None)
        self._changed.set()

    async def changed(self, seconds: float) -> None:
        """Wait until something is announced or ends, or time passes."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return

    def said(self) -> str:
        """Return what goes on, in words."""
        parts = []
        for value in self._running.values():
            words = [str(value.get("title") or "working")[:80]]
            if value.get("message"):
                words.append(str(value["message"])[:80])
            if isinstance(value.get("percentage"), int | float):
                words.append(f"{value['percentage']:.0f} %")
            parts.append(" ".join(words))
        return "; ".join(parts[:3])
