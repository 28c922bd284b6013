"""One running server: started, asked, told, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time

from collections.abc import Mapping
from importlib import import_module
from logging import Logger
from typing import Any

from . import answering
from .documents import Documents
from .features import Features
from .finding import Program
from .peer import CODES, Closed, NoAnswer, Peer, RemoteError
from .places import path_of
from .positions import ENCODINGS
from .process import Process, environment
from .progress import Progress
from .published import Published
from .settings import Settings
from .texts import Texts


__all__ = ["Client", "Unsupported"]

_RETRIES = 4
_FIRST_PAUSE = 0.1
_LAST_LINES = 8
_WORDINGS = ("method not found", "unhandled method", "not supported", "unknown method")


class Unsupported(Exception):  # noqa: N818 - it says what the answer is
    """Raised when a server does not know a method, whatever it said before."""

    def __init__(self, method: str, server: str) -> None:
        self.method = method
        self.server = server
        super().__init__(f"{method} is not supported by {server}")


class Client:
    """A connection to one server process, from its start to its end.

    Args:
        program: What to start.
        folder: The folder that the server opens.
        texts: What is on the disk.
        settings: Limits, and languages of the operator's own.
        log: For what people should know.
        published: What earlier processes of the same server have said.

    Attributes:
        encoding: Of positions, as agreed.
        features: What the server can do.
        documents: What it has open.
        progress: What it is busy with.
        published: Diagnostics that it pushed or gave.
        looked: Whether it has looked for the files of the workspace, as far as it says.
        calm: Whether it was seen without work once.
        proposed: Where edits go that it wants applied while a command runs.
        ended: Why it can be used no more; None while it can.
    """

    def __init__(
        self,
        program: Program,
        folder: str,
        *,
        texts: Texts,
        settings: Settings,
        log: Logger,
        published: Published | None = None,
    ) -> None:
        self.spec = program.spec
        self.name = program.spec.name
        self.folder = folder
        self.log = log
        self.encoding = "utf-16"
        self.features = Features({})
        self.progress = Progress()
        self.published = Published() if published is None else published
        self.proposed: list[Any] | None = None
        self.commanding = asyncio.Lock()
        self.looked = not program.spec.looked
        self.calm = False
        self.ended: str | None = None
        self.info: Mapping[str, Any] = {}
        self.started = 0.0
        self.texts = texts
        self.documents = Documents(
            self,
            texts,
            own=dict(settings.extensions),
            languages=program.spec.languages,
            most=settings.most_open,
            changes=self.published.new_epoch(),
        )
        self._program = program
        self._settings = settings
        self._process = Process(self._fed, self._over)
        self._peer = Peer(
            self._process.write,
            on_request=lambda method, params: answering.answer(self, method, params),
            on_notice=self._noticed,
        )

    # -- its life --------------------------------------------------------------------

    async def start(self) -> None:
        """Start it and agree on what it can do.

        Raises:
            Closed: it cannot be started, or ended; with its last words.
            NoAnswer: it did not answer in time.
        """
        protocol = await asyncio.to_thread(import_module, ".protocol", __package__)
        env = environment(self.spec.env, os.environ)
        env["PATH"] = os.pathsep.join([env.get("PATH", os.defpath), *self._beside()])
        try:
            await self._process.start(self._program.argv, cwd=self.folder, env=env)
        except OSError as error:
            self._over(f"could not be started: {error}")
            raise self.closed() from error
        params = protocol.initialize_params(self.folder, self.spec.options)
        try:
            result = await self._peer.request(
                "initialize", params, timeout=self._settings.start
            )
        except RemoteError as error:
            self._over(f"refused to start: {error.message}")
            raise self.closed() from error
        self._agree(result if isinstance(result, Mapping) else {})
        self.notify("initialized", {})
        if self.spec.settings:
            settings = dict(self.spec.settings)
            self.notify("workspace/didChangeConfiguration", {"settings": settings})
        self.started = time.monotonic()

    def _beside(self) -> list[str]:
        """Return folders of programs that a server from a virtual environment needs."""
        return [os.path.dirname(self._program.argv[0])]

    def _agree(self, result: Mapping[str, Any]) -> None:
        capabilities = result.get("capabilities")
        capabilities = capabilities if isinstance(capabilities, Mapping) else {}
        self.features = Features(capabilities)
        said = capabilities.get("positionEncoding") or result.get("offsetEncoding")
        self.encoding = self.spec.counts or (said if said in ENCODINGS else "utf-16")
        self.published.encoding = self.encoding
        info = result.get("serverInfo")
        self.info = info if isinstance(info, Mapping) else {}

    async def stop(self) -> None:
        """Ask it to end, wait a little, end it with everything that it started."""
        if self.ended is None:
            with contextlib.suppress(RemoteError, NoAnswer, Closed):
                await self._peer.request("shutdown", timeout=1.5)
            self.notify("exit")
            # An exit code other than 0 after a good shutdown is no failure.
            self._over("was stopped")
            await self._process.stop(patience=0.7)
        else:
            await self._process.stop(patience=0)

    def let_go(self) -> None:
        """End it without waiting; for when there is no time, or no loop, left."""
        self._over("was stopped")
        self._process.let_go()

    @property
    def pid(self) -> int | None:
        """The number of the process that owns it."""
        return self._process.pid

    def _over(self, why: str) -> None:
        if self.ended is None:
            self.ended = why
            self._peer.close(self.closed())
            self.published.wake()

    def check(self) -> None:
        """Raise Closed if it can be used no more."""
        if self.ended is not None:
            raise self.closed()

    def closed(self) -> Closed:
        """Return what is raised for all that waits: why, and its last words."""
        lines = self._process.last_words.splitlines()[-_LAST_LINES:]
        words = "\n".join(line[:300] for line in lines)
        return Closed(
            f"{self.name} {self.ended}" + (f"; it said last:\n{words}" if words else "")
        )

    def _fed(self, data: bytes) -> None:
        self._peer.feed(data)

    # -- what is said ------------------------------------------------------------------

    def notify(self, method: str, params: Any = None) -> None:
        """Tell it something."""
        self._peer.notify(method, params)

    async def request(self, method: str, params: Any, *, until: float) -> Any:
        """Ask it something; ask again while it says that the content has changed.

        Args:
            method: What is asked.
            params: With which parameters.
            until: When to give up, on the loop's clock.

        Raises:
            Unsupported: it does not know the method.
            RemoteError, NoAnswer, Closed: as :meth:`Peer.request`.
        """
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        for attempt in range(_RETRIES + 1):
            left = min(until - loop.time(), self._settings.request)
            try:
                return await self._peer.request(method, params, timeout=left)
            except RemoteError as error:
                if _is_unknown(error):
                    self.features.deny(method)
                    raise Unsupported(method, self.name) from error
                again = _is_passing(error) and attempt < _RETRIES
                if not again or loop.time() + pause >= until:
                    raise
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def sync(self) -> tuple[int, bool, bool]:
        """Return how it wants to hear of changes."""
        return self.features.sync()

    def watches(self, path: str) -> bool | None:
        """Tell whether it wants to hear of a file."""
        return self.features.watches(path)

    def _noticed(self, method: str, params: Any) -> None:
        try:
            if method == "textDocument/publishDiagnostics":
                opened = self.documents.get(path_of(params["uri"]) or "")
                version = opened.version if opened is not None else None
                digest = opened.snapshot.digest if opened is not None else ""
                self.published.heard(params, version, self.documents.changes, digest)
            elif method == "$/progress":
                self.progress.take(params)
            elif method == "window/logMessage" and not self.looked:
                self.looked = re.search(self.spec.looked, params["message"]) is not None
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            self.log.debug("%s: %s that cannot be read: %r", self.name, method, error)


def _is_unknown(error: RemoteError) -> bool:
    if error.code == CODES.METHOD_NOT_FOUND:
        return True
    if error.code not in (CODES.INVALID_REQUEST, CODES.PARSE, CODES.INTERNAL):
        return False
    said = error.message.lower()
    return any(words in said for words in _WORDINGS)


def _is_passing(error: RemoteError) -> bool:
    if error.code == CODES.SERVER_CANCELLED:
        data = error.data
        return not isinstance(data, Mapping) or data.get("retriggerRequest") is not False
    return error.code == CODES.CONTENT_MODIFIED or "may be stale" in error.message
