"""Both directions of JSON-RPC over one stream: questions, answers, notices.

Our ids and the server's are two spaces: a message with a method is the server's,
whatever its id, and one without is an answer to ours.
"""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import Callable
from typing import Any

import attrs

from .frames import BrokenFrame, Frames, encode


__all__ = ["CODES", "Closed", "NoAnswer", "Peer", "RemoteError"]


# Timers ring a moment early, by the resolution of the clock.
_TICK = 0.001


class CODES:
    """Error codes of the protocol that mean something to us."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    NOT_INITIALIZED = -32002
    REQUEST_FAILED = -32803
    SERVER_CANCELLED = -32802
    CONTENT_MODIFIED = -32801
    REQUEST_CANCELLED = -32800


class RemoteError(Exception):
    """Raised when the server answers with an error."""

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        self.method = method
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"{method}: {message} ({code})")


class Closed(Exception):  # noqa: N818 - it says what happened
    """Raised for all that waits when the connection ends."""


class NoAnswer(Exception):  # noqa: N818 - it says what happened
    """Raised when a question was not answered in time; it was cancelled."""

    def __init__(self, method: str, seconds: float) -> None:
        self.method = method
        super().__init__(f"{method} was not answered within {seconds:g} s")


@attrs.frozen
class _Asked:
    """A question that waits for its answer: until when on the loop's clock, and how long."""

    method: str
    future: asyncio.Future[Any]
    until: float
    seconds: float


class Peer:
    """One connection.

    Args:
        write: Takes bytes for the server; must not block.
        on_request: ``(method, params)`` gives the result of a question of the server's;
            raises :class:`RemoteError` to refuse it, LookupError if it is not known.
        on_notice: ``(method, params)`` hears what the server tells.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        *,
        on_request: Callable[[str, Any], Any],
        on_notice: Callable[[str, Any], None],
    ) -> None:
        self._write = write
        self._on_request = on_request
        self._on_notice = on_notice
        self._frames = Frames()
        self._waiting: dict[int, _Asked] = {}
        # One for all that wait: it rings when the first of them must have its answer.
        self._alarm: asyncio.TimerHandle | None = None
        self._last = 0
        self.closed: Closed | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes from the server.

        Raises:
            BrokenFrame: the stream cannot be read any further.
        """
        for message in self._frames.feed(data):
            if "method" in message:
                self._asked(message)
            elif "id" in message:
                self._answered(message)
            else:
                text = "a message with neither method nor id"
                raise BrokenFrame(text)

    async def request(self, method: str, params: Any = None, *, timeout: float) -> Any:
        """Ask and wait; who is cancelled while waiting cancels the question.

        Raises:
            RemoteError: the server answered with an error.
            NoAnswer: it did not answer in time.
            Closed: the connection ended.
        """
        if self.closed is not None:
            raise self.closed
        loop = asyncio.get_running_loop()
        self._last += 1
        number = self._last
        asked = _Asked(method, loop.create_future(), loop.time() + max(timeout, 0), timeout)
        self._waiting[number] = asked
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:  # null is no object, and some servers say so
            message["params"] = params
        try:
            self._write(encode(message))
            self._set_alarm(loop, asked.until)
            return await asked.future
        finally:
            if self._waiting.pop(number, None) is not None and self.closed is None:
                self.notify("$/cancelRequest", {"id": number})

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the server something."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if self.closed is None:
            self._write(encode(message))

    def close(self, why: Closed) -> None:
        """End everything that waits."""
        if self.closed is not None:
            return
        self.closed = why
        if self._alarm is not None:
            self._alarm.cancel()
        waiting, self._waiting = self._waiting, {}
        for asked in waiting.values():
            _fail(asked.future, why)

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        """Have the alarm ring in time, if it would not."""
        if self._alarm is not None:
            if self._alarm.when() <= until:
                return
            self._alarm.cancel()
        self._alarm = loop.call_at(until, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what has waited for long enough; ring again for what has not."""
        self._alarm = None
        now = loop.time() + _TICK
        left = [asked for asked in self._waiting.values() if not asked.future.done()]
        for asked in left:
            if asked.until > now:
                self._set_alarm(loop, asked.until)
            else:
                _fail(asked.future, NoAnswer(asked.method, asked.seconds))

    def _answered(self, message: dict[str, Any]) -> None:
        number = message["id"]
        asked = self._waiting.pop(number, None) if isinstance(number, int) else None
        if asked is None or asked.future.done():
            return  # Late: nobody waits any more.
        future = asked.future
        error = message.get("error")
        if error is None:
            with contextlib.suppress(asyncio.InvalidStateError):
                future.set_result(message.get("result"))
            return
        if not isinstance(error, dict):
            error = {"message": str(error)}
        code = error.get("code")
        failure = RemoteError(
            asked.method,
            code if isinstance(code, int) else CODES.INTERNAL,
            str(error.get("message", "no message"))[:2000],
            error.get("data"),
        )
        _fail(future, failure)

    def _asked(self, message: dict[str, Any]) -> None:
        method, params = str(message["method"]), message.get("params")
        if "id" not in message:
            self._on_notice(method, params)
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = self._on_request(method, params)
        except RemoteError as error:
            answer["error"] = {"code": error.code, "message": error.message}
        except LookupError:
            text = f"this client does not answer {method}"
            answer["error"] = {"code": CODES.METHOD_NOT_FOUND, "message": text}
        except (TypeError, ValueError, AttributeError) as error:
            # The question is not formed as the protocol says.
            answer["error"] = {"code": CODES.INVALID_PARAMS, "message": str(error)[:500]}
        if self.closed is None:
            self._write(encode(answer))


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    # No look before: a signal may cancel it between any two steps.
    with contextlib.suppress(asyncio.InvalidStateError):
        future.set_exception(error)
