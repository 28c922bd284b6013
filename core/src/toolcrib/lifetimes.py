"""Open the values of ``@pack.resource`` on first use and close them in reverse order.

Each value lives in one owner task of its own: it is opened, and later closed, by the
same task, outside the deadline of the call that first asked for it. So a call that is
cancelled while a resource opens does not tear it down for the others, and libraries
whose scopes must be left in the task that entered them work.
"""

from __future__ import annotations

import asyncio

from collections.abc import Callable
from typing import Any

from .errors import DeclarationError, Unavailable


__all__ = ["Lifetimes"]


class _Owner:
    """One resource value and the task that it lives in."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # A failed opening may have no reader left; its failure is reported by use().
        self.ready.add_done_callback(lambda f: f.cancelled() or f.exception())
        self.stop = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Lifetimes:
    """The open resources of one scope: one toolbox or one session.

    Args:
        scope: ``toolbox`` or ``session``; for messages.
        close_timeout: Seconds that closing one resource may take.
    """

    def __init__(self, scope: str, *, close_timeout: float = 10.0) -> None:
        self.scope = scope
        self.failures: list[str] = []
        self._close_timeout = close_timeout
        self._owners: dict[Any, _Owner] = {}
        self._opened: list[Any] = []
        self._closed = False

    async def use(self, resource: Any, make_context: Callable[[], Any]) -> Any:
        """Return the value of a resource, opening it if nobody has yet.

        Args:
            resource: The definition; ``resource.open(ctx)`` is an async context manager.
            make_context: Makes the context that the resource itself is given.

        Raises:
            Unavailable: it could not be opened; the next use tries again.
        """
        if self._closed:
            text = f"resource {resource.name!r}: the {self.scope} is closed"
            raise Unavailable(text)
        owner = self._owners.get(resource)
        if owner is None:
            owner = self._owners[resource] = _Owner()
            owner.task = asyncio.create_task(
                self._own(resource, owner, make_context()), name=f"resource {resource.name}"
            )
        if owner.ready.done():
            return owner.ready.result()
        return await asyncio.shield(owner.ready)

    async def _own(self, resource: Any, owner: _Owner, context: Any) -> None:
        try:
            async with resource.open(context) as value:
                self._opened.append(resource)
                if not owner.ready.done():
                    owner.ready.set_result(value)
                await owner.stop.wait()
        except asyncio.CancelledError:
            if not owner.ready.done():
                text = f"resource {resource.name!r}: the {self.scope} closed meanwhile"
                owner.ready.set_exception(Unavailable(text))
            raise
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - pack code; reported, never swallowed
            # SystemExit too: out of a task it would stop the app's event loop.
            text = f"resource {resource.name!r}: {type(error).__name__}: {error}"
            if owner.ready.done():
                self.failures.append(f"{text} (while closing)")
                return
            del self._owners[resource]
            known = isinstance(error, DeclarationError | Unavailable)
            failure = error if known else Unavailable(f"{text.rstrip('.')}. Nothing ran.")
            owner.ready.set_exception(failure)

    async def close(self) -> None:
        """Close every open resource, last opened first, whatever fails on the way."""
        self._closed = True
        order = [r for r in reversed(self._opened) if r in self._owners]
        # What is still opening has nothing to close in order: it is cancelled first.
        for resource in [r for r in self._owners if r not in self._opened]:
            await self._end(resource, polite=False)
        for resource in order:
            await self._end(resource, polite=True)
        self._owners.clear()
        self._opened.clear()

    async def _end(self, resource: Any, *, polite: bool) -> None:
        owner = self._owners[resource]
        if owner.task is None:
            return
        owner.stop.set()
        if polite:
            await asyncio.wait({owner.task}, timeout=self._close_timeout)
        if not owner.task.done():
            if polite:
                self.failures.append(
                    f"resource {resource.name!r}: did not close within {self._close_timeout} s"
                )
            owner.task.cancel()
            await asyncio.wait({owner.task}, timeout=self._close_timeout)
        if not owner.ready.done():
            # Its task was cancelled before its first step; somebody may wait for it.
            text = f"resource {resource.name!r}: the {self.scope} closed before it was open"
            owner.ready.set_exception(Unavailable(text))


def guard_cycle(chain: tuple[Any, ...], resource: Any) -> None:
    """Refuse a resource that, while it opens, needs itself.

    Raises:
        DeclarationError: naming the cycle.
    """
    if resource in chain:
        names = " → ".join(r.name for r in (*chain, resource))
        text = f"resources need each other in a circle: {names}"
        raise DeclarationError(text)
