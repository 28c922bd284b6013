"""The calls of one reply on their way: judged together, answered later, run once."""

from __future__ import annotations

import asyncio
import contextlib

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib.codes import refuse
from toolcrib.events import Event
from toolcrib.outcome import Outcome
from toolcrib.question import Deny

from . import keeping, running


if TYPE_CHECKING:
    from toolcrib.call import Call
    from toolcrib.question import Decision, Question

    from .item import Item
    from .session import Session
    from .view import View


__all__ = ["Batch"]


class Batch:
    """Everything that one reply asked for.

    Nothing has run when a batch is made. Its questions may be answered in any process
    at any later time: ``session.batch(id)`` restores it. ``run()`` then runs what may
    run, and leaves exactly one outcome per call.
    """

    def __init__(self, session: Session, batch_id: str, view: View, items: list[Item]) -> None:
        self.id = batch_id
        self.view = view
        self._session = session
        self._items = items
        self._lock = asyncio.Lock()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in the model's order."""
        return tuple(item.call for item in self._items)

    @property
    def items(self) -> tuple[Item, ...]:
        """How far each call got, in the model's order."""
        return tuple(self._items)

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a person has yet to decide, in the model's order."""
        return tuple(item.question for item in self._items if item.question is not None)

    @property
    def finished(self) -> bool:
        """Whether every call has its outcome."""
        return all(item.outcome is not None for item in self._items)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """One outcome for each call, in the model's order.

        A call whose question nobody has answered reads ``needs_approval``; one that may
        run but has not been run reads ``cancelled``.
        """
        return tuple(item.outcome or _provisional(item) for item in self._items)

    async def decide(self, question_id: str, decision: Decision) -> Outcome | None:
        """Answer one question.

        Args:
            question_id: A question of this batch, as in ``questions``.
            decision: ``Allow``, ``AllowRule`` or ``Deny``.

        Returns:
            The call's outcome if the answer ended it (denied, or no longer what was
            shown), else None: it will run.

        Raises:
            KeyError: no open question of this batch has that id.
            AnsweredError: somebody answered it before, and otherwise; the first answer
                holds, and was applied.
        """
        async with self._lock:
            for item in self._items:
                if item.question is not None and item.question.id == question_id:
                    await running.decide(self._session, self.view, item, decision)
                    return item.outcome
                asked, first = item.asked, item.decision
                if asked is not None and first is not None and asked.id == question_id:
                    running.check_answer(question_id, first, decision)
                    return item.outcome
        text = f"batch {self.id} has no open question {question_id!r}"
        raise KeyError(text)

    async def deny_rest(self, by: str, reason: str = "") -> None:
        """Say no to every question that is still open."""
        for question in self.questions:
            await self.decide(question.id, Deny(by=by, reason=reason))

    @contextlib.asynccontextmanager
    async def run(self, *, keep_questions: bool = False) -> AsyncIterator[AsyncIterator[Event]]:
        """Run what may run; iterate over what happens meanwhile.

        Leaving the block early cancels what still runs, and each call has its outcome
        all the same. Questions that are still open end as ``needs_approval``, unless
        ``keep_questions`` leaves them for a later run.
        """
        async with self._lock:
            events: asyncio.Queue[Event | None] = asyncio.Queue()
            todo = [item for item in self._items if item.authorized and not item.outcome]
            tasks = [
                asyncio.create_task(
                    running.run(self._session, self.view, item, events.put_nowait)
                )
                for item in todo
            ]
            closer = asyncio.create_task(_close_when_done(tasks, events))
            try:
                yield _drain(events)
                if not closer.done():
                    for task in tasks:
                        task.cancel()
            except BaseException:
                for task in tasks:
                    task.cancel()
                raise
            finally:
                try:
                    await _settle([*tasks, closer])
                finally:
                    await self._ended(todo, keep_questions=keep_questions)

    async def _ended(self, todo: list[Item], *, keep_questions: bool) -> None:
        """See to it that every call has its outcome, and that all together fit."""
        # A task that is cancelled before its first step runs no line of code.
        for item in todo:
            if item.outcome is None:
                running.not_started(self._session, item)
        if not keep_questions:
            running.close_questions(self._session, self._items)
        await keeping.fit(self._session, self._items)

    async def complete(self, *, keep_questions: bool = False) -> tuple[Outcome, ...]:
        """Run what may run, without looking at what happens meanwhile."""
        todo = [item for item in self._items if item.authorized and not item.outcome]
        if len(todo) == 1:
            # The commonest batch needs no task of its own.
            async with self._lock:
                await running.run(self._session, self.view, todo[0], None)
        elif todo:
            async with self.run(keep_questions=True) as events:
                async for _ in events:
                    pass
        if not keep_questions:
            running.close_questions(self._session, self._items)
        if len(todo) < 2 and len(self._items) > 1:
            await keeping.fit(self._session, self._items)
        return self.outcomes

    def payload(self) -> dict[str, Any]:
        """Return what is needed to restore the batch in another process."""
        view = self.view
        return {
            "id": self.id,
            "principal": self._session.principal,
            "dialect": view.dialect.name,
            "strict": view.strict,
            "shown": list(view.tools),
            "view": view.digest,
            "calls": [_call_payload(item) for item in self._items],
        }


def _call_payload(item: Item) -> dict[str, Any]:
    call = item.call
    admitted = item.admitted
    arguments = call.arguments
    return {
        "id": call.id,
        "wire_name": call.wire_name,
        "tool_id": call.tool_id,
        "provider_id": call.provider_id,
        "position": call.position,
        "response_digest": call.response_digest,
        "arguments": _storable(arguments, judged=admitted is not None),
        "admitted": admitted.text if admitted is not None else None,
        "repairs": [attrs.astuple(each) for each in admitted.repairs] if admitted else [],
        "sent": attrs.asdict(call.sent) if call.sent is not None else None,
        "definition": admitted.tool.definition_digest if admitted is not None else None,
        "question": item.question.id if item.question is not None else None,
    }


def _storable(arguments: Any, *, judged: bool) -> Any:
    """Return what the model sent, to be judged again; it has been JSON if it was judged."""
    if not isinstance(arguments, Mapping):
        return arguments
    return dict(arguments) if judged else None


def _provisional(item: Item) -> Outcome:
    if item.question is not None:
        refusal = refuse(
            "question.open",
            item.tool_id,
            f"{item.tool_id} needs a person's approval and nobody has answered yet. "
            "Nothing ran. Do something else, or ask the user.",
        )
    else:
        refusal = refuse("call.cancelled", item.tool_id, "The call was not run.")
    return Outcome.from_refusal(refusal, call_id=item.call.id, tool_id=item.tool_id)


async def _close_when_done(
    tasks: list[asyncio.Task[None]], events: asyncio.Queue[Event | None]
) -> None:
    if tasks:
        await asyncio.wait(tasks)
    events.put_nowait(None)


async def _drain(events: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
    while (event := await events.get()) is not None:
        yield event


async def _settle(tasks: list[asyncio.Task[Any]]) -> None:
    """Wait for all tasks even while being cancelled, then raise what they raised."""
    cancelled = False
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError:
            cancelled = True
            for task in pending:
                task.cancel()
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    if cancelled:
        raise asyncio.CancelledError
