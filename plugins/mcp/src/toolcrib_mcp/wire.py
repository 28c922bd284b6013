"""Between the SDK and the wire: what comes back is made harmless before it is judged.

The SDK checks whole messages against the protocol's models. One bad tool would fail a
list of good ones, and one odd part of a result a call whose effect has happened. So the
raw value is set aside here and the SDK is given a form that it accepts; our own code
looks at the raw value part by part.
"""

from __future__ import annotations

import asyncio
import time

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Self

import anyio
import anyio.abc
import mcp_types as types

from mcp.shared.dispatcher import (
    CallOptions,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    ProgressFnT,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from .direct import Direct, is_traced


__all__ = ["RAW", "Tap", "Watched"]

RAW = "toolcrib/raw"
"""Key in ``_meta`` under which stands the number of the raw result that is set aside."""

_MOST_ASIDE = 256
_MOST_A_SECOND = 500

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
    """A transport's read stream that remembers that it ended, and holds floods back.

    Answers always come through. Of what a server asks and tells by itself only so much is
    taken in a second: the rest is dropped here, where that costs next to nothing.

    Attributes:
        noise: What was no message.
        dropped: Messages of floods.
        takes: Is shown each message first, and keeps it if it says so.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.ended = False
        self.noise = 0
        self.dropped = 0
        self._second = (0, 0)
        self.takes: Callable[[Any], bool] | None = None

    @property
    def last_context(self) -> Any:
        """The context of whoever sent the last message, if the transport says."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            while True:
                message = await self._inner.__anext__()
                if not self._floods(message):
                    if self.takes is None or not self.takes(getattr(message, "message", None)):
                        return message
                    continue
                self.dropped += 1
                # Others have their turn while a flood is read away.
                await asyncio.sleep(0)
        except (StopAsyncIteration, anyio.EndOfStream, anyio.ClosedResourceError):
            self.ended = True
            raise

    def _floods(self, message: Any) -> bool:
        """Tell whether a server says more by itself than is listened to."""
        body = getattr(message, "message", None)
        if not isinstance(body, types.JSONRPCRequest | types.JSONRPCNotification):
            return False
        now = int(time.monotonic())
        count = self._second[1] + 1 if self._second[0] == now else 1
        self._second = (now, count)
        return count > _MOST_A_SECOND

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
        self._direct = Direct(writer)
        reader.takes = self._direct.takes
        self.lost = anyio.Event()
        self._numbers = 0
        self._aside: OrderedDict[int, Any] = OrderedDict()

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
        self._numbers += 1
        self._aside[self._numbers] = raw
        while len(self._aside) > _MOST_ASIDE:  # Of requests that were given up meanwhile.
            self._aside.popitem(last=False)
        out = {**stand_in, "_meta": {RAW: self._numbers}}
        if method == "tools/list":
            # The SDK reads from here which arguments go into headers as well.
            out["tools"] = await asyncio.to_thread(_with_headers, raw)
        return out

    async def ask(
        self, method: str, params: Mapping[str, Any], version: str, on_progress: ProgressFnT
    ) -> dict[str, Any]:
        """Send a request in a handshake revision, and return its raw result.

        There a request is its params: it goes past the models of the SDK's session, which
        would add nothing but time.
        """
        headers = {MCP_PROTOCOL_VERSION_HEADER: version}
        if is_traced():
            opts: CallOptions = {"headers": headers, "on_progress": on_progress}
            return await self._inner.send_raw_request(method, params, opts)
        return await self._direct.ask(method, params, headers=headers, on_progress=on_progress)

    def taken(self, meta: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the raw result that belongs to an answer's ``_meta``."""
        raw = self._aside.pop((meta or {}).get(RAW, 0), {})
        return raw if isinstance(raw, dict) else {}

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
            self._direct.close()
            self.lost.set()

    async def _noise(self, error: Exception) -> None:
        self._reader.noise += 1


def _with_headers(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in _listed(raw) if "x-mcp-header" in str(tool["inputSchema"])]


def _listed(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    tools = raw.get("tools")
    return [
        {"name": tool["name"], "inputSchema": {"type": "object", **tool["inputSchema"]}}
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and isinstance(tool.get("inputSchema"), dict)
    ]
