"""Activate: run a pack's code for the first time, check it, and call its hooks.

A pack is imported when its first tool is called. Whatever is wrong then quarantines
that pack alone, for as long as the activator lives, with the reason.
"""

from __future__ import annotations

import asyncio
import inspect
import logging

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.codes import refuse
from toolcrib.discovery.findings import Finding
from toolcrib.implementation import Implementation
from toolcrib.loading import forget, load, say, unloadable
from toolcrib.manifest.document import interface_digest
from toolcrib.outcome import Refusal

from .activepack import ActivePack
from .hookrules import registered
from .offloop import Late, Threads, contained


if TYPE_CHECKING:
    from toolcrib.catalog.stage import Catalog
    from toolcrib.context import PackHost
    from toolcrib.tool import Tool


__all__ = ["Activator", "ActivePack"]

_LOG = logging.getLogger("toolcrib.activation")
Check = Callable[[Finding], Refusal | None]


class Activator:
    """Activates the packs of a catalog, each once.

    Args:
        packs: A catalog, or pack id → finding.
        host_factory: Makes what a pack is given, from its id.
        import_deadline: Seconds for a pack's import and its ``toolcrib_tools``.
        hook_deadline: Seconds for each of its other hooks.
        check: Looks at a pack before it is imported, such as the lock does.
        isolate: Run every synchronous hook off the event loop, always.
    """

    def __init__(
        self,
        packs: Catalog | Mapping[str, Finding],
        host_factory: Callable[[str], PackHost],
        *,
        import_deadline: float = 30.0,
        hook_deadline: float = 2.0,
        check: Check | None = None,
        isolate: bool = False,
    ) -> None:
        self._packs = packs if isinstance(packs, Mapping) else packs.packs
        self._aliases = {} if isinstance(packs, Mapping) else packs.aliases
        self._host_factory = host_factory
        self._import_deadline = import_deadline
        self._hook_deadline = hook_deadline
        self._check = check
        self._isolate = isolate
        self._active: dict[str, ActivePack] = {}
        self._quarantined: dict[str, Refusal] = {}
        self._tasks: dict[str, asyncio.Task[ActivePack | Refusal]] = {}
        self._threads = Threads()

    @property
    def active(self) -> Mapping[str, ActivePack]:
        """The packs whose code is loaded."""
        return dict(self._active)

    @property
    def quarantined(self) -> Mapping[str, Refusal]:
        """The packs that were refused at activation, and why."""
        return dict(self._quarantined)

    @property
    def listening(self) -> bool:
        """Whether an active pack answers ``toolcrib_observe``."""
        return any(pack.has("toolcrib_observe") for pack in self._active.values())

    async def activate(self, pack_id: str) -> ActivePack | Refusal:
        """Return a pack with its code loaded and checked, or why it is not.

        Concurrent first calls wait for one activation; who is cancelled while waiting
        does not stop it for the others.
        """
        known = self._active.get(pack_id) or self._quarantined.get(pack_id)
        if known is not None:
            return known
        task = self._tasks.get(pack_id)
        if task is None:
            task = asyncio.create_task(self._first(pack_id), name=f"activate {pack_id}")
            self._tasks[pack_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(pack_id, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Let go of the packs; threads that are left behind end when they can."""
        for task in list(self._tasks.values()):
            task.cancel()
        for pack in self._active.values():
            await pack.close()
        self._active.clear()
        self._threads.close()

    async def _first(self, pack_id: str) -> ActivePack | Refusal:
        finding = self._packs.get(pack_id)
        if finding is None:
            text = f"pack {pack_id!r} is not enabled, so none of its code runs"
            return refuse("pack.disabled", pack_id, text)
        result = await self._checked(finding)
        if isinstance(result, Refusal):
            self._quarantined[pack_id] = result
            _LOG.warning("%s: %s", result.code, result.text)
        else:
            self._active[pack_id] = result
        return result

    async def _checked(self, finding: Finding) -> ActivePack | Refusal:
        if self._check is not None:
            refusal = self._check(finding)
            if refusal is not None:
                return refusal
        load = _Load(finding, self._host_factory(finding.pack_id))
        try:
            accepted = await self._loaded(load)
        except (Late, TimeoutError):
            why = f"it did not answer within {self._import_deadline:g} seconds"
            accepted = _unloadable(finding, why)
        except asyncio.CancelledError:
            load.undo()
            raise
        except Exception as error:  # noqa: BLE001 - whatever the pack raised
            accepted = _unloadable(finding, f"its tools cannot be had: {say(error)}")
        if isinstance(accepted, Refusal):
            load.undo()
            return accepted
        return ActivePack(
            finding,
            load.manager,
            accepted,
            threads=Threads(),
            deadline=self._hook_deadline,
            isolate=self._isolate,
            host=load.host,
            aliases=self._aliases,
        )

    async def _loaded(self, load: _Load) -> tuple[Implementation, ...] | Refusal:
        deadline = self._import_deadline
        refusal = await self._threads.run(load, deadline=deadline, on_late=load.undo)
        if isinstance(refusal, Refusal):
            return refusal
        tools = load.answer
        if inspect.isawaitable(tools):
            with contained:
                async with asyncio.timeout(deadline):
                    tools = await tools
        return _accept(load, tools)


class _Load:
    """Import, registration and first answer of one pack; runs in a thread."""

    def __init__(self, finding: Finding, host: PackHost) -> None:
        self.finding = finding
        self._before: frozenset[str] = frozenset()
        self.host = host
        self.manager: Any = None
        self.answer: Any = None

    def __call__(self) -> Refusal | None:
        try:
            refusal = self._load()
        except KeyboardInterrupt:
            self.undo()
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit from a pack included
            refusal = _unloadable(self.finding, f"toolcrib_tools raised {say(error)}")
        if refusal is not None:
            self.undo()
        return refusal

    def _load(self) -> Refusal | None:
        finding = self.finding
        plugin = self._plugin()
        if isinstance(plugin, Refusal):
            return plugin
        self.manager, problems = registered(plugin, finding.pack_id)
        if problems:
            return _unruly(finding, problems)
        if not self.manager.get_hookcallers(plugin):
            text = f"{finding} provides no hook of toolcrib: {finding.entry_point} is a "
            text += f"{type(plugin).__name__} without any"
            return refuse("pack.inert", finding.pack_id, text)
        answer = self.manager.hook.toolcrib_tools(host=self.host)
        # One implementation, so one answer; none of them is an empty list.
        self.answer = answer[0] if answer else ()
        if not inspect.isawaitable(self.answer):
            self.answer = list(self.answer)  # A generator runs its code here.
        return None

    def _plugin(self) -> Any:
        import sys  # noqa: PLC0415 - one look at what is loaded already

        finding = self.finding
        if finding.entry_point is None:
            return finding.plugin
        self._before = frozenset(sys.modules)
        return load(
            finding.entry_point,
            folder=finding.provenance.location,
            subject=finding.pack_id,
            name=str(finding),
        )

    def undo(self) -> None:
        """Take the modules out again that this pack's import brought in."""
        if self.finding.entry_point is not None and self._before:
            forget(
                self.finding.entry_point.partition(":")[0].partition(".")[0], keep=self._before
            )


def _accept(load: _Load, answer: Any) -> tuple[Implementation, ...] | Refusal:
    """Compare what the code provides with what its manifest says."""
    finding = load.finding
    try:
        provided = tuple(answer)
    except TypeError:
        return _unruly(finding, [f"toolcrib_tools gave {type(answer).__name__}, not tools"])
    strangers = [i for i in provided if not isinstance(i, Implementation)]
    if strangers:
        kind = type(strangers[0]).__name__
        return _unruly(finding, [f"toolcrib_tools gave a {kind}, not an Implementation"])
    hooks = _hooks(load)
    if not provided and not hooks - {"toolcrib_tools"}:
        text = f"{finding} provides no tool and answers no other hook"
        return refuse("pack.inert", finding.pack_id, text)
    tools = [implementation.tool for implementation in provided]
    manifest = finding.manifest
    # A tool that the manifest's reader withheld is in the code and nowhere else.
    withheld = {refusal.subject for refusal in manifest.withheld}
    tools = [tool for tool in tools if tool.id not in withheld]
    if interface_digest(finding.pack_id, tools, hooks) == manifest.interface_digest:
        return provided
    differences = "; ".join(_differences(finding, tools, hooks))
    text = (
        f"the code of {finding} contradicts its manifest: {differences}. Its author runs "
        "toolcrib manifest write again; until then its tools are withheld"
    )
    return refuse("pack.drifted", finding.pack_id, text)


def _hooks(load: _Load) -> frozenset[str]:
    callers = vars(load.manager.hook).values()
    return frozenset(c.name for c in callers if c.has_spec() and c.get_hookimpls())


def _differences(finding: Finding, tools: list[Tool], hooks: frozenset[str]) -> Iterable[str]:
    declared = {tool.id: tool.interface() for tool in finding.manifest.tools}
    provided = {tool.id: tool.interface() for tool in tools}
    for id_ in sorted(declared.keys() - provided.keys()):
        yield f"{id_} is declared and not provided"
    for id_ in sorted(provided.keys() - declared.keys()):
        yield f"{id_} is provided and not declared"
    for id_ in sorted(declared.keys() & provided.keys()):
        for key, value in declared[id_].items():
            if provided[id_][key] != value:
                here, there = _words(value), _words(provided[id_][key])
                yield f"{key} of {id_}: declared {here}, provided {there}"
    for name in sorted(finding.manifest.hooks ^ hooks):
        yield f"the hook {name} is {'not ' * (name in hooks)}declared"
    if len(provided) != len(tools):
        yield "a tool is provided twice"


def _words(value: object) -> str:
    """Show a fact as the manifest spells it."""
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _unloadable(finding: Finding, why: str) -> Refusal:
    return unloadable(finding.pack_id, str(finding), why)


def _unruly(finding: Finding, problems: list[str]) -> Refusal:
    text = f"{finding} breaks the rules of hooks: {'; '.join(problems)}"
    return refuse("pack.unruly", finding.pack_id, text, problems=problems)
