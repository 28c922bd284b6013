"""A server that is started when it is needed, and again when it died, within limits."""

from __future__ import annotations

import asyncio
import time

from collections import deque
from collections.abc import Awaitable, Callable
from logging import Logger
from typing import TypeVar

from toolcrib import Unavailable

from .client import Client
from .finding import Program
from .peer import Closed, NoAnswer
from .published import Published
from .settings import Settings
from .texts import Texts


__all__ = ["Server"]

T = TypeVar("T")
_WINDOW = 600.0
_PAUSE = 0.2
_LONGEST_PAUSE = 5.0


class Server:
    """One server of one folder.

    Attributes:
        program: What it is.
        folder: The folder that it opens.
        client: The running one, if any.
        touched: When it was used last, on the monotonic clock.
        users: How many calls use it now.
        published: What it has said of files, kept when it dies.
    """

    def __init__(
        self, program: Program, folder: str, *, texts: Texts, settings: Settings, log: Logger
    ) -> None:
        self.program = program
        self.folder = folder
        self.client: Client | None = None
        self.touched = time.monotonic()
        self.users = 0
        self.published = Published()
        self._texts = texts
        self._settings = settings
        self._log = log
        self._starting: asyncio.Task[Client] | None = None
        self._deaths: deque[tuple[float, str]] = deque(maxlen=32)
        self._closed = False
        # Their pipes are closed when there is time.
        self._dead: list[Client] = []

    @property
    def name(self) -> str:
        """Its name."""
        return self.program.spec.name

    @property
    def state(self) -> str:
        """One word for people."""
        if self._starting is not None:
            return "starting"
        if self.client is not None and self.client.ended is None:
            return "indexing" if self.client.progress.busy else "running"
        return "crashed" if self._given_up() else "stopped"

    @property
    def last_death(self) -> str:
        """Why it ended the last time, if it ended by itself."""
        return self._deaths[-1][1] if self._deaths else ""

    @property
    def running(self) -> Client | None:
        """The client, if it can be asked now."""
        client = self.client
        return client if client is not None and client.ended is None else None

    def _given_up(self) -> bool:
        recent = [at for at, _ in self._deaths if at > time.monotonic() - _WINDOW]
        return len(recent) > self._settings.restarts

    def _note_death(self, why: str) -> None:
        self._deaths.append((time.monotonic(), why))
        self._log.warning("%s", why)

    async def ready(self, wait: float) -> Client:
        """Return a client that can be asked; start one if there is none.

        Raises:
            Unavailable: it is still starting after the wait, died too often, or cannot
                be started.
            Closed: it died while it started.
        """
        self.touched = time.monotonic()
        client = self.running
        if client is not None:
            return client
        if self._starting is None:
            if self.client is not None:
                self._bury(self.client)
            self._check()
            self._starting = asyncio.create_task(self._start(), name=f"start {self.name}")
            self._starting.add_done_callback(self._began)
        starting = self._starting
        done, _ = await asyncio.wait({starting}, timeout=max(wait, 0.05))
        if not done:
            text = f"{self.name} is still starting. Ask again, or with a longer wait."
            raise Unavailable(text, code="lsp.starting")
        return starting.result()

    def _check(self) -> None:
        if self._closed:
            text = f"{self.name} was stopped: the toolbox closes."
            raise Unavailable(text, code="lsp.closed")
        if self._given_up():
            text = (
                f"{self.name} ended {len(self._deaths)} times in the last minutes and is not "
                f"started again for now. The last time: {self.last_death}. Ask a person to "
                "look at it."
            )
            raise Unavailable(text, code="lsp.crashed")

    def _bury(self, client: Client) -> None:
        """Note the death of the client before this one, once."""
        self.client = None
        self._dead.append(client)
        if client.ended is not None and client.ended != "was stopped":
            self._note_death(str(client.closed()))

    async def _tidy(self) -> None:
        while self._dead:
            await self._dead.pop().stop()

    async def _start(self) -> Client:
        await self._tidy()
        if self._deaths:
            since = time.monotonic() - self._deaths[-1][0]
            pause = min(_PAUSE * 2 ** (len(self._deaths) - 1), _LONGEST_PAUSE)
            await asyncio.sleep(max(pause - since, 0))
        client = Client(
            self.program,
            self.folder,
            texts=self._texts,
            settings=self._settings,
            log=self._log,
            published=self.published,
        )
        try:
            await client.start()
        except NoAnswer as error:
            why = f"{self.name} did not start: {error}"
            self._note_death(why)
            await client.stop()
            raise Closed(why) from error
        except Closed as error:
            self._note_death(str(error))
            await client.stop()
            raise
        except BaseException:
            client.let_go()
            await client.stop()
            raise
        self.client = client
        return client

    def _began(self, task: asyncio.Task[Client]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # Whoever waits is told; nobody may be waiting.

    async def run(self, work: Callable[[Client], Awaitable[T]], *, wait: float) -> T:
        """Do some asking; if the server dies meanwhile, start it again and ask once more.

        Raises:
            Unavailable: as :meth:`ready`, or it died twice.
        """
        self.users += 1
        try:
            try:
                return await work(await self.ready(wait))
            except Closed:
                pass
            try:
                return await work(await self.ready(wait))
            except Closed as error:
                said = str(error).rstrip(".")
                text = f"{said}. It was started again and ended again. Nothing was changed."
                raise Unavailable(text, code="lsp.died") from error
        finally:
            self.users -= 1
            self.touched = time.monotonic()

    async def stop(self, *, for_good: bool = False) -> None:
        """Stop it; it is started again when it is needed, unless it is for good."""
        self._closed = self._closed or for_good
        starting = self._starting
        if starting is not None:
            starting.cancel()
            await asyncio.wait({starting})
        client, self.client = self.client, None
        if client is not None:
            await client.stop()
        await self._tidy()
