"""What all calls share: the client, the stores, what sites asked of us."""

from __future__ import annotations

import asyncio
import hashlib

from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib import Context, Pack

from .documents import Document
from .health import Health
from .searchcache import SearchCache
from .settings import WebSettings


if TYPE_CHECKING:
    from toolcrib_net import Answer, Client, Exchange, FixedResolver, Request, Send, Target

    from .caching import Freshness, HttpCache
    from .robots import Robots


__all__ = ["Web", "pack", "web"]

pack = Pack("web", title="Web", category="web")


class Web:
    """The web, as this toolbox sees it.

    Args:
        settings: How the pack behaves.
        state: The pack's own folder.
    """

    def __init__(self, settings: WebSettings, state: Path) -> None:
        self.settings = settings
        self._state = state
        self._client: Client | None = None
        self._cache: HttpCache | None = None
        self._robots: Robots | None = None
        self.documents = Documents(settings.memory_mib << 20)
        self.health = Health(state / "search")
        self.searches = SearchCache(state / "search")

    @property
    def resolver(self) -> FixedResolver:
        """What turns names into addresses."""
        from toolcrib_net import FixedResolver, SystemResolver

        return FixedResolver(self.settings.hosts, SystemResolver())

    @property
    def client(self) -> Client:
        """The client, made by the first call that needs it."""
        if self._client is None:
            from toolcrib_net import Client

            self._client = Client(self.settings.policy(), resolver=self.resolver)
        return self._client

    @property
    def cache(self) -> HttpCache | None:
        """The store of answers, or None where nothing is stored."""
        if self._cache is None and self.settings.cache_mib > 0:
            from .caching import HttpCache

            self._cache = HttpCache(self._state / "cache", self.settings.cache_bytes)
        return self._cache

    @property
    def robots(self) -> Robots:
        """What sites ask of programs."""
        if self._robots is None:
            from .robots import Robots

            self._robots = Robots(self.settings.user_agent.partition("/")[0])
        return self._robots

    async def ask(
        self,
        request: Request,
        freshness: Freshness,
        **options: object,
    ) -> Answer:
        """Make a request, through the store of answers."""
        cache = self.cache

        async def via(request: Request, where: Target, send: Send) -> Exchange:
            if cache is None:
                return await send(request)
            return await cache.through(request, where, send, freshness)

        return await self.client.fetch(request, via=via, **options)  # type: ignore[arg-type]

    async def close(self) -> None:
        """Close connections and stores."""
        if self._client is not None:
            await self._client.close()
        if self._cache is not None:
            await self._cache.close()


class Documents:
    """Pages that were read lately, ready to be shown again or in their next part.

    Args:
        size: Most characters.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._held = 0
        self._kept: OrderedDict[str, Document | None] = OrderedDict()

    @staticmethod
    def key(*parts: object) -> str:
        """Return the key of a body, and of how it was read."""
        total = hashlib.sha256()
        for part in parts:
            total.update(part if isinstance(part, bytes) else str(part).encode())
            total.update(b"\0")
        return total.hexdigest()

    def get(self, key: str) -> Document | None:
        """Return a page, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: str, document: Document) -> None:
        """Keep a page, and let the longest unused ones go."""
        if len(document.text) > self._size // 4:
            return
        self._kept[key] = document
        self._held += len(document.text)
        while self._held > self._size:
            _, gone = self._kept.popitem(last=False)
            self._held -= 0 if gone is None else len(gone.text)


@pack.resource(scope="toolbox")
async def web(ctx: Context) -> AsyncIterator[Web]:
    """Open what all calls share."""
    settings = WebSettings.read(ctx.host.settings)
    found = Web(settings, await asyncio.to_thread(lambda: ctx.host.state))
    try:
        yield found
    finally:
        await found.close()
