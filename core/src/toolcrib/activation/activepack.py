"""A pack whose code is loaded: its tools, and its hooks behind typed methods.

Every method answers, whatever the pack does: silence, an exception and a late answer
come out as the stricter of the possible answers. Synchronous functions of a pack run in
a thread, with a deadline; of asynchronous ones only the awaiting has a deadline.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import time

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcrib.codes import refuse
from toolcrib.errors import Failed, ToolFailure
from toolcrib.implementation import Implementation
from toolcrib.loading import say
from toolcrib.outcome import Refusal
from toolcrib.signature import Signature

from .offloop import Late, Threads, contained


if TYPE_CHECKING:
    from pluggy import HookCaller, PluginManager

    from toolcrib.call import AdmittedCall
    from toolcrib.context import PackHost
    from toolcrib.discovery.findings import Finding
    from toolcrib.outcome import Outcome
    from toolcrib.tool import Tool


__all__ = ["ActivePack"]

_LOG = logging.getLogger("toolcrib.pack")
# A signature or check that answered this often in a row within _QUICK seconds runs on the event
# loop from then on; one slow answer there sends it back to a thread, and it must then
# answer quickly that much oftener. See the decision record on where hooks run.
_TRIALS = 8
_QUICK = 0.005
_SLOW = 0.02
_PENALTY = 256
_EVENTS = 256


class ActivePack:
    """One activated pack.

    Attributes:
        id: The pack's id.
        finding: Where it comes from.
        host: What it was given.
        problems: The last things that went wrong in its hooks, in words.
        missed: Events that its observer was too slow for.
    """

    def __init__(
        self,
        finding: Finding,
        manager: PluginManager,
        implementations: Iterable[Implementation],
        *,
        threads: Threads,
        deadline: float,
        isolate: bool = False,
        host: Any = None,
        aliases: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.id = finding.pack_id
        self.finding = finding
        self.host = host
        self.problems: deque[str] = deque(maxlen=64)
        self.missed = 0
        self._aliases = aliases
        self._own = _by_id(implementations, aliases)
        self._live: dict[str, dict[str, Implementation]] = {}
        self._all: Mapping[str, Implementation] = MappingProxyType(self._own)
        self._hooks = {c.name: c for c in vars(manager.hook).values() if c.get_hookimpls()}
        self._asynchronous = {name for name, c in self._hooks.items() if _is_async(c)}
        self._threads = threads
        self._deadline = deadline
        self._isolate = isolate
        # What is called → quick answers in a row; below zero after a slow one on the loop.
        self._pace: dict[str, int] = {}
        self._said: set[str] = set()
        self._events: deque[Mapping[str, Any]] = deque()
        self._observing: asyncio.Task[None] | None = None

    @property
    def implementations(self) -> Mapping[str, Implementation]:
        """Tool id, as offered or as declared → implementation; live tools included."""
        return self._all

    def has(self, hook: str) -> bool:
        """Tell whether the pack answers a hook."""
        return hook in self._hooks

    def set_live(self, source: str, implementations: Iterable[Implementation]) -> None:
        """Replace the tools of a live source, all at once."""
        self._live[source] = _by_id(implementations, self._aliases)
        merged = dict(self._own)
        for tools in self._live.values():
            merged.update(tools)
        self._all = MappingProxyType(merged)

    @property
    def projector(self) -> HookCaller | None:
        """The pack's ``toolcrib_project``, or None."""
        return self._hooks.get("toolcrib_project")

    async def signature(
        self, tool: Tool, arguments: Mapping[str, Any], host: PackHost | None = None
    ) -> Signature | None:
        """Return what a call touches; None if the pack does not say: then it is asked.

        Raises:
            ToolFailure: the pack can tell already that the call cannot do its work.
        """
        caller = self._hooks.get("toolcrib_signature")
        if caller is None:
            return None
        known = self._all.get(tool.id)
        tool = tool if known is None else known.tool
        function = partial(caller, tool=tool, arguments=arguments, host=host or self.host)
        try:
            if "toolcrib_signature" in self._asynchronous:
                value = await self._run(function, None)
            else:
                value = await self._paced(tool.id, function)
        except ToolFailure:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the pack raised
            self._problem("toolcrib_signature", f"for {tool.id}: {say(error)}")
            return None
        if value is None or isinstance(value, Signature):
            return value
        self._problem("toolcrib_signature", f"for {tool.id}: gave a {type(value).__name__}")
        return None

    async def retry(self, tool: Tool, failure: BaseException, attempt: int) -> bool | float:
        """Return whether to try again: true, false, or the seconds to wait more."""
        if "toolcrib_retry" not in self._hooks:
            return True
        known = self._all.get(tool.id)
        tool = tool if known is None else known.tool
        try:
            value = await self._call(
                "toolcrib_retry", tool=tool, failure=failure, attempt=attempt
            )
        except Exception as error:  # noqa: BLE001 - as above
            self._problem("toolcrib_retry", f"for {tool.id}: {say(error)}")
            return False
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
            return float(value)
        return False

    async def guard(self, call: AdmittedCall) -> Refusal | Mapping[str, Any] | None:
        """Return what a guard says; whatever goes wrong is a refusal."""
        if "toolcrib_guard" not in self._hooks:
            return self._broken(call, "it has no toolcrib_guard")
        try:
            value = await self._call("toolcrib_guard", call=call)
        except Exception as error:  # noqa: BLE001 - as above
            self._problem("toolcrib_guard", say(error))
            return self._broken(call, say(error))
        if value is None or isinstance(value, Refusal | Mapping):
            return value
        return self._broken(call, f"it answered a {type(value).__name__}")

    async def review(self, call: AdmittedCall, outcome: Outcome) -> Any:
        """Return what a reviewer says; None leaves the outcome as it is."""
        return await self._quiet("toolcrib_review", None, call=call, outcome=outcome)

    async def project(self, tool: Tool, dialect: str) -> Mapping[str, Any] | None:
        """Return a projector's declaration of a tool, or None."""
        value = await self._quiet("toolcrib_project", None, tool=tool, dialect=dialect)
        return value if isinstance(value, Mapping) else None

    async def sources(self) -> tuple[Any, ...]:
        """Return the pack's live sources of tools."""
        found = await self._quiet("toolcrib_sources", (), host=self.host)
        if not isinstance(found, Iterable):
            self._problem("toolcrib_sources", f"gave a {type(found).__name__}")
            return ()
        return tuple(found)

    def observe(self, event: Mapping[str, Any]) -> None:
        """Let the pack hear of an event, soon; never waits, and never raises."""
        if "toolcrib_observe" not in self._hooks:
            return
        if len(self._events) >= _EVENTS:
            self._events.popleft()
            self.missed += 1
        self._events.append(event)
        if self._observing is None or self._observing.done():
            self._observing = asyncio.get_running_loop().create_task(self._drain())

    async def companion(
        self,
        implementation: Implementation,
        name: str,
        arguments: Mapping[str, Any],
        *leading: Any,
        host: PackHost | None = None,
    ) -> Any:
        """Call a companion function of a tool, off the event loop if it is synchronous.

        Args:
            implementation: The tool.
            name: The function's name, such as ``preview``.
            arguments: The call's arguments.
            leading: What the function takes before them.
            host: What functions that ask for it are given; the pack's own by default.

        Raises:
            ToolFailure: what the function raised, or that it failed or was late.
        """
        function = getattr(implementation.companions, name)
        if function is None:
            return None
        if name in implementation.companions.hosted:
            leading = (host or self.host, *leading)
        # A preview may take what the tool says that a call takes: it delays one question.
        own = implementation.tool.timeout if name == "preview" else None
        run = partial(function, *leading, **arguments)
        try:
            return await self._run(run, function, patience=own or 0)
        except ToolFailure:
            raise
        except Exception as error:
            text = f"{name} of {implementation.tool.id}: {say(error)}"
            self._problem(name, text)
            raise Failed(text) from error

    async def verify(self, tool_id: str, name: str, function: Callable[[], Any]) -> None:
        """Call a check of a tool: in a thread until it has shown to be quick, and then here.

        Args:
            tool_id: The tool.
            name: What the check is called.
            function: Calls it.

        Raises:
            TimeoutError: it was late.
            Exception: what it raised; a check that would have to be awaited is wrong.
        """
        try:
            await self._paced(f"{tool_id} {name}", partial(_unpromised, function))
        except ToolFailure:
            raise
        except Exception as error:
            self._problem(name, f"of {tool_id}: {say(error)}")
            raise

    async def close(self) -> None:
        """Let the last events be heard, for as long as a hook has, and the threads end."""
        if self._observing is not None:
            await asyncio.wait([self._observing], timeout=self._deadline)
            self._observing.cancel()
            await asyncio.gather(self._observing, return_exceptions=True)
        self._threads.close()

    async def _drain(self) -> None:
        while self._events:
            await self._quiet("toolcrib_observe", None, event=self._events.popleft())

    async def _quiet(self, hook: str, default: Any, **arguments: Any) -> Any:
        if hook not in self._hooks:
            return default
        try:
            return await self._call(hook, **arguments)
        except Exception as error:  # noqa: BLE001 - as above
            self._problem(hook, say(error))
            return default

    async def _call(self, hook: str, **arguments: Any) -> Any:
        caller = self._hooks[hook]
        value = await self._run(
            partial(caller, **arguments), None if hook in self._asynchronous else caller
        )
        if caller.spec is not None and caller.spec.opts["firstresult"]:
            return value
        # Not a first-result hook: pluggy gives a list, with the pack's one answer in it.
        value = value[0] if value else None
        return await self._awaited(value) if inspect.isawaitable(value) else value

    async def _run(
        self, function: Callable[[], Any], synchronous: Any, *, patience: float = 0
    ) -> Any:
        """Call a function where it may take its time; await what it gives."""
        if synchronous is None or inspect.iscoroutinefunction(synchronous):
            value = function()
        else:
            value = await self._threads.run(function, deadline=self._deadline)
        return await self._awaited(value, patience) if inspect.isawaitable(value) else value

    async def _awaited(self, value: Any, patience: float = 0) -> Any:
        deadline = max(self._deadline, patience)
        try:
            with contained:
                async with asyncio.timeout(deadline) as scope:
                    return await value
        except TimeoutError:
            if not scope.expired():
                raise
            text = f"no answer within {deadline:g} s"
            raise Late(text) from None

    async def _paced(self, key: str, function: Callable[[], Any]) -> Any:
        """Call a function: in a thread until it has shown to be quick, and then here."""
        pace = self._pace.get(key, 0)
        if self._isolate or pace < _TRIALS:
            value, seconds = await self._run(partial(_timed, function), function)
            self._pace[key] = pace + 1 if seconds < _QUICK else min(pace, 0)
        else:
            started = time.perf_counter()
            with contained:
                value = function()
            if time.perf_counter() - started > _SLOW:
                self._pace[key] = -_PENALTY
        return await self._awaited(value) if inspect.isawaitable(value) else value

    def _broken(self, call: AdmittedCall, why: str) -> Refusal:
        text = f"guard {self.id!r} did not answer properly ({why}), so nothing ran"
        return refuse("guard.broken", call.tool.id, text, guard=self.id)

    def _problem(self, hook: str, text: str) -> None:
        self.problems.append(f"{hook} {text}")
        # Once for each hook: a hook that always fails must not fill the log.
        level = logging.DEBUG if hook in self._said else logging.WARNING
        self._said.add(hook)
        _LOG.log(level, "%s: %s %s", self.finding, hook, text)


def _by_id(
    implementations: Iterable[Implementation], aliases: Mapping[str, str]
) -> dict[str, Implementation]:
    own = {implementation.tool.id: implementation for implementation in implementations}
    return own | {new: own[old] for new, old in aliases.items() if old in own}


def _is_async(caller: HookCaller) -> bool:
    return all(inspect.iscoroutinefunction(i.function) for i in caller.get_hookimpls())


def _unpromised(function: Callable[[], Any]) -> None:
    """Call a check; one that gives something to await has checked nothing."""
    answer = function()
    if inspect.isawaitable(answer):
        getattr(answer, "close", bool)()
        message = "a check is synchronous"
        raise TypeError(message)


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    value = function()
    return value, time.perf_counter() - started
