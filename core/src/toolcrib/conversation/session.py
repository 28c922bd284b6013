"""One opening of a conversation: what an agent loop talks to."""

from __future__ import annotations

import asyncio
import os

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import attrs

from toolcrib import crib, names
from toolcrib.call import Call
from toolcrib.errors import StageError
from toolcrib.events import Event
from toolcrib.execution import LoopGuard
from toolcrib.lifetimes import Lifetimes
from toolcrib.outcome import Outcome, Refusal, Result
from toolcrib.question import Question
from toolcrib.undisturbed import finished
from toolcrib.vocabulary import Audience, Mode

from . import asking, keeping, restoring, running, showing, submission
from .authority import Authority
from .batch import Batch
from .directives import Directions, narrowest
from .item import Item
from .lifecycle import Lifecycle
from .news import News
from .only import Only
from .underway import Underway
from .view import Calls


if TYPE_CHECKING:
    from toolcrib.context import Artifacts, Ask, Jobs, PackHost, Secrets, Workspace
    from toolcrib.execution import Terms
    from toolcrib.stopping import Stopped
    from toolcrib.tool import Tool
    from toolcrib.toolbox import Toolbox

    from .contributions import Described, Fragment, PromptRule, VisibleText
    from .intents import Delegate, Intent, Selection
    from .view import View


__all__ = ["Approver", "Session"]

# Seconds beyond the grace of cancelled calls that closing waits for what looks at their
# results and keeps them.
_PATIENCE = 10.0

Approver = Callable[[Question], Any]
"""Answers a question with a ``Decision``, or None for no answer; sync or async."""


class Session:
    """One opening of a conversation; make it with ``toolbox.session(…)``.

    Attributes:
        conversation: The durable name; calls of an earlier opening are known.
        principal: On whose behalf the calls run.
        app: Any value of the app's own; tools see it as ``ctx.app``.
        ask: How tools reach the person.
        only: Ids of the only tools that the session may use, or None for all.
        parent: The session that this one was forked from, or None.
        workspace: The folder that it works in; the toolbox's, until a tool switches it.
        directions: What tools asked of the host, and was obeyed.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        conversation: str,
        *,
        principal: str,
        mode: Mode,
        app: Any = None,
        ask: Ask | None = None,
        only: Collection[str] | None = None,
        parent: Session | None = None,
    ) -> None:
        names.check_text("a conversation's name", conversation)
        names.check_text("a principal's name", principal)
        self.toolbox = toolbox
        self.conversation = conversation
        self.principal = principal
        self.app = app
        self.ask: Ask = ask if ask is not None else toolbox.ask
        self.only = only
        self.parent = parent
        self.workspace: Workspace = (parent or toolbox).workspace
        self.id = "s_" + os.urandom(8).hex()
        self.lifetimes = Lifetimes("session")
        self.authority = Authority(self, mode)
        self.shown = showing.Shown(self)
        self.lifecycle = Lifecycle(self)
        self.directions = Directions(self)
        self.loop_guard = LoopGuard()
        self.terms: dict[str, Terms] = {}
        self.underway = Underway(toolbox.ledger, conversation, toolbox.clock.time)
        self._open = False
        self._closing: asyncio.Future[None] | None = None
        self._view: View | None = None
        self._batches: dict[str, Batch] = {}
        self._forks: set[Session] = set()
        self._news = News(self)

    @property
    def mode(self) -> Mode:
        """What happens to calls that nothing else decides; may be set at any time."""
        return self.authority.mode

    @mode.setter
    def mode(self, mode: Mode | str) -> None:
        self.authority.mode = Mode(mode)

    # -- opening and closing -------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._open = True
        self.authority.load()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End calls, forks and session grants, and close the session's resources.

        Calls that run are cancelled and have their outcome before anything else closes.
        Questions stay open. What closes is closed whole, also while this task is being
        cancelled.
        """
        await self.shut(asyncio.current_task())

    async def shut(self, but: asyncio.Task[Any] | None) -> None:
        """Close; ``but`` is the task that asks for it, whose own call is not waited for."""
        if self._open:
            self._open = False
            self._closing = asyncio.ensure_future(self._close(but))
            await finished(self._closing)
        elif self._closing is not None:
            await asyncio.wait({self._closing})

    async def _close(self, but: asyncio.Task[Any] | None) -> None:
        self.underway.close(but)
        for fork in list(self._forks):
            await fork.shut(but)
        await self.underway.ended(self.toolbox.runtime.grace + _PATIENCE, but)
        self.toolbox.forget(self)
        if self.parent is not None:
            self.parent._forks.discard(self)  # noqa: SLF001 - of its own kind
        try:
            await self.lifecycle.close()
            self.toolbox.ledger.end_session(self.conversation, self.id)
        finally:
            await self.lifetimes.close()

    def fork(
        self,
        name: str | None = None,
        *,
        tools: Iterable[str] | None = None,
        mode: Mode | str | None = None,
        app: Any = None,
        ask: Ask | None = None,
    ) -> Session:
        """Make a session for a sub-agent; open it with ``async with``.

        Its authority is an intersection: whatever its own mode, rules and tools say, a
        call must pass everything that this session must pass, also when that changes
        later. What is loaded, granted and opened there is its own. It is closed with
        this session at the latest.

        Args:
            name: What its conversation adds to this one's name; random by default.
            tools: Ids of the only tools it may use, ``*`` standing for any characters;
                all of this session's by default. Schemas are hidden only if
                ``crib.search`` is among them.
            mode: Its mode; this session's by default, and never a wider one.
            app: Its app value; this session's by default.
            ask: How its tools reach the person; as in this session by default.
        """
        self._check_open()
        if name is not None:
            names.check_text("a fork's name", name)
        child = Session(
            self.toolbox,
            f"{self.conversation}/{name or os.urandom(6).hex()}",
            principal=self.principal,
            mode=self.mode if mode is None else narrowest(Mode(mode), self.mode),
            app=self.app if app is None else app,
            ask=self.ask if ask is None else ask,
            only=Only(tools, self.only) if tools is not None else self.only,
            parent=self,
        )
        self._forks.add(child)
        return child

    async def stop(self, by: str, reason: str = "") -> Stopped:
        """Stop what runs for this conversation, wherever it runs; the session stays open.

        Its calls and those of the conversations it started are cancelled, in this
        process and in others that share the ledger; its jobs are stopped. The call that
        asks for it, if one does, is left alone.

        Args:
            by: Who orders it.
            reason: Why, for those who read the outcomes.
        """
        self._check_open()
        return await self.toolbox.stop(self.conversation, by=by, reason=reason)

    def begin_turn(self) -> None:
        """Begin a turn: what tools asked for the last one holds no longer."""
        self.directions.begin_turn()

    # -- what a model is shown -----------------------------------------------------

    async def view(self, dialect: str = "openai", *, strict: bool | None = None) -> View:
        """Project what this session may use, frozen for one request.

        Args:
            dialect: The provider's form, such as ``openai`` or ``anthropic``.
            strict: Whether tools that leave it open are declared strict.

        Raises:
            LookupError: nobody speaks the dialect.
        """
        self._check_open()
        self._view = await self.shown.view(dialect, strict=bool(strict))
        return self._view

    async def describe(
        self, audience: Audience | str = Audience.MODEL
    ) -> tuple[Described, ...]:
        """Return how the tools that are active now are described to an audience."""
        self._check_open()
        return await self.shown.described(Audience(audience))

    async def rules(self) -> tuple[PromptRule, ...]:
        """Return what active tools want the prompt to say, in order."""
        self._check_open()
        return await self.lifecycle.rules()

    async def context(self) -> tuple[Fragment, ...]:
        """Return what active tools add to the model's context, in order."""
        self._check_open()
        return await self.lifecycle.context()

    async def visible_text(
        self, text: str, *, tools: Collection[str] | None = None
    ) -> VisibleText:
        """Pass a text that is about to be shown through the tools that shape it.

        Args:
            text: What would be shown.
            tools: Ids of the only tools that may shape it; all active ones by default.
        """
        self._check_open()
        return await self.lifecycle.visible_text(text, tools=tools)

    def news(self, limit: int = 4_000) -> str:
        """Return what changed since the last reading, for the next request.

        The text is labelled as information from elsewhere, at most ``limit`` characters
        long, and empty if nothing changed. Logs are never in it.
        """
        return self._news.read(limit)

    # -- selecting and delegating ------------------------------------------------------

    def intents(self, view: View | None = None) -> tuple[Intent, ...]:
        """Return the tools of a view that a model may select instead of calling."""
        from . import intents as selecting  # noqa: PLC0415 - few sessions select

        return selecting.intents(self._newest(view))

    async def select(
        self, reply: Any, *, view: View | None = None, stage_id: str = ""
    ) -> tuple[Selection | Refusal, ...]:
        """Resolve the intents that a reply selects; nothing runs.

        Args:
            reply: The model's reply; see :meth:`toolcrib.View.calls`.
            view: What the model was shown; the session's newest view by default.
            stage_id: An opaque word of the app's, handed to each tool's ``resolve``.

        Returns:
            For each selection its value, or the refusal: its arguments are wrong, or
            ``resolve`` raised (``resolve.refused``).
        """
        self._check_open()
        from . import intents as selecting  # noqa: PLC0415 - few sessions select

        return await selecting.select(self, reply, self._newest(view), stage_id)

    def delegate(self, id_: str) -> Delegate | Refusal:
        """Return the tool that answers a delegate id; await it with arguments to run it."""
        self._check_open()
        from . import intents as selecting  # noqa: PLC0415 - few sessions select

        return selecting.delegate(self, id_)

    def _newest(self, view: View | None) -> View:
        view = view or self._view
        if view is None:
            text = "make a view first: await session.view(dialect)"
            raise StageError(text)
        return view

    # -- the way of a reply --------------------------------------------------------

    async def submit(self, calls: Calls, *, stage_id: str = "") -> Batch:
        """Admit and judge every call of a reply; nothing runs.

        Args:
            calls: What ``view.calls(reply)`` returned.
            stage_id: An opaque word of the app's, handed to each tool's ``resolve``.

        Returns:
            The batch, with its open questions. A reply that was submitted before gives
            its batch again, in any process.
        """
        self._check_open()
        if not isinstance(calls, Calls):
            text = f"submit takes what view.calls(reply) returned, not a {type(calls).__name__}"
            raise TypeError(text)
        known = self.toolbox.ledger.find_batch(self.conversation, calls.response_digest)
        if known is not None and known.principal == self.principal:
            return await self.batch(known.id)
        batch_id = "b_" + os.urandom(10).hex()
        token = self.underway.enter()
        try:
            items = [
                await submission.submit(self, calls.view, call, batch_id, stage_id)
                for call in calls
            ]
        finally:
            self.underway.leave(token)
        batch = Batch(self, batch_id, calls.view, items)
        if batch.questions:
            self._save(batch, calls.response_digest)
            self._batches[batch_id] = batch
        return batch

    def _save(self, batch: Batch, response_digest: str | None = None) -> None:
        self.toolbox.ledger.save_batch(
            batch.id,
            self.conversation,
            batch.payload(),
            response_digest=response_digest,
            questions=batch.questions,
        )

    async def batch(self, batch_id: str) -> Batch:
        """Restore a batch that had open questions, in any process.

        Raises:
            KeyError: no such batch of this conversation and principal.
        """
        self._check_open()
        if batch_id not in self._batches:
            self._batches[batch_id] = await restoring.restore(self, batch_id)
        return self._batches[batch_id]

    async def answer(
        self, reply: Any, *, view: View | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        """Take a reply through all stages and return its results for the next request.

        Args:
            reply: The model's reply; see :meth:`toolcrib.View.calls`.
            view: What the model was shown; the session's newest view by default.
            approver: Answers questions with a ``Decision``; without one they stay open
                and their calls end as ``needs_approval``.
        """
        view = self._newest(view)
        batch = await self.submit(view.calls(reply))
        await asking.approve(self, batch, approver)
        await batch.complete()
        return view.results(batch)

    async def call(
        self, tool: str, arguments: Any = None, *, approver: Approver | None = None
    ) -> Outcome:
        """Call one tool by its id, through all stages.

        Args:
            tool: The tool's id, such as ``files.read``.
            arguments: A JSON object, or its text.
            approver: Answers the question, if there is one.
        """
        self._check_open()
        if not isinstance(tool, str):
            text = f"call takes a tool's id, such as files.read, not a {type(tool).__name__}"
            raise TypeError(text)
        view, tool_id, wire_name = self.shown.single(tool)
        call = Call(
            id="call_" + os.urandom(12).hex(),
            wire_name=wire_name,
            tool_id=tool_id,
            arguments={} if arguments is None else arguments,
        )
        token = self.underway.enter()
        try:
            item = await submission.submit(self, view, call, "", fresh=True)
            if item.question is None:
                # The commonest call needs nothing that outlives it.
                if item.outcome is None:
                    item.token = token
                    await running.run(self, view, item, None)
                if item.outcome is not None:
                    return item.outcome
        finally:
            self.underway.leave(token)
        item.token = None
        batch = Batch(self, "b_" + os.urandom(10).hex(), view, [item])
        if batch.questions:
            self._save(batch)
            await asking.approve(self, batch, approver)
        return (await batch.complete())[0]

    # -- what tools and the other modules of the façade see -----------------------------

    @property
    def is_free(self) -> bool:
        """Whether nothing but rules and mode limits which tools may be used."""
        return self.only is None and self.parent is None and not self.directions.restrictions

    def may_use(self, tool: Tool) -> bool:
        """Tell whether the session may use a tool at all, whatever rules and mode say."""
        return self.may_see(tool.id) and self.directions.permits(tool)

    def may_see(self, tool_id: str) -> bool:
        """Tell whether a tool is among those that the session was given."""
        return self.only is None or tool_id in self.only or tool_id == crib.READ.id

    def host_of(self, pack: str) -> PackHost:
        """Return what a pack is given in this session."""
        host = self.toolbox.host_of(pack)
        here = self.workspace
        return host if here is self.toolbox.workspace else attrs.evolve(host, workspace=here)

    def lifetimes_of(self, scope: str) -> Lifetimes:
        """Return the open resources of a scope."""
        return self.lifetimes if scope == "session" else self.toolbox.lifetimes

    def anonymous(self) -> Session:
        """Return the toolbox's own session, which has no app value and no person."""
        return self.toolbox.own_session

    @property
    def artifacts(self) -> Artifacts:
        """The conversation's artifacts."""
        return self.toolbox.artifacts.session(self.conversation, self.principal)

    @property
    def jobs(self) -> Jobs:
        """The conversation's jobs."""
        return self.toolbox.jobs.owned(self.conversation)

    @property
    def calls(self) -> int:
        """How many calls of the conversation, and of those it started, have begun."""
        return self.toolbox.ledger.begun(self.conversation)

    async def page(self, digest: str, start: int, size: int) -> Result:
        """Return a part of an artifact of this conversation, for ``crib.read``."""
        return await keeping.page(self, digest, start, size)

    def secrets_for(self, tool_id: str) -> Secrets | None:
        """Return the secrets that policy binds to a tool."""
        store = self.toolbox.secrets
        return store.for_tool(tool_id) if store is not None else None

    def event(self, name: str, item: Item, data: Mapping[str, Any]) -> Event:
        """Make an event about a call."""
        return Event(
            name=name,
            conversation=self.conversation,
            call_id=item.call.id,
            tool_id=item.tool_id,
            time=self.toolbox.clock.time(),
            data=data,
        )

    def emit(self, name: str, item: Item, **data: Any) -> None:
        """Tell observers what happened to a call."""
        if self.toolbox.hearing:
            self.toolbox.emit(self.event(name, item, data))

    def _check_open(self) -> None:
        if not self._open:
            text = "the session is not open: async with toolbox.session(…) as session"
            raise StageError(text)
