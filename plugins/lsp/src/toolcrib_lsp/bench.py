"""The servers of one workspace, shared by all sessions of a toolbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

from toolcrib import PackHost, ToolFailure, Unavailable

from .client import Client
from .corpus import Corpus
from .finding import Program, find, root_for
from .languages import language_of
from .places import Place
from .server import Server
from .servers import ServerSpec, known_for
from .settings import read
from .texts import Texts
from .watching import Change, Watch


__all__ = ["Bench"]

_MOST_SHOWN = 256
_MOST_USERS = 40
# Seconds after which every open document is looked at, whatever the kernel says.
_LOOK = 0.5


class Bench:
    """Starts, shares and stops servers, and keeps them in step with the disk.

    Args:
        host: What the pack was given.

    Attributes:
        root: The workspace, canonical.
        settings: What the operator configured.
        texts: What is on the disk.
        allowed: Servers that a person let run the workspace's code.
        language: Returns the language of a file.
    """

    def __init__(self, host: PackHost) -> None:
        self.root = os.path.realpath(host.workspace.root)
        self.settings = read(host.settings)
        self.texts = Texts()
        self.allowed: set[str] = set()
        own = self.settings.extensions
        self.language = lru_cache(maxsize=2048)(partial(language_of, own=own))
        self._trusted = host.workspace.trusted
        self._log = host.logger
        self._servers: dict[tuple[str, str], Server] = {}
        self._programs: dict[str, tuple[float, Program | None]] = {}
        self._specs: dict[str, tuple[ServerSpec, ...]] = {}
        self._watch: Watch | None = None
        self._looked = float("-inf")
        self._corpus = Corpus(self.language)
        self._watching: asyncio.Task[Watch] | None = None
        self._reaper: asyncio.Task[None] | None = None
        # Call → digest of the plan that a person was shown, or None if it could not be.
        self.shown: OrderedDict[str, str | None] = OrderedDict()

    # -- which servers -------------------------------------------------------------------

    def program(self, name: str) -> Program | None:
        """Return a server's program, if it is installed; looked for every few seconds."""
        known = self._programs.get(name)
        if known is None or (known[1] is None and known[0] < time.monotonic() - 5.0):
            made = find(self.settings.specs[name], self.root)
            known = self._programs[name] = (time.monotonic(), made)
        return known[1]

    def specs(self, language: str) -> tuple[ServerSpec, ...]:
        """Return the servers that could serve a language, the preferred ones first."""
        known = self._specs.get(language)
        if known is None:
            known = self._specs[language] = self._specs_for(language)
        return known

    def _specs_for(self, language: str) -> tuple[ServerSpec, ...]:
        chosen = self.settings.chosen.get(language)
        if chosen is not None:
            return tuple(self.settings.specs[name] for name in chosen)
        known = [spec.name for spec in known_for(language)]
        own = [
            name
            for name, spec in self.settings.specs.items()
            if language in spec.languages and name not in known
        ]
        return tuple(self.settings.specs[name] for name in (*own, *known))

    def programs(self, language: str) -> list[Program]:
        """Return the servers that serve a language together: the first of each slot.

        Raises:
            Unavailable: none is installed; says which there are and how to get them.
        """
        specs = self.specs(language)
        whole = language in self.settings.chosen
        found: list[Program] = []
        taken: set[str] = set()
        for spec in specs:
            if not whole and spec.slot in taken:
                continue
            program = self.program(spec.name)
            if program is not None:
                found.append(program)
                taken.add(spec.slot)
        if not found:
            raise Unavailable(_nobody(language, specs), code="lsp.no_server")
        return found

    def needs_trust(self, program: Program) -> bool:
        """Tell whether a person must agree before a server is started."""
        return (
            bool(program.trust) and not self._trusted and program.spec.name not in self.allowed
        )

    def servers(self, place: Place, programs: Sequence[Program]) -> list[Server]:
        """Return the servers that may be asked about a file, in order.

        Raises:
            Unavailable: none may run.
        """
        allowed = [program for program in programs if not self.needs_trust(program)]
        if not allowed:
            raise Unavailable(_untrusted(programs), code="lsp.untrusted")
        return [self._server(program, place.path) for program in allowed]

    def samples(self, most: int) -> list[str]:
        """Return one file for each of the languages that are served and most common."""
        served = [
            path
            for language, path in self._corpus.languages()
            if any(self.program(spec.name) is not None for spec in self.specs(language))
        ]
        return served[:most]

    def open_users(self, client: Client, name: str) -> list[str]:
        """Open what mentions a name in a server that may not have found it yet.

        Returns the files that were opened now.
        """
        word = name.rpartition(".")[2]
        if not word:
            return []
        found = self._corpus.mentioning(
            word, client.spec.languages, since=client.started, most=_MOST_USERS
        )
        new = [path for path in found if client.documents.get(path) is None]
        client.documents.make_room(len(found) + 1)
        for path in new:
            with contextlib.suppress(ToolFailure):
                client.documents.open(path, now=time.monotonic())
        return new

    def all_servers(self) -> list[Server]:
        """Return every server that was used so far, by name and folder."""
        return [self._servers[key] for key in sorted(self._servers)]

    def _server(self, program: Program, path: str) -> Server:
        folder = root_for(program.spec, path, self.root)
        key = (program.spec.name, folder)
        server = self._servers.get(key)
        # Looked at first: the same object, almost always, needs no comparison of its parts.
        same = server is not None and (server.program is program or server.program == program)
        if server is None or not same:
            server = self._servers[key] = Server(
                program, folder, texts=self.texts, settings=self.settings, log=self._log
            )
        if self._reaper is None:
            self._reaper = asyncio.create_task(self._reap(), name="idle language servers")
        return server

    # -- in step with the disk -----------------------------------------------------------

    async def watch(self) -> None:
        """Begin to know the files of the workspace, once."""
        if self._watch is not None:
            return
        if self._watching is None:
            watch = Watch(self.root)

            def started() -> Watch:
                watch.start()
                return watch

            self._watching = asyncio.create_task(asyncio.to_thread(started))
        watch = await asyncio.shield(self._watching)
        if self._watch is None:
            self._watch = watch
            self._corpus.start(watch.files())

    def refresh(self, path: str = "") -> None:
        """Tell every running server what has changed on the disk; waits for nothing.

        Args:
            path: The file that is asked about; it is looked at in any case.
        """
        watch, now = self._watch, time.monotonic()
        changes: Sequence[Change] = () if watch is None else watch.poll()
        if changes:
            self._corpus.update(changes, now)
        # What maps a file into memory, or writes by another link, gives no notice.
        recent = watch is not None and now - self._looked < _LOOK
        if not recent:
            self._looked = now
        for server in self._servers.values():
            client = server.running
            if client is None:
                continue
            if recent and watch is not None:
                paths = {path, *client.documents.unsure(watch.covers, watch.version)}
                paths.update(change.path for change in changes)
                client.documents.in_step(paths)
            else:
                client.documents.in_step()
            if not changes:
                continue
            client.documents.files_changed(changes)
            for change in changes:
                if change.kind == "deleted":
                    client.published.forget(change.path)

    @property
    def partly_watched(self) -> bool:
        """Whether the workspace has more files than are watched."""
        return self._watch is not None and self._watch.full

    # -- previews ------------------------------------------------------------------------

    def remember_shown(self, key: str, digest: str | None) -> None:
        """Remember what a preview showed."""
        self.shown.pop(key, None)
        self.shown[key] = digest
        while len(self.shown) > _MOST_SHOWN:
            self.shown.popitem(last=False)

    # -- the end -------------------------------------------------------------------------

    async def _reap(self) -> None:
        idle = self.settings.idle
        while True:
            await asyncio.sleep(min(idle / 4, 30.0))
            for server in self.all_servers():
                unused = time.monotonic() - server.touched
                if unused >= idle and not server.users and server.running is not None:
                    self._log.info("%s was idle for %.0f s and is stopped", server.name, unused)
                    await server.stop()

    async def close(self) -> None:
        """Stop every server, all at once."""
        tasks = [t for t in (self._reaper, self._watching) if t is not None]
        for task in tasks:
            task.cancel()
        stops = (server.stop(for_good=True) for server in self._servers.values())
        await asyncio.gather(*stops, return_exceptions=True)
        if tasks:
            await asyncio.wait(tasks)
        if self._watch is not None:
            with contextlib.suppress(OSError):
                self._watch.close()


def _nobody(language: str, specs: Iterable[ServerSpec]) -> str:
    ways = [f"{spec.name} ({spec.install})" if spec.install else spec.name for spec in specs]
    if not ways:
        return (
            f"No language server for {language} is known. Ask a person to configure one in the "
            "table [pack.lsp.servers.NAME] of the policy, with command and languages."
        )
    return (
        f"No language server for {language} is installed. Any one of these serves it: "
        f"{', '.join(ways)}. Ask a person to install one."
    )


def _untrusted(programs: Iterable[Program]) -> str:
    reasons = "; ".join(f"{each.spec.name}: {each.trust}" for each in programs)
    return (
        "The workspace is not trusted, and its language server needs that: "
        f"{reasons}. Nothing was started. Ask a person to trust the workspace, or to choose "
        "another server in [pack.lsp.languages] of the policy."
    )
