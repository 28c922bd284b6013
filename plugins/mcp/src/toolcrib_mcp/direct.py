"""Requests that go past the SDK's dispatcher: the same messages in less time.

Its dispatcher makes a span, a stream, a clock and three scopes for each request, which is
a tenth of what a call of a quick server takes. For a request of a handshake revision,
which is all in its params, a number and a future do the same. Where spans are collected
it is left to the dispatcher, which makes them and hands their context on.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging

from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types

from mcp.shared.dispatcher import ProgressFnT, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from opentelemetry import trace


__all__ = ["Direct", "is_traced"]

_LOG = logging.getLogger(__name__)

# The dispatcher's own numbers begin at 1.
_FIRST = 1 << 30
_GIVE_UP = 5.0
_CLOSED = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")

Answer = Mapping[str, Any] | types.ErrorData


def is_traced() -> bool:
    """Tell whether anybody collects spans."""
    provider = trace.get_tracer_provider()
    return not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)


class Direct:
    """The requests of one connection that were sent past the dispatcher.

    Args:
        writer: The transport's stream of what is sent.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._numbers = itertools.count(_FIRST)
        self._waiting: dict[types.RequestId, tuple[asyncio.Future[Answer], ProgressFnT]] = {}
        self._reports: set[asyncio.Task[None]] = set()
        self._closed = False

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        headers: Mapping[str, str],
        on_progress: ProgressFnT,
    ) -> dict[str, Any]:
        """Send a request and return its result; a request that is given up is cancelled.

        Raises:
            MCPError: the server answered an error, or the connection is closed.
        """
        number = next(self._numbers)
        meta = {**(params.get("_meta") or {}), "progressToken": number}
        request = types.JSONRPCRequest(
            jsonrpc="2.0", id=number, method=method, params={**params, "_meta": meta}
        )
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer, on_progress
        try:
            await self._send(request, headers)
            found = _CLOSED if self._closed else await answer
        except asyncio.CancelledError:
            await self._give_up(number)
            raise
        finally:
            del self._waiting[number]
        if isinstance(found, types.ErrorData):
            raise MCPError(code=found.code, message=found.message, data=found.data)
        return dict(found)

    async def _send(
        self, message: types.JSONRPCRequest | types.JSONRPCNotification, headers: Any = None
    ) -> None:
        metadata = ClientMessageMetadata(headers=dict(headers)) if headers else None
        try:
            await self._writer.send(SessionMessage(message, metadata))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise MCPError(code=_CLOSED.code, message=_CLOSED.message) from None

    async def _give_up(self, number: int) -> None:
        """Tell the server that nobody waits any more, as far as it can be told."""
        params = {"requestId": number, "reason": "caller cancelled"}
        message = types.JSONRPCNotification(
            jsonrpc="2.0", method="notifications/cancelled", params=params
        )
        with contextlib.suppress(MCPError, OSError, TimeoutError):
            async with asyncio.timeout(_GIVE_UP):
                await self._send(message)

    def takes(self, message: Any) -> bool:
        """Take a message that belongs to one of the requests; tell whether it does."""
        if isinstance(message, types.JSONRPCResponse):
            return self._answered(message.id, message.result)
        if isinstance(message, types.JSONRPCError):
            return message.id is not None and self._answered(message.id, message.error)
        if message.__class__ is types.JSONRPCNotification:
            return message.method == "notifications/progress" and self._progressed(message)
        return False

    def _answered(self, number: types.RequestId, answer: Answer) -> bool:
        waiting = self._waiting.get(coerce_request_id(number))
        if waiting is None:
            return False
        # A second answer, or one to a request that was given up a moment ago.
        with contextlib.suppress(asyncio.InvalidStateError):
            waiting[0].set_result(answer)
        return True

    def _progressed(self, message: types.JSONRPCNotification) -> bool:
        params = message.params or {}
        token = params.get("progressToken")
        if not isinstance(token, int | str) or isinstance(token, bool):
            return False
        waiting = self._waiting.get(coerce_request_id(token))
        if waiting is None:
            return False
        progress, said = _number(params.get("progress")), params.get("message")
        if progress is not None:
            words = said if isinstance(said, str) else None
            report = _reported(waiting[1], progress, _number(params.get("total")), words)
            task = asyncio.ensure_future(report)
            self._reports.add(task)
            task.add_done_callback(self._reports.discard)
        return True

    def close(self) -> None:
        """Have everything that waits end: nothing can come any more."""
        self._closed = True
        for answer, _ in self._waiting.values():
            with contextlib.suppress(asyncio.InvalidStateError):
                answer.set_result(_CLOSED)


async def _reported(
    tell: ProgressFnT, progress: float, total: float | None, message: str | None
) -> None:
    try:
        await tell(progress, total, message)
    except Exception:  # noqa: BLE001 - it must not end the reading of answers
        _LOG.warning("what was told of progress raised", exc_info=True)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all that can be meant
        return None
