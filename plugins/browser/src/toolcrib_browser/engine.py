"""What all sessions share: one browser, and the proxy that is its only way out."""

from __future__ import annotations

import asyncio
import time

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from toolcrib import Busy, Transient

from .launching import OWN_HOSTS, Running, launch
from .origins import host_of, origin_of
from .settings import BrowserSettings


if TYPE_CHECKING:
    from playwright.async_api import BrowserContext
    from toolcrib_net import FilteringProxy


__all__ = ["Engine"]

_DECISIONS = 512
_ANSWER = 15.0


class Engine:
    """The browser of a toolbox, started by the first call that needs it.

    A browser that died is replaced by the next call; what was open in it is gone.

    Args:
        settings: How the pack behaves.
    """

    def __init__(self, settings: BrowserSettings) -> None:
        self.settings = settings
        self.policy = settings.policy()
        self._lock = asyncio.Lock()
        self._running: Running | None = None
        self._proxy: FilteringProxy | None = None
        self._contexts: set[BrowserContext] = set()
        self._refused: OrderedDict[tuple[str, int], tuple[str, str, float]] = OrderedDict()

    async def context(self) -> BrowserContext:
        """Return a new context: cookies, storage and pages of its own.

        Raises:
            Unavailable: there is no browser, or it does not start.
            Busy: as many sessions as may use one at once (``browser.full``).
        """
        async with self._lock:
            running = await self._alive()
            if len(self._contexts) >= self.settings.sessions:
                text = (
                    f"{len(self._contexts)} sessions use the browser, which is the limit. Try "
                    "again when one has ended."
                )
                raise Busy(text, code="browser.full")
            context = await self._new_context(running)
            self._contexts.add(context)
            context.on("close", lambda gone: self._contexts.discard(gone))  # noqa: PLW0108
            return context

    async def _new_context(self, running: Running) -> BrowserContext:
        settings = self.settings
        try:
            async with asyncio.timeout(_ANSWER):
                return await running.browser.new_context(
                    viewport={"width": settings.width, "height": settings.height},
                    locale=settings.language,
                    timezone_id=settings.timezone,
                    accept_downloads=True,
                    # They would fetch behind the back of what watches the page.
                    service_workers="block",
                )
        except TimeoutError as error:
            self._running = None
            self._contexts.clear()
            await running.close()
            text = "The browser did not answer and was ended. Try again; it is started anew."
            raise Transient(text, code="browser.failed") from error

    async def release(self, context: BrowserContext) -> None:
        """Close a context, with its pages and all that they stored."""
        self._contexts.discard(context)
        try:
            await asyncio.wait_for(context.close(), 5.0)
        except Exception:  # noqa: BLE001 - it is gone, or hangs and goes with the browser
            return

    async def restart(self) -> None:
        """End a browser that does not answer; the next call starts another."""
        async with self._lock:
            running, self._running = self._running, None
            self._contexts.clear()
            if running is not None:
                await running.close()

    async def _alive(self) -> Running:
        if self._running is not None and self._running.alive:
            return self._running
        if self._running is not None:
            await self._running.close()
            self._running = None
            self._contexts.clear()
        self._running = await launch(self.settings, await self._way_out())
        return self._running

    async def _way_out(self) -> FilteringProxy:
        if self._proxy is None:
            from toolcrib_net import FilteringProxy

            self._proxy = FilteringProxy(
                self.policy,
                resolver=self.settings.resolver(),
                allow=self._admits,
                observe=self._note,
            )
            await self._proxy.__aenter__()
        return self._proxy

    def _admits(self, host: str, port: int) -> bool:
        if host in OWN_HOSTS and not self.settings.requests.patterns:
            return False
        return self.settings.requests.admits_place(host, port)

    def _note(self, decision: Any) -> None:
        if decision.code is not None:
            place = _place(decision.host, decision.port)
            self._refused.pop(place, None)
            self._refused[place] = (decision.code, decision.text, time.monotonic())
            while len(self._refused) > _DECISIONS:
                self._refused.popitem(last=False)

    def refusal(self, url: str, since: float = 0.0) -> tuple[str, str] | None:
        """Return code and text of why the proxy said no to a place last, or None.

        Args:
            url: An address of the place.
            since: Monotonic time before which it does not count.
        """
        try:
            origin = origin_of(url)
        except ValueError:
            return None
        code, text, when = self._refused.get(
            (host_of(origin), int(origin.rpartition(":")[2])), ("", "", -1.0)
        )
        return (code, text) if code and when >= since else None

    async def close(self) -> None:
        """End the browser and the proxy."""
        async with self._lock:
            running, self._running = self._running, None
            if running is not None:
                await running.close()
            proxy, self._proxy = self._proxy, None
            if proxy is not None:
                await proxy.__aexit__(None, None, None)


def _place(host: str, port: int) -> tuple[str, int]:
    """Return host and port of a decision; a refused address comes as it was asked for."""
    if port:
        return host, port
    try:
        origin = origin_of(host if "://" in host else f"https://{host}")
    except ValueError:
        return host, 0
    return host_of(origin), int(origin.rpartition(":")[2])
