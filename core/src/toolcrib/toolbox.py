"""The façade that threads one value through the seven stages; it alone knows them all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import places
from .errors import DeclarationError, StageError
from .policy.value import Policy
from .vocabulary import Mode


# The stages are imported when a toolbox is made or entered: whoever imports the name,
# such as a command's help, need not pay for them.
if TYPE_CHECKING:
    from .activation.activepack import ActivePack
    from .artifacts import ArtifactStore
    from .catalog.stage import Catalog, Entry
    from .context import Agents, Ask, Clock
    from .conversation.runnable import RunnablePack
    from .conversation.session import Session
    from .discovery.findings import Findings
    from .events import Event
    from .host import Host
    from .jobs import MemoryJobs
    from .jobs.durable import DurableJobs
    from .outcome import Refusal
    from .permission import RuleSet
    from .projection import ProjectionCache
    from .record import Ledger
    from .search import SearchIndex
    from .secrets import Scrubber, SecretStore
    from .stopping import Stopped
    from .sync import SyncToolbox
    from .tool import Tool


__all__ = ["Toolbox"]


class Toolbox:
    """The tools that a policy allows, ready for sessions.

    Use it as ``async with Toolbox(policy) as box``; ``Toolbox.sync(policy)`` gives the
    same names, blocking.

    Args:
        policy: What is enabled and what is allowed; nothing at all by default.
        findings: What is installed; found when the toolbox is entered by default.
        clock, ask, jobs, agents: Parts of the host; small real defaults without them.
        ledger: An open ledger to record in, instead of the policy's; whoever gives it
            closes it.

    Attributes:
        catalog: The tools that policy lets be offered; replaced when a source changes.
        ledger: Where calls are recorded.
        news: What changed, for readers with cursors of their own.
        hearing: The activated packs that observe, by id.
    """

    catalog: Catalog
    ledger: Ledger

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        findings: Findings | None = None,
        clock: Clock | None = None,
        ask: Ask | None = None,
        jobs: MemoryJobs | DurableJobs | None = None,
        agents: Agents | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        from .conversation.health import Health  # noqa: PLC0415 - see above
        from .events import EventLog  # noqa: PLC0415
        from .host import Folder, NobodyAsks, SystemClock  # noqa: PLC0415
        from .opening import jobs_of  # noqa: PLC0415
        from .validator import Validators  # noqa: PLC0415

        self.policy = policy if policy is not None else Policy()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.ask: Ask = ask if ask is not None else NobodyAsks()
        self.agents = agents
        self.news = EventLog()
        self.validators = Validators()
        self.workspace = Folder(self.policy.workspace, trusted=self.policy.trusted)
        self.state = self.policy.state or places.state_folder()
        self.jobs = jobs or jobs_of(self.policy, self.clock, self.state)
        self._findings = findings
        self._given_ledger = ledger
        self._sessions: set[Session] = set()
        self._opened: contextlib.AsyncExitStack | None = None
        self._index: tuple[int, SearchIndex] | None = None
        self._artifacts: ArtifactStore | None = None
        self.hearing: dict[str, ActivePack] = {}
        self._secrets: SecretStore | None = None
        self._rules_elsewhere: dict[Path, RuleSet] = {}
        self._hosts: dict[str, Host] = {}
        self._ready: dict[str, RunnablePack] = {}
        self.health = Health()

    @classmethod
    def sync(cls, policy: Policy | None = None, **parts: Any) -> SyncToolbox:
        """Return the same toolbox with blocking methods, for code without a loop."""
        from .sync import SyncToolbox  # noqa: PLC0415 - only blocking callers pay for it

        return SyncToolbox(lambda: cls(policy, **parts))

    @cached_property
    def projections(self) -> ProjectionCache:
        """What was projected before."""
        from .projection import ProjectionCache  # noqa: PLC0415 - not for calls by name

        return ProjectionCache()

    # -- opening and closing -------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._opened is not None:
            text = "the toolbox is open already"
            raise StageError(text)
        async with contextlib.AsyncExitStack() as stack:
            await self._open(stack)
            self._opened = stack.pop_all()
        return self

    async def _open(self, stack: contextlib.AsyncExitStack) -> None:
        """Open the stages from the last one up, so that they are closed in order."""
        from .catalog.stage import compose  # noqa: PLC0415 - see above
        from .discovery.stage import discover  # noqa: PLC0415
        from .execution import Runtime, Scheduler, Threads  # noqa: PLC0415
        from .opening import gate_of, may_resume, own_paths  # noqa: PLC0415
        from .permission import Protected, RuleSet  # noqa: PLC0415
        from .record import Ledger  # noqa: PLC0415

        policy = self.policy
        findings = self._findings
        if findings is None:
            findings = discover(local=policy.local, develop=policy.develop)
        capabilities = {"ask", "artifacts", "jobs", "secrets"}
        if self.agents is not None:
            capabilities.add("agents")
        self.catalog = compose(findings, policy, capabilities=capabilities)
        if self._given_ledger is not None:
            self.ledger = self._given_ledger
        else:
            self.ledger = Ledger.open(
                policy.ledger, durability=policy.durability, clock=self.clock.time
            )
            stack.callback(self.ledger.close)
        stack.callback(self._close_artifacts)
        self.ledger.recover(keep=partial(may_resume, self.catalog))
        self.runtime = Runtime(
            scheduler=Scheduler(policy.limits),
            threads=Threads(policy.limits.total),
            clock=self.clock,
        )
        stack.callback(self.runtime.close)
        self.rules = RuleSet(policy.rules, workspace=self.workspace.root)
        self.protected = Protected(own_paths(policy, self.workspace.root, self.state))
        self.gate = gate_of(policy)
        if self.gate is not None:
            stack.callback(self.gate.close)
        await self._open_packs(stack)

    async def _open_packs(self, stack: contextlib.AsyncExitStack) -> None:
        """Open what runs code of packs."""
        from .activation.stage import Activator  # noqa: PLC0415 - see above
        from .conversation.session import Session  # noqa: PLC0415
        from .crib import CorePack  # noqa: PLC0415
        from .lifetimes import Lifetimes  # noqa: PLC0415
        from .outcome import Refusal  # noqa: PLC0415
        from .sources import Sources  # noqa: PLC0415

        policy = self.policy
        self.activator = Activator(
            self.catalog, self._host, isolate=policy.isolate, check=self.gate
        )
        stack.push_async_callback(self.activator.close)
        self.crib = CorePack()
        self.lifetimes = Lifetimes("toolbox")
        stack.push_async_callback(self.lifetimes.close)
        self.own_session = Session(self, "", principal="toolcrib", mode=Mode.ASK)
        self.sources = Sources(self)
        stack.push_async_callback(self.sources.close)
        stack.push_async_callback(self.jobs.close)
        for name in dict.fromkeys((*policy.guards, *policy.reviewers, *policy.observers)):
            await self.activate(name)
        packs = [await self.activate(name) for name in policy.projectors]
        speaking = [pack for pack in packs if not isinstance(pack, Refusal)]
        self.projectors = [pack.projector for pack in speaking if pack.projector]
        await self.sources.open()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close sessions, jobs, sources, resources, packs and the ledger, in this order.

        Calls that run are cancelled, and their outcomes recorded, before that.
        """
        stack, self._opened = self._opened, None
        if stack is None:
            return
        from .undisturbed import finished  # noqa: PLC0415 - see above

        await finished(self._close(stack, asyncio.current_task()))

    async def _close(
        self, stack: contextlib.AsyncExitStack, but: asyncio.Task[Any] | None
    ) -> None:
        async with stack:
            closing = [session.shut(but) for session in self._sessions]
            # Side by side: one that closes slowly, or badly, keeps no other open.
            ends = await asyncio.gather(*closing, return_exceptions=True)
            self.health.store(self.state)
            for end in ends:
                if isinstance(end, BaseException):
                    raise end

    def _host(self, pack: str) -> Host:
        from .host import Host  # noqa: PLC0415 - see above
        from .logs import PackLogger  # noqa: PLC0415 - as above

        name = f"toolcrib.pack.{pack}"
        host = self._hosts[pack] = Host(
            pack=pack,
            workspace=self.workspace,
            clock=self.clock,
            agents=self.agents,
            logger=PackLogger(name, logging.getLogger(name), self._scrubber),
            settings=self.policy.settings.get(pack, {}),
            state_root=self.state,
            opener=self._resource,
        )
        return host

    async def _resource(self, host: Host, resource: Any) -> Any:
        """Open a resource for a function beside a tool, which belongs to no call."""
        if resource.scope != "toolbox":
            text = f"resource {resource.name!r} belongs to a session; only ctx.use() gives it"
            raise DeclarationError(text)
        from .host import RunContext  # noqa: PLC0415 - see above

        return await RunContext(self.own_session, host, tool_id=host.pack).use(resource)

    def pack_state(self, pack: str) -> Path:
        """Return the private folder of a pack, whether or not it exists."""
        return self.state / "packs" / pack

    def host_of(self, pack: str) -> Host:
        """Return what a pack is given, always the same value."""
        return self._hosts.get(pack) or self._host(pack)

    @property
    def secrets(self) -> SecretStore | None:
        """The secrets that policy binds, if it binds any."""
        if self._secrets is None and self.policy.secrets:
            from .secrets import SecretStore  # noqa: PLC0415 - few policies have any

            self._secrets = SecretStore(self.policy.secrets)
        return self._secrets

    def _scrubber(self) -> Scrubber | None:
        """Return what knows the secrets that were given out, if any was."""
        scrubber = None if self._secrets is None else self._secrets.scrubber
        return scrubber or None

    # -- sessions --------------------------------------------------------------------

    def session(
        self,
        conversation: str | None = None,
        *,
        principal: str = "user",
        mode: Mode | str | None = None,
        app: Any = None,
        ask: Ask | None = None,
    ) -> Session:
        """Make a session; open it with ``async with``.

        Args:
            conversation: Its durable name; without one it is new and has no past.
            principal: On whose behalf the calls run.
            mode: What happens to calls that nothing else decides; policy's by default.
            app: Any value of the app's own; tools see it as ``ctx.app``.
            ask: How tools reach the person.
        """
        if self._opened is None:
            text = "the toolbox is not open: async with Toolbox(policy) as box"
            raise StageError(text)
        from .conversation.session import Session  # noqa: PLC0415 - see above

        session = Session(
            self,
            "anonymous-" + os.urandom(8).hex() if conversation in {None, ""} else conversation,
            principal=principal,
            mode=Mode(mode) if mode is not None else self.policy.mode,
            app=app,
            ask=ask,
        )
        self._sessions.add(session)
        return session

    async def stop(self, conversation: str, *, by: str, reason: str = "") -> Stopped:
        """Stop what runs for a conversation and those it started, wherever it runs.

        Calls are cancelled, here and in every process that shares the ledger on disk;
        jobs are stopped. Open questions stay, and nothing keeps it from going on later.
        A toolbox that is not open can give the order as well.

        Args:
            conversation: Its name; one that nobody knows has nothing to stop.
            by: Who orders it.
            reason: Why, for those who read the outcomes.

        Raises:
            RecordError: the order cannot be written, and nothing was stopped.
        """
        from .stopping import stop  # noqa: PLC0415 - rarely needed

        return await stop(self, conversation, by=by, reason=reason)

    def forget(self, session: Session) -> None:
        """Let go of a closed session."""
        self._sessions.discard(session)

    # -- what sessions need of the stages ----------------------------------------------

    async def activate_for(self, tool: Tool) -> RunnablePack | Refusal:
        """Return the pack whose code a tool runs; an override changes which."""
        ready = self._ready.get(tool.id)
        if ready is not None:
            return ready
        if tool.pack == self.crib.id:
            return self.crib
        from .outcome import Refusal  # noqa: PLC0415 - see above

        pack = await self.activate(self.catalog.owner(tool.id) or tool.pack)
        if not isinstance(pack, Refusal):
            self._ready[tool.id] = pack
        return pack

    async def activate(self, pack: str) -> ActivePack | Refusal:
        """Return a pack with its code loaded, or why it is not."""
        from .outcome import Refusal  # noqa: PLC0415 - see above

        active = await self.activator.activate(pack)
        if not isinstance(active, Refusal) and active.has("toolcrib_observe"):
            self.hearing[active.id] = active
        return active

    def rules_in(self, root: Path) -> RuleSet:
        """Return policy's rules for a folder that a session was switched to."""
        if root == self.workspace.root:
            return self.rules
        if root not in self._rules_elsewhere:
            from .permission import RuleSet  # noqa: PLC0415 - see above

            self._rules_elsewhere[root] = RuleSet(self.policy.rules, workspace=root)
        return self._rules_elsewhere[root]

    def entry(self, tool_id: str) -> Entry | None:
        """Return the entry of a tool that is offered."""
        return self.catalog.tools.get(tool_id)

    @property
    def index(self) -> SearchIndex:
        """The search index over the catalog, built when it is first asked for."""
        from .search import SearchIndex  # noqa: PLC0415 - only with deferral

        revision = self.catalog.revision
        if self._index is None or self._index[0] != revision:
            self._index = (revision, SearchIndex(e.tool for e in self.catalog.tools.values()))
        return self._index[1]

    @property
    def artifacts(self) -> ArtifactStore:
        """The artifact store, opened when it is first used."""
        if self._artifacts is None:
            from .artifacts import ArtifactStore  # noqa: PLC0415 - few calls need it

            self._artifacts = ArtifactStore(self.state / "artifacts")
        return self._artifacts

    def _close_artifacts(self) -> None:
        store, self._artifacts = self._artifacts, None
        if store is not None:
            store.close()

    def replace_catalog(self, new: Catalog) -> None:
        """Take a new catalog, and say what changed."""
        from .catalog.stage import changes  # noqa: PLC0415 - see above
        from .events import Event  # noqa: PLC0415

        old, self.catalog = self.catalog, new
        self._ready.clear()
        difference = changes(old, new)
        for session in self._sessions if difference.removed else ():
            session.shown.forget(difference.removed)
        if difference:
            data = {
                "added": list(difference.added),
                "removed": list(difference.removed),
                "changed": {k: list(v) for k, v in difference.changed.items()},
                "stale": list(difference.stale),
                "revision": new.revision,
            }
            self.tell(Event(name="catalog.changed", time=self.clock.time(), data=data))

    def tell(self, event: Event, *, key: str | None = None) -> None:
        """Add to the news, and let observers hear."""
        self.news.append(event, key=key)
        self.emit(event)

    def emit(self, event: Event) -> None:
        """Let observers hear of an event; packs hear of their own tools' events."""
        for id_, pack in self.hearing.items():
            own = event.tool_id.startswith(id_ + ".")
            if own or id_ in self.policy.observers:
                pack.observe(event.as_json())
