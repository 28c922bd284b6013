"""Between the SDK and the wire: what comes back is made harmless before it is judged.

The SDK checks whole messages against the protocol's models. One bad tool would fail a
list of good ones, and one odd part of a result a call whose effect has happened. So the
raw value is set aside here and the SDK is given a form that it accepts; our own code
looks at the raw value part by part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import anyio
import anyio.abc

from mcp.shared.dispatcher import (
    CallOptions,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher


__all__ = ["RAW", "Tap", "Watched"]

RAW = "toolcrib/raw"
"""Key in ``_meta`` under which the raw result travels past the SDK's models."""

_PASSED = frozenset({"initialize", "server/discover", "ping", "subscriptions/listen"})
_CACHE = {"ttlMs": 0, "cacheScope": "private"}
_COMPLETE = {"resultType": "complete"}

# What the SDK accepts as the answer of each method.
_STAND_IN: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [], **_CACHE, **_COMPLETE},
    "tools/call": {"content": [], **_COMPLETE},
    "resources/list": {"resources": [], **_CACHE, **_COMPLETE},
    "resources/templates/list": {"resourceTemplates": [], **_CACHE, **_COMPLETE},
    "resources/read": {"contents": [], **_CACHE, **_COMPLETE},
    "prompts/list": {"prompts": [], **_CACHE, **_COMPLETE},
    "prompts/get": {"messages": [], **_COMPLETE},
    "completion/complete": {"completion": {"values": []}, **_COMPLETE},
}


class Watched:
    """A transport's read stream that remembers that it ended."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.ended = False
        self.noise = 0

    @property
    def last_context(self) -> Any:
        """The context of whoever sent the last message, if the transport says."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except (StopAsyncIteration, anyio.EndOfStream, anyio.ClosedResourceError):
            self.ended = True
            raise

    async def receive(self) -> Any:
        """Return the next message."""
        return await self.__anext__()

    async def aclose(self) -> None:
        """Stop reading."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> Any:
        return await self._inner.__aexit__(*exc)


class Tap(Dispatcher[Any]):
    """A dispatcher that sets raw results aside.

    Args:
        reader, writer: The transport's streams.

    Attributes:
        lost: Set when nothing more can come from the server.
    """

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader = reader
        self._inner: JSONRPCDispatcher[Any] = JSONRPCDispatcher(
            reader, writer, on_stream_exception=self._noise
        )
        self.lost = anyio.Event()
        self.sent = 0

    @property
    def ended(self) -> bool:
        """Whether the server closed the connection."""
        return bool(self._reader.ended) or self.lost.is_set()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send a request; the raw result comes back in ``_meta``."""
        raw = await self._inner.send_raw_request(method, params, opts)
        stand_in = _STAND_IN.get(method)
        if method in _PASSED or stand_in is None:
            return raw
        out = {**stand_in, "_meta": {RAW: raw}}
        if method == "tools/list":
            # The SDK reads from here which arguments go into headers as well.
            out["tools"] = [t for t in _listed(raw) if "x-mcp-header" in str(t["inputSchema"])]
        return out

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Send a notification."""
        await self._inner.notify(method, params, opts)

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Read until the server is gone."""
        try:
            await self._inner.run(
                on_request, on_notify, on_notify_intercept, task_status=task_status
            )
        finally:
            self.lost.set()

    async def _noise(self, error: Exception) -> None:
        self._reader.noise += 1


def _listed(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = raw.get("tools")
    return [
        {"name": tool["name"], "inputSchema": {"type": "object", **tool["inputSchema"]}}
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and isinstance(tool.get("inputSchema"), dict)
    ]
