"""Run an asynchronous handler inside the task of its call, as long as it obeys.

The coroutine is moved on by hand, so that what happens to the task while the handler's
code runs is told from what happens to it from outside, and so that one which does not end
can be carried on elsewhere.
"""

from __future__ import annotations

import asyncio
import types

from collections.abc import Coroutine, Generator
from contextvars import Context as Variables
from typing import Any

from .cancellation import CancelToken


__all__ = ["AbandonedError", "drive"]


class AbandonedError(BaseException):
    """Raised inside *execute* when a handler does not end after it was cancelled.

    ``rest`` is the task that carries what is left of the handler. A ``BaseException``,
    so that nothing between takes it for a failure of the tool.
    """

    def __init__(self, rest: asyncio.Task[Any]) -> None:
        self.rest = rest
        super().__init__()


@types.coroutine
def drive(
    handler: Coroutine[Any, Any, Any], token: CancelToken, variables: Variables
) -> Generator[Any, None, Any]:
    """Run a handler in the current task and in context variables of its own.

    Raises:
        AbandonedError: the handler swallowed its cancellation and went on.
    """
    run, step = variables.run, token.step
    try:
        waits_for = step(run, handler.send, None)
        while True:
            try:
                yield waits_for
            except GeneratorExit:
                token.closed = True
                run(handler.close)
                raise
            except BaseException as error:  # noqa: BLE001 - handed to the handler
                if isinstance(error, asyncio.CancelledError):
                    token.delivered(inside=True)
                waits_for = step(run, handler.throw, error)
                if token.insisted:
                    raise AbandonedError(_carry_on(handler, waits_for, variables)) from None
            else:
                waits_for = step(run, handler.send, None)
    except StopIteration as stop:
        return stop.value
    finally:
        token.ended()


def _carry_on(
    handler: Coroutine[Any, Any, Any], waits_for: Any, variables: Variables
) -> asyncio.Task[Any]:
    """Move a handler that does not end into a task of its own."""

    @types.coroutine
    def rest() -> Generator[Any, None, Any]:
        upcoming = waits_for
        while True:
            error: BaseException | None = None
            try:
                yield upcoming
            except GeneratorExit:
                handler.close()
                raise
            except BaseException as caught:  # noqa: BLE001 - handed to the handler
                error = caught
            try:
                upcoming = handler.send(None) if error is None else handler.throw(error)
            except StopIteration as stop:
                return stop.value

    async def carrier() -> Any:
        try:
            return await rest()
        except SystemExit as error:
            # Out of a task it would stop the app's event loop.
            message = f"SystemExit: {error}"
            raise RuntimeError(message) from error

    return asyncio.get_running_loop().create_task(carrier(), context=variables)
