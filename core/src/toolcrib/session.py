"""One opening of a conversation: what an agent loop talks to."""

from __future__ import annotations

import asyncio
import secrets as random

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import submission
from .batch import Batch
from .call import Call
from .codes import refuse
from .errors import StageError
from .events import Event
from .item import Item
from .lifetimes import Lifetimes
from .outcome import Refusal
from .question import Decision, Deny, Question
from .view import Calls, View
from .vocabulary import Mode


if TYPE_CHECKING:
    from . import permission
    from .context import Artifacts, Ask, Jobs, Secrets
    from .tool import Tool
    from .toolbox import Toolbox


__all__ = ["Approver", "Session"]

Approver = Callable[[Question], Any]
"""Answers a question with a ``Decision``, or None for no answer; sync or async."""


class Session:
    """One opening of a conversation; make it with ``toolbox.session(…)``.

    Args:
        toolbox: The entered toolbox.
        conversation: The durable name; calls of an earlier opening are known.
        principal: On whose behalf the calls run.
        mode: What happens to calls that nothing else decides.
        app: Any value of the app's own; tools see it as ``ctx.app``.
        ask: How tools reach the person, or None if nobody is there.
        only: Ids of the only tools that the session may use, or None for all.
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
        only: frozenset[str] | None = None,
    ) -> None:
        self.toolbox = toolbox
        self.conversation = conversation
        self.principal = principal
        self.mode = mode
        self.app = app
        self.ask: Ask = ask if ask is not None else toolbox.ask
        self.only = only
        self.lifetimes = Lifetimes("session")
        self.id = "s_" + random.token_hex(8)
        self._open = False
        self._view: View | None = None
        self._batches: dict[str, Batch] = {}
        self._running: set[asyncio.Task[None]] = set()

    # -- opening and closing -------------------------------------------------------

    async def __aenter__(self) -> Session:
        self._open = True
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel what still runs, end session grants, close the session's resources."""
        if not self._open:
            return
        self._open = False
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        self.toolbox.ledger.end_session(self.conversation, self.id)
        await self.lifetimes.close()
        self.toolbox.forget(self)

    # -- what a model is shown -----------------------------------------------------

    async def view(self, dialect: str = "openai", *, strict: bool | None = None) -> View:
        """Project what this session may use, frozen for one request."""
        self._check_open()
        tools = await self.toolbox.offered(self)
        view = self.toolbox.project(self, tools, dialect, strict=strict)
        self._view = view
        return view

    def may_use(self, tool: Tool) -> bool:
        """Tell whether the session may use a tool at all; offer, search and dispatch ask."""
        return self.only is None or tool.id in self.only

    def dispatchable(self, view: View, call: Call) -> Tool | Refusal:
        """Return the tool that a call names, as the view showed it, or why not."""
        tool = view.tools.get(call.tool_id) if call.tool_id else None
        entry = self.toolbox.catalog.tools.get(call.tool_id) if call.tool_id else None
        if tool is None or not self.may_use(tool):
            return self.toolbox.unknown(view, call)
        if entry is None:
            text = f"{tool.id} was withdrawn since it was shown. Nothing ran."
            return refuse("tool.hidden", tool.id, text)
        if entry.tool.definition_digest != tool.definition_digest:
            text = f"{tool.id} changed since it was shown. Nothing ran. Look at it again."
            return refuse("answer.stale", tool.id, text)
        return tool

    # -- the way of a reply --------------------------------------------------------

    async def submit(self, calls: Calls) -> Batch:
        """Admit and judge every call of a reply; nothing runs.

        Args:
            calls: What ``view.calls(reply)`` returned.

        Returns:
            The batch, with its open questions.
        """
        self._check_open()
        batch_id = "b_" + calls.response_digest[7:23] + self._suffix()
        items = [
            await submission.submit(self, calls.view, call, batch_id) for call in calls
        ]
        batch = Batch(self, batch_id, calls.view, items)
        self._batches[batch_id] = batch
        if batch.questions:
            self.toolbox.ledger.save_batch(batch_id, self.conversation, batch.payload())
        return batch

    async def batch(self, batch_id: str) -> Batch:
        """Restore a batch with open questions, in any process.

        Raises:
            KeyError: no such batch of this conversation and principal.
        """
        if batch_id in self._batches:
            return self._batches[batch_id]
        return await self.toolbox.restore(self, batch_id)

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
        view = view or self._view
        if view is None:
            text = "make a view before answering a reply: await session.view(dialect)"
            raise StageError(text)
        batch = await self.submit(view.calls(reply))
        for question in batch.questions if approver is not None else ():
            decision = approver(question) if approver is not None else None
            if asyncio.iscoroutine(decision):
                decision = await decision
            if isinstance(decision, Decision):
                await batch.decide(question.id, decision)
            elif decision is not None:
                # Only an explicit, well-formed yes is a yes.
                got = f"the approver answered {type(decision).__name__}, not a Decision"
                await batch.decide(question.id, Deny(by="toolcrib", reason=got))
        await batch.complete()
        return view.results(batch)

    # -- seams for the other modules of the façade -----------------------------------

    def authority(self, pack: str) -> permission.AuthorityContext:
        """Return what a call of a pack is judged by."""
        return self.toolbox.authority(self, pack)

    def lifetimes_of(self, scope: str) -> Lifetimes:
        """Return the open resources of a scope."""
        return self.lifetimes if scope == "session" else self.toolbox.lifetimes

    def anonymous(self) -> Session:
        """Return the toolbox's own session, which has no app value and no person."""
        return self.toolbox.own_session

    @property
    def artifacts(self) -> Artifacts:
        """The session's artifacts."""
        return self.toolbox.artifacts_of(self)

    @property
    def jobs(self) -> Jobs:
        """The conversation's jobs."""
        return self.toolbox.jobs_of(self)

    def secrets_for(self, tool_id: str) -> Secrets | None:
        """Return the secrets that policy binds to a tool."""
        return self.toolbox.secrets_for(tool_id)

    def emit(self, name: str, item: Item, **data: Any) -> None:
        """Tell observers what happened to a call."""
        if self.toolbox.observed:
            self.toolbox.emit(self.event(name, item, data))

    def emit_guard(self, guard: str, admitted: Any) -> None:
        """Tell observers that a guard rewrote a call."""
        item = Item(admitted.call)
        self.emit("guard.rewrote", item, guard=guard, digest=admitted.digest)

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

    def _suffix(self) -> str:
        return "_" + random.token_hex(4)

    def _check_open(self) -> None:
        if not self._open:
            text = "the session is not open: async with toolbox.session(…) as session"
            raise StageError(text)
