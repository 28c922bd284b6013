"""One opening of a conversation: what an agent loop talks to."""

from __future__ import annotations

import base64
import inspect
import secrets as random

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import attrs

from toolcrib.call import Call
from toolcrib.errors import StageError, ToolcribError
from toolcrib.events import Event
from toolcrib.execution import LoopGuard, bound
from toolcrib.lifetimes import Lifetimes
from toolcrib.outcome import ArtifactLink, File, Outcome, Result, Text
from toolcrib.question import Allow, AllowRule, Deny, Question
from toolcrib.vocabulary import Mode

from . import restoring, showing, submission
from .authority import Authority
from .batch import Batch
from .item import Item


if TYPE_CHECKING:
    from toolcrib.context import Artifacts, Ask, Jobs, Secrets
    from toolcrib.execution import Terms
    from toolcrib.tool import Tool
    from toolcrib.toolbox import Toolbox

    from .view import Calls, View


__all__ = ["Approver", "Session"]

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
        self.app = app
        self.ask: Ask = ask if ask is not None else toolbox.ask
        self.only = only
        self.id = "s_" + random.token_hex(8)
        self.lifetimes = Lifetimes("session")
        self.authority = Authority(self, mode)
        self.shown = showing.Shown(self)
        self.loop_guard = LoopGuard()
        self.terms: dict[str, Terms] = {}
        self._open = False
        self._view: View | None = None
        self._batches: dict[str, Batch] = {}

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
        """End session grants and close the session's resources; questions stay open."""
        if not self._open:
            return
        self._open = False
        self.toolbox.forget(self)
        try:
            self.toolbox.ledger.end_session(self.conversation, self.id)
        finally:
            await self.lifetimes.close()

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

    # -- the way of a reply --------------------------------------------------------

    async def submit(self, calls: Calls) -> Batch:
        """Admit and judge every call of a reply; nothing runs.

        Args:
            calls: What ``view.calls(reply)`` returned.

        Returns:
            The batch, with its open questions. A reply that was submitted before gives
            its batch again, in any process.
        """
        self._check_open()
        known = self.toolbox.ledger.find_batch(self.conversation, calls.response_digest)
        if known is not None:
            return await self.batch(known.id)
        batch_id = "b_" + random.token_hex(10)
        items = [await submission.submit(self, calls.view, call, batch_id) for call in calls]
        batch = Batch(self, batch_id, calls.view, items)
        if batch.questions:
            self.toolbox.ledger.save_batch(
                batch_id,
                self.conversation,
                batch.payload(),
                response_digest=calls.response_digest,
                questions=batch.questions,
            )
            self._batches[batch_id] = batch
        return batch

    async def batch(self, batch_id: str) -> Batch:
        """Restore a batch that had open questions, in any process.

        Raises:
            KeyError: no such batch of this conversation and principal.
        """
        self._check_open()
        batch = self._batches.get(batch_id)
        if batch is None:
            batch = self._batches[batch_id] = await restoring.restore(self, batch_id)
        return batch

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
        await self._approve(batch, approver)
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
        view = await self.shown.everything()
        name = view.wire_name(tool) or tool
        call = Call(
            id="call_" + random.token_hex(12),
            wire_name=name,
            tool_id=tool if view.wire_name(tool) else None,
            arguments={} if arguments is None else arguments,
        )
        self.shown.load([tool])
        item = await submission.submit(self, view, call, "")
        batch = Batch(self, "b_" + random.token_hex(10), view, [item])
        if batch.questions:
            payload = batch.payload()
            questions = batch.questions
            self.toolbox.ledger.save_batch(
                batch.id, self.conversation, payload, questions=questions
            )
            await self._approve(batch, approver)
        return (await batch.complete())[0]

    @staticmethod
    async def _approve(batch: Batch, approver: Approver | None) -> None:
        for question in batch.questions if approver is not None else ():
            decision = approver(question) if approver is not None else None
            if inspect.isawaitable(decision):
                decision = await decision
            if isinstance(decision, Allow | AllowRule | Deny):
                await batch.decide(question.id, decision)
            elif decision is not None:
                # Only an explicit, well-formed yes is a yes.
                got = f"the approver answered a {type(decision).__name__}, not a Decision"
                await batch.decide(question.id, Deny(by="toolcrib", reason=got))

    # -- what tools and the other modules of the façade see -----------------------------

    def may_use(self, tool: Tool) -> bool:
        """Tell whether the session may use a tool at all; offer, search and dispatch ask."""
        return self.only is None or tool.id in self.only

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

    async def bounded(self, tool: Tool, outcome: Outcome) -> Outcome:
        """Shorten a result to its budget; the whole goes to the artifact store."""
        policy = self.toolbox.policy
        budget = tool.result_budget if tool.result_budget is not None else policy.result_budget
        result = await bound(outcome.result, budget, keep=self._keep)
        return outcome if result is outcome.result else attrs.evolve(outcome, result=result)

    async def _keep(self, data: bytes, media_type: str, title: str) -> ArtifactLink | None:
        try:
            link = await self.artifacts.put(data, media_type=media_type, title=title)
        except ToolcribError:
            return None
        self.shown.stored()
        return link

    async def page(self, digest: str, start: int, size: int) -> Result:
        """Return a part of an artifact of this conversation, for ``crib.read``."""
        data = await self.artifacts.get(digest, start=start, size=size)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            # A range may cut a character at either end; more than that is no text.
            if len(data) - error.end > 4 and error.start > 4:
                encoded = base64.b64encode(data).decode()
                block = File(encoded, "application/octet-stream", "part")
                return Result(f"{len(data)} bytes from {start}", [block])
            text = data.decode(errors="ignore")
        more = len(data) == size
        note = f"; continue with start={start + len(data)}" if more else ""
        return Result(f"{len(data)} bytes from {start}{note}", [Text(text)])

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
        if self.toolbox.observed:
            self.toolbox.emit(self.event(name, item, data))

    def _check_open(self) -> None:
        if not self._open:
            text = "the session is not open: async with toolbox.session(…) as session"
            raise StageError(text)
