"""Programs that outlive a call: the job kind ``process``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import attrs

from .engine import Completed, Engine, Spec
from .orphans import find_orphans, stop_orphans
from .process import in_thread
from .warden import PROCESS, RESULT
from .wardenlink import Running, Warden, WardenLostError, completed_of, reach


__all__ = ["ProcessKind"]

_T = TypeVar("_T")
_LOOK = 0.05
_LOOKS = 20
_LIMIT = 1 << 20


class JobControl(Protocol):
    """What the job store gives to a running job; a durable one has a ``folder`` too."""

    def write(self, data: bytes) -> None:
        """Add output."""


@attrs.define(kw_only=True)
class ProcessKind:
    """The job kind ``process``: register it with the app's job store.

    A job's arguments are ``argv``, and perhaps ``cwd``, ``env``, ``timeout`` and
    ``keep_open``; or ``running``, the name of a program that its warden runs already. Its
    output is standard output and error in order; stopping it stops everything that it
    started. What a program leaves behind is stopped when it ends, and named.

    In a durable store a job goes on when the host has died, and is taken up again.

    Attributes:
        timeout: Seconds for jobs that ask for no limit or a longer one; None: no limit.
        grace: Seconds between asking to end and killing.
        warden: Who runs the programs; shared by all jobs of a host.
    """

    name: str = "process"
    timeout: float | None = None
    grace: float = 1.0
    warden: Warden | None = None
    _running: dict[str, Running] = attrs.field(factory=dict, init=False)
    _engines: dict[str, Engine] = attrs.field(factory=dict, init=False)
    _reached: dict[str, Warden] = attrs.field(factory=dict, init=False)
    _reaching: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    async def run(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a program to its end.

        Raises:
            OSError: the program cannot be started.
            TypeError: the arguments are not those of a process.
        """
        unknown = set(arguments) - {
            "argv",
            "cwd",
            "env",
            "timeout",
            "keep_open",
            "running",
            "input",
        }
        if unknown:
            text = (
                f"a process takes argv, cwd, env and timeout, not {', '.join(sorted(unknown))}"
            )
            raise TypeError(text)
        folder = getattr(control, "folder", None)
        given = arguments.get("running")
        if given is None and folder is None:
            return await self._here(control, arguments)
        if self.warden is None:
            self.warden = Warden()
        limit = getattr(control, "limit", _LIMIT)
        if given is not None:
            running = self.warden.running.get(given)
            if running is None:
                text = "the program has ended already"
                raise OSError(text)
            running.on_output = control.write
            await _begun(control, running.keep(folder, limit))
        else:
            start = self.warden.start(
                self._spec(arguments), folder=folder, limit=limit, keep=True
            )
            running = await _begun(control, start)
        return await self._follow(control, running)

    def _spec(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        limits = [t for t in (self.timeout, arguments.get("timeout")) if t is not None]
        return {
            "argv": list(arguments.get("argv", ())),
            "cwd": arguments.get("cwd"),
            "env": arguments.get("env"),
            "timeout": min(limits, default=None),
            "grace": self.grace,
            "merge": True,
            "keep_open": bool(arguments.get("keep_open")),
            "input": arguments.get("input"),
            # The job store keeps the output; here it would only be kept twice.
            "output_limit": 0,
        }

    async def _here(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a program for a store that does not outlive this process either."""
        spec = self._spec(arguments)
        given = spec.pop("input")
        data = None if given is None else str(given).encode()
        engine = Engine(Spec(**spec, input=data, on_output=_forwarder(control)))
        job_id = getattr(control, "id", "")
        self._engines[job_id] = engine
        try:
            return _summary_of(await in_thread(engine))
        finally:
            self._engines.pop(job_id, None)

    async def adopt(self, control: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Take up a job that another host started: read how it ended, or listen on.

        Raises:
            LostError: nobody can tell how it ended; what was left of it is stopped.
        """
        from toolcrib.jobs import LostError  # noqa: PLC0415 - durable stores only

        folder: Path = control.folder
        ended = _read(folder / RESULT)
        if ended is None:
            running = await self._found(folder, control)
            if running is not None:
                return await self._follow(control, running)
            # It may have ended while its warden was being looked for.
            ended = _read(folder / RESULT)
        if ended is not None:
            return _summary(ended)
        left = find_orphans(folder)
        resisted = await asyncio.to_thread(stop_orphans, folder, grace=self.grace)
        text = "host and warden died; how the program ended is not known."
        if left:
            text += f" {len(left)} process(es) of it still ran and were stopped."
        if resisted:
            text += f" Could not be stopped: {', '.join(str(m.pid) for m in resisted)}."
        raise LostError(text)

    async def _found(self, folder: Path, control: Any) -> Running | None:
        """Find the program under its warden; who is stopped meanwhile still stops it."""
        reaching = asyncio.ensure_future(self._reach(folder))
        try:
            return await asyncio.shield(reaching)
        except asyncio.CancelledError:
            if getattr(control, "leaving", False):
                reaching.cancel()
            else:
                await asyncio.shield(self._end_of(reaching, folder))
            raise

    async def _end_of(self, reaching: asyncio.Future[Running | None], folder: Path) -> None:
        running = await reaching
        if running is not None:
            await running.end()
        else:
            await asyncio.to_thread(stop_orphans, folder, grace=self.grace)

    async def _reach(self, folder: Path) -> Running | None:
        for _ in range(_LOOKS):
            known = _read(folder / PROCESS)
            if not isinstance(known, dict) or "socket" not in known:
                return None
            link = await self._link_to(str(known["socket"]))
            running = None if link is None else await self._attached(link, known)
            if running is not None or link is None or "pid" in known:
                return running
            # Its host died with the order on its way: the warden is about to start it.
            await asyncio.sleep(_LOOK)
        return None

    async def _link_to(self, path: str) -> Warden | None:
        # One at a time: jobs that are taken up together share their warden's link.
        async with self._reaching:
            link = self._reached.get(path) or await reach(Path(path))
            if link is not None:
                self._reached[path] = link
            return link

    async def _attached(self, link: Warden, known: Mapping[str, Any]) -> Running | None:
        try:
            return await link.attach(str(known.get("run")))
        except (WardenLostError, OSError):
            # It died in this very moment.
            self._reached.pop(str(known["socket"]), None)
            await link.close()
            return None

    async def _follow(self, control: Any, running: Running) -> dict[str, Any]:
        job_id = getattr(control, "id", running.id)
        self._running[job_id] = running
        try:
            ended = await asyncio.shield(running.done)
        except asyncio.CancelledError:
            if not getattr(control, "leaving", False):
                await asyncio.shield(running.end())
            raise
        except WardenLostError:
            folder = getattr(control, "folder", None)
            if folder is None:
                text = "the warden that ran the program has died"
                raise OSError(text) from None
            return await self.adopt(control, {})
        finally:
            self._running.pop(job_id, None)
        return _summary(ended)

    async def feed(self, job_id: str, data: bytes, *, close: bool = False) -> bool:
        """Give more for a job's standard input; False if that is closed."""
        engine = self._engines.get(job_id)
        if engine is not None:
            return engine.feed(data, close=close)
        running = self._running.get(job_id)
        return running is not None and await running.feed(data, close=close)

    async def let_go(self) -> None:
        """Close the connections; what was kept goes on."""
        for link in (self.warden, *self._reached.values()):
            if link is not None:
                await link.close()
        self._reached.clear()


async def _begun(control: Any, work: Coroutine[Any, Any, _T]) -> _T:
    """Wait until a program is begun and kept, also where the host closes meanwhile.

    Its caller was told that it runs; the next host finds what this one has begun.
    """
    beginning = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        if not getattr(control, "leaving", False):
            beginning.cancel()
        await asyncio.wait({beginning})
        raise


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _summary(ended: Mapping[str, Any]) -> dict[str, Any]:
    return _summary_of(completed_of(ended, ()))


def _summary_of(completed: Completed) -> dict[str, Any]:
    return {
        "ended": completed.ended,
        "returncode": completed.returncode,
        "signal": completed.signal,
        "duration": completed.duration,
        "detached": [m.pid for m in completed.detached],
        "survivors": [m.pid for m in completed.survivors],
        "wanted_input": completed.wanted_input,
    }


def _forwarder(control: JobControl) -> Callable[[Any, bytes], None]:
    """Return what hands output to the loop, one piece at a time, so none piles up."""
    loop = asyncio.get_running_loop()

    def forward(_stream: str, data: bytes) -> None:
        taken = threading.Event()

        def take() -> None:
            control.write(data)
            taken.set()

        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(take)
            while not taken.wait(1.0) and not loop.is_closed():
                pass

    return forward
