"""The same toolbox with blocking methods, for code that has no event loop.

One thread runs the loop; every method hands its work over and waits. So a
``SyncToolbox`` may be used from any thread, and from several at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading

from collections.abc import Callable, Collection, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from . import names
from .errors import StageError
from .outcome import Refusal


if TYPE_CHECKING:
    from .call import Call
    from .catalog.stage import Catalog
    from .conversation.batch import Batch
    from .conversation.contributions import Described, Fragment, PromptRule, VisibleText
    from .conversation.intents import Delegate, Selection
    from .conversation.session import Approver, Session
    from .conversation.view import Calls, View
    from .events import Event
    from .outcome import Outcome
    from .question import Decision, Question
    from .stopping import Stopped
    from .toolbox import Toolbox
    from .vocabulary import Audience


__all__ = ["SyncBatch", "SyncSession", "SyncToolbox"]

T = TypeVar("T")


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="toolcrib", daemon=True
        )
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            work.close()
            text = "blocking methods cannot be called from a tool; use the async ones"
            raise StageError(text)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Also on KeyboardInterrupt: nobody is left to wait for the work.
            future.cancel()
            raise

    def close(self) -> None:
        # In the loop's own thread: in the caller's another loop may run.
        self.wait(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class SyncToolbox:
    """A :class:`toolcrib.Toolbox` with blocking methods; ``Toolbox.sync`` makes one."""

    def __init__(self, make: Callable[[], Toolbox]) -> None:
        self._make = make
        self._loop: _Loop | None = None
        self._box: Toolbox | None = None

    def __enter__(self) -> Self:
        if self._loop is not None:
            text = "the toolbox is open already"
            raise StageError(text)
        self._loop = _Loop()
        try:
            self._box = self._loop.wait(self._opened())
        except BaseException:
            self._loop.close()
            self._loop = None
            raise
        return self

    async def _opened(self) -> Toolbox:
        return await self._make().__aenter__()

    def __exit__(self, *exc: object) -> None:
        loop, box = self._loop, self._box
        self._loop = self._box = None
        if loop is not None:
            try:
                if box is not None:
                    loop.wait(box.close())
            finally:
                loop.close()

    @property
    def box(self) -> Toolbox:
        """The toolbox behind it."""
        if self._box is None:
            text = "the toolbox is not open: with Toolbox.sync(policy) as box"
            raise StageError(text)
        return self._box

    @property
    def catalog(self) -> Catalog:
        """The tools that policy lets through."""
        return self.box.catalog

    def session(self, conversation: str | None = None, **options: Any) -> SyncSession:
        """Open a conversation; the arguments are those of ``Toolbox.session``."""
        box = self.box
        if conversation is not None:
            names.check_text("a conversation's name", conversation)
        if self._loop is None:  # pragma: no cover - box was there
            raise AssertionError
        return SyncSession(self._loop, partial(box.session, conversation, **options))

    def stop(self, conversation: str, *, by: str, reason: str = "") -> Stopped:
        """Stop what runs for a conversation and those it started, wherever it runs."""
        box = self.box
        if self._loop is None:  # pragma: no cover - box was there
            raise AssertionError
        return self._loop.wait(box.stop(conversation, by=by, reason=reason))


class SyncSession:
    """A :class:`toolcrib.Session` with blocking methods."""

    def __init__(self, loop: _Loop, make: Callable[[], Session]) -> None:
        self._loop = loop
        self._make = make
        self._session: Session | None = None

    def __enter__(self) -> Self:
        self._session = self._loop.wait(self._opened())
        return self

    async def _opened(self) -> Session:
        return await self._make().__aenter__()

    def __exit__(self, *exc: object) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._loop.wait(session.close())

    @property
    def session(self) -> Session:
        """The session behind it."""
        if self._session is None:
            text = "the session is not open: with box.session(…) as session"
            raise StageError(text)
        return self._session

    def stop(self, by: str, reason: str = "") -> Stopped:
        """Stop what runs for this conversation, wherever it runs."""
        return self._loop.wait(self.session.stop(by, reason))

    def view(self, dialect: str = "openai", *, strict: bool | None = None) -> View:
        """Project what this session may use, frozen for one request."""
        return self._loop.wait(self.session.view(dialect, strict=strict))

    def submit(self, calls: Calls) -> SyncBatch:
        """Admit and judge every call of a reply; nothing runs."""
        return SyncBatch(self._loop, self._loop.wait(self.session.submit(calls)))

    def batch(self, batch_id: str) -> SyncBatch:
        """Restore a batch with open questions, in any process."""
        return SyncBatch(self._loop, self._loop.wait(self.session.batch(batch_id)))

    def answer(
        self, reply: Any, *, view: View | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        """Take a reply through all stages and return its results."""
        return self._loop.wait(self.session.answer(reply, view=view, approver=approver))

    def call(
        self, tool: str, arguments: Any = None, *, approver: Approver | None = None
    ) -> Outcome:
        """Call one tool by its id, through all stages."""
        return self._loop.wait(self.session.call(tool, arguments, approver=approver))

    def fork(self, name: str | None = None, **options: Any) -> SyncSession:
        """Make a session for a sub-agent, with less authority; use it with ``with``."""
        return SyncSession(self._loop, partial(self.session.fork, name, **options))

    def describe(self, audience: Audience | str = "model") -> tuple[Described, ...]:
        """Return how the active tools are described to an audience."""
        return self._loop.wait(self.session.describe(audience))

    def rules(self) -> tuple[PromptRule, ...]:
        """Return what active tools want the prompt to say, in order."""
        return self._loop.wait(self.session.rules())

    def context(self) -> tuple[Fragment, ...]:
        """Return what active tools add to the model's context, in order."""
        return self._loop.wait(self.session.context())

    def visible_text(self, text: str, *, tools: Collection[str] | None = None) -> VisibleText:
        """Pass a text through the tools that shape it."""
        return self._loop.wait(self.session.visible_text(text, tools=tools))

    def select(
        self, reply: Any, *, view: View | None = None, stage_id: str = ""
    ) -> tuple[Selection | Refusal, ...]:
        """Resolve the intents that a reply selects; nothing runs."""
        return self._loop.wait(self.session.select(reply, view=view, stage_id=stage_id))

    def delegate(self, id_: str) -> SyncDelegate | Refusal:
        """Return the tool that answers a delegate id; call it with arguments to run it."""
        found = self.session.delegate(id_)
        return found if isinstance(found, Refusal) else SyncDelegate(self._loop, found)

    def __getattr__(self, name: str) -> Any:
        # Everything else of a session is plain reading.
        return getattr(self.session, name)


class SyncDelegate:
    """A delegate that blocks until its tool has run."""

    def __init__(self, loop: _Loop, delegate: Delegate) -> None:
        self._loop = loop
        self._delegate = delegate
        self.tool_id = delegate.tool_id

    def __call__(self, arguments: Any = None, *, approver: Approver | None = None) -> Outcome:
        """Run the tool."""
        return self._loop.wait(self._delegate(arguments, approver=approver))


class SyncBatch:
    """A :class:`toolcrib.Batch` with blocking methods."""

    def __init__(self, loop: _Loop, batch: Batch) -> None:
        self._loop = loop
        self.batch = batch

    @property
    def questions(self) -> tuple[Question, ...]:
        """What a person has yet to decide."""
        return self.batch.questions

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """One outcome for each call, in the model's order."""
        return self.batch.outcomes

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in the model's order."""
        return self.batch.calls

    @property
    def id(self) -> str:
        """The durable id."""
        return self.batch.id

    def decide(self, question_id: str, decision: Decision) -> Outcome | None:
        """Answer one question."""
        return self._loop.wait(self.batch.decide(question_id, decision))

    def complete(self, *, keep_questions: bool = False) -> tuple[Outcome, ...]:
        """Run what may run."""
        return self._loop.wait(self.batch.complete(keep_questions=keep_questions))

    @contextlib.contextmanager
    def run(self, *, keep_questions: bool = False) -> Iterator[Iterator[Event]]:
        """Run what may run; iterate over what happens meanwhile."""
        events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        leave = asyncio.Event()

        async def running() -> None:
            try:
                async with self.batch.run(keep_questions=keep_questions) as stream:
                    drained = asyncio.ensure_future(_drain(stream, events))
                    left = asyncio.ensure_future(leave.wait())
                    await asyncio.wait({drained, left}, return_when=asyncio.FIRST_COMPLETED)
                    drained.cancel()
                    left.cancel()
            finally:
                events.put(None)

        loop = self._loop
        future = asyncio.run_coroutine_threadsafe(running(), loop._loop)  # noqa: SLF001
        try:
            yield iter(events.get, None)
        finally:
            loop._loop.call_soon_threadsafe(leave.set)  # noqa: SLF001
            future.result()


async def _drain(stream: Any, events: queue.SimpleQueue[Event | None]) -> None:
    async for event in stream:
        events.put(event)
