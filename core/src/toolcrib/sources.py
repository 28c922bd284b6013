"""Follow live sources: read their tools, and make a new catalog whenever they change.

A source is what ``@pack.source`` makes::

    class Source:
        name: str                                   # the middle part of its tools' ids
        async def open(self, changed): ...           # changed() asks to be read again
        async def tools(self): ...                   # its tools, each an Implementation
        async def close(self): ...

Each source is followed by a task of its own, so a slow or dead one delays nobody. Its
tools are replaced all at once; one that cannot be read keeps its tools, marked stale.
"""

from __future__ import annotations

import asyncio

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from .activation.activepack import ActivePack
from .events import Event
from .implementation import Implementation


if TYPE_CHECKING:
    from .toolbox import Toolbox


__all__ = ["Source", "Sources"]


class Source(Protocol):
    """A live provider of tools."""

    @property
    def name(self) -> str:
        """The middle part of its tools' ids."""

    async def open(self, changed: Callable[[], None]) -> None:
        """Connect; call ``changed`` whenever the tools should be read again."""

    async def tools(self) -> Iterable[Implementation]:
        """Return the tools as they are now; raise if that cannot be told."""

    async def close(self) -> None:
        """Disconnect."""


class Sources:
    """The live sources of a toolbox.

    Args:
        toolbox: Whose catalog they change.
        patience: Seconds that entering the toolbox waits for first readings.
        timeout: Seconds for opening, one reading, or closing.
    """

    def __init__(
        self, toolbox: Toolbox, *, patience: float = 5.0, timeout: float = 30.0
    ) -> None:
        self._toolbox = toolbox
        self._patience = patience
        self._timeout = timeout
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Start following every source; wait a little for first readings."""
        first: list[asyncio.Event] = []
        for pack_id, finding in self._toolbox.catalog.packs.items():
            if not finding.manifest.sources:
                continue
            pack = await self._toolbox.activate(pack_id)
            if not isinstance(pack, ActivePack):
                continue
            for source in await pack.sources():
                read = asyncio.Event()
                first.append(read)
                work = self._follow(pack, source, read)
                self._tasks.append(asyncio.create_task(work, name=f"source {source.name}"))
        if first:
            waits = [asyncio.ensure_future(read.wait()) for read in first]
            await asyncio.wait(waits, timeout=self._patience)
            for wait in waits:
                wait.cancel()

    async def close(self) -> None:
        """Stop following, and close every source."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _follow(self, pack: ActivePack, source: Source, read: asyncio.Event) -> None:
        again = asyncio.Event()
        try:
            await self._try(pack, source, source.open(again.set))
            while True:
                await self._read(pack, source)
                read.set()
                await again.wait()
                again.clear()
        finally:
            read.set()
            await self._try(pack, source, source.close())

    async def _read(self, pack: ActivePack, source: Source) -> None:
        toolbox = self._toolbox
        try:
            async with asyncio.timeout(self._timeout):
                found = tuple(await source.tools())
        except Exception as error:  # noqa: BLE001 - a source that fails keeps its tools
            self._stale(pack, source, f"{type(error).__name__}: {error}")
            return
        pack.set_live(source.name, found)
        tools = [implementation.tool for implementation in found]
        toolbox.replace_catalog(toolbox.catalog.with_live(pack.id, source.name, tools))

    async def _try(self, pack: ActivePack, source: Source, work: Any) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                await work
        except Exception as error:  # noqa: BLE001 - as above
            self._stale(pack, source, f"{type(error).__name__}: {error}")

    def _stale(self, pack: ActivePack, source: Source, problem: str) -> None:
        toolbox = self._toolbox
        toolbox.replace_catalog(toolbox.catalog.with_unreadable(pack.id, source.name, problem))
        event = Event(
            name="source.stale",
            time=toolbox.clock.time(),
            data={"pack": pack.id, "source": source.name, "problem": problem},
        )
        toolbox.tell(event, key=f"source {pack.id}.{source.name}")
