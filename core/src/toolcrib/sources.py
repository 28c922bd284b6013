"""Follow live sources: read their tools, and make a new catalog whenever they change.

A source is what ``@pack.source`` makes::

    class Source:
        name: str                                   # the middle part of its tools' ids
        async def open(self, changed): ...           # changed() asks to be read again
        async def tools(self): ...                   # its tools, each an Implementation
        async def close(self): ...

A source may also have ``volatile``: names of tools whose words change by themselves. A
lock that is written with the source notes them, so that this alone is no difference.

Each source is followed by a task of its own, so a slow or dead one delays nobody. Its
tools are replaced all at once; one that cannot be read keeps its tools, marked stale.
"""

from __future__ import annotations

import asyncio

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from glob import escape
from typing import TYPE_CHECKING, Protocol

from .activation.activepack import ActivePack
from .events import Event
from .implementation import Implementation
from .names import is_source_id


if TYPE_CHECKING:
    from .toolbox import Toolbox


__all__ = ["Source", "Sources"]

# Looking at more tools than this would hold the event loop up for everybody.
_MANY = 100
# How soon the wait for what is still out becomes shorter: below a tenth, down to a fifth.
_FEW = 10
_LEAST = 0.2


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
        quiet: Seconds without another one after which it waits no longer: what is late
            comes later, and delays nobody else. Less, where fewer than a tenth are out.
        timeout: Seconds for opening, one reading, or closing.
        pauses: Seconds before a source that could not be opened is tried again.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        patience: float = 5.0,
        quiet: float = 0.25,
        timeout: float = 30.0,
        pauses: Sequence[float] = (1.0, 5.0, 30.0, 120.0),
    ) -> None:
        self._toolbox = toolbox
        self._patience = patience
        self._quiet = quiet
        self._timeout = timeout
        self._pauses = tuple(pauses)
        self._tasks: list[asyncio.Task[None]] = []
        self._pending: dict[str, None] = {}
        self._volatile: list[str] = []
        self._first: list[asyncio.Event] = []

    @property
    def pending(self) -> tuple[str, ...]:
        """The sources, as ``pack.source``, that have not been read yet."""
        return tuple(self._pending)

    @property
    def volatile(self) -> tuple[str, ...]:
        """Patterns of ids whose words may change, as sources say."""
        return tuple(self._volatile)

    async def settle(self, seconds: float = 5.0) -> None:
        """Wait for late sources as well; for programs that look once."""
        if self._pending:
            waits = [asyncio.ensure_future(read.wait()) for read in self._first]
            await asyncio.wait(waits, timeout=seconds)
            for wait in waits:
                wait.cancel()

    async def open(self) -> None:
        """Start following every source; wait a little for first readings."""
        for pack_id, finding in self._toolbox.catalog.packs.items():
            if not finding.manifest.sources:
                continue
            pack = await self._toolbox.activate(pack_id)
            if not isinstance(pack, ActivePack):
                continue
            for source in await pack.sources():
                read = self._start(pack, source)
                if read is not None:
                    self._first.append(read)
        await self._first_readings(self._first)

    async def _first_readings(self, first: Iterable[asyncio.Event]) -> None:
        """Wait for as long as readings come in, one soon after the other."""
        loop = asyncio.get_running_loop()
        waits = {asyncio.ensure_future(read.wait()) for read in first}
        end = loop.time() + self._patience
        pending, left = waits, self._patience
        try:
            while pending and left > 0:
                done, pending = await asyncio.wait(
                    pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    break
                # Of many that start together nearly all are there: what is left is slow.
                share = max(min(1.0, _FEW * len(pending) / len(waits)), _LEAST)
                left = min(self._quiet * share, end - loop.time())
        finally:
            for wait in waits:
                wait.cancel()

    def _start(self, pack: ActivePack, source: Source) -> asyncio.Event | None:
        """Follow a source; one without a good name of its own is passed over, and named."""
        name = getattr(source, "name", None)
        full = f"{pack.id}.{name}"
        if not isinstance(name, str) or not is_source_id(name) or self._is_followed(full):
            problem = f"{name!r} is no name of a source, or is given twice"
            self._tell(pack.id, str(name)[:64], problem)
            return None
        read = asyncio.Event()
        self._pending[full] = None
        words = getattr(source, "volatile", ())
        self._volatile += [f"{full}.{escape(str(each))}" for each in words]
        work = self._follow(pack, source, read)
        self._tasks.append(asyncio.create_task(work, name=f"source {full}"))
        return read

    def _is_followed(self, full: str) -> bool:
        return any(task.get_name() == f"source {full}" for task in self._tasks)

    async def close(self) -> None:
        """Stop following, and close every source."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _follow(self, pack: ActivePack, source: Source, read: asyncio.Event) -> None:
        again = asyncio.Event()
        try:
            await self._opened(pack, source, again, read)
            while True:
                await self._read(pack, source)
                self._pending.pop(f"{pack.id}.{source.name}", None)
                read.set()
                await again.wait()
                again.clear()
        finally:
            self._pending.pop(f"{pack.id}.{source.name}", None)
            read.set()
            await self._try(pack, source, source.close)

    async def _opened(
        self, pack: ActivePack, source: Source, again: asyncio.Event, read: asyncio.Event
    ) -> None:
        """Open a source; one that cannot be is tried again, later and later."""
        tries = 0
        while not await self._try(pack, source, partial(source.open, again.set)):
            # Nobody waits for it any longer: it is known to be away.
            self._pending.pop(f"{pack.id}.{source.name}", None)
            read.set()
            pause = self._pauses[min(tries, len(self._pauses) - 1)]
            tries += 1
            await self._toolbox.clock.sleep(pause)

    async def _read(self, pack: ActivePack, source: Source) -> None:
        toolbox = self._toolbox
        try:
            async with asyncio.timeout(self._timeout):
                found = tuple(await source.tools())
            good = [each for each in found if isinstance(each, Implementation)]
            judge = toolbox.gate.live if toolbox.gate is not None else None
            # What is no implementation is withheld by name, and hurts no other tool.
            tools = [getattr(each, "tool", each) for each in found]
            read = partial(toolbox.catalog.read_live, pack.id, source.name, tools, judge=judge)
            live = await asyncio.to_thread(read) if len(tools) > _MANY else read()
            new = toolbox.catalog.with_read(live)
        except Exception as error:  # noqa: BLE001 - a source that fails keeps its tools
            self._stale(pack, source, f"{type(error).__name__}: {error}")
            return
        pack.set_live(source.name, good)
        toolbox.replace_catalog(new)

    async def _try(
        self, pack: ActivePack, source: Source, work: Callable[[], Awaitable[None]]
    ) -> bool:
        try:
            async with asyncio.timeout(self._timeout):
                await work()
        except Exception as error:  # noqa: BLE001 - as above
            self._stale(pack, source, f"{type(error).__name__}: {error}")
            return False
        return True

    def _stale(self, pack: ActivePack, source: Source, problem: str) -> None:
        toolbox = self._toolbox
        toolbox.replace_catalog(toolbox.catalog.with_unreadable(pack.id, source.name, problem))
        self._tell(pack.id, source.name, problem)

    def _tell(self, pack_id: str, source: str, problem: str) -> None:
        toolbox = self._toolbox
        event = Event(
            name="source.stale",
            time=toolbox.clock.time(),
            data={"pack": pack_id, "source": source, "problem": problem[:500]},
        )
        toolbox.tell(event, key=f"source {pack_id}.{source}")
