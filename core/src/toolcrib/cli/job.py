"""One run of a transcript: every call gets one result, also when it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import attrs

from toolcrib import canonical, projection
from toolcrib.call import Call
from toolcrib.codes import refuse
from toolcrib.errors import AnsweredError
from toolcrib.outcome import Outcome
from toolcrib.toolbox import Toolbox

from .advice import in_ids
from .checking import lint_of
from .exits import EXIT, of_calls
from .inputs import followed
from .output import complain, note, print_line, receipts
from .terminal import TerminalApprover
from .transcript import Entry, detect


if TYPE_CHECKING:
    from toolcrib.conversation.batch import Batch
    from toolcrib.conversation.session import Session
    from toolcrib.conversation.view import Calls
    from toolcrib.policy.value import Policy


__all__ = ["Job", "told", "warn_of_rules"]

DIALECTS = ("openai", "openai-responses", "anthropic", "mcp")
_COLOURS = {"ok": "green", "needs_approval": "yellow", "refused": "yellow"}


class Job:
    """One run.

    Args:
        policy: What is allowed.
        dialect: The form of the calls; None tells it from their shape.
        conversation: The conversation's name; ``named``: whether somebody chose it and
            can come back to it.
        mode, principal: As for a session.
        ask: Whether to ask at the terminal.
        quiet: Whether to say nothing on stderr.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        dialect: str | None,
        conversation: str,
        named: bool,
        mode: str | None,
        principal: str,
        ask: bool,
        quiet: bool,
    ) -> None:
        self._policy = policy
        self._dialect = dialect
        self._conversation = conversation
        self._named = named
        self._mode = mode
        self._principal = principal
        self._approver = TerminalApprover(by=principal) if ask else None
        self._quiet = quiet
        self._session: Session | None = None
        self._statuses: list[str] = []
        self._seen: Counter[str] = Counter()
        self._stopped: int | None = None
        self._recorded = False

    async def run(self, entries: Iterable[Entry]) -> int:
        """Run all entries and return the exit code."""
        found = 0
        with self._signals():
            async with contextlib.AsyncExitStack() as stack:
                await self._unless_stopped(self._open(stack))
                async for entry in self._entries(entries):
                    found += 1
                    if self._stopped is None:
                        await self._unless_stopped(self._reply(entry))
                    else:
                        self._unstarted(entry)
        if self._stopped is not None:
            how = "interrupted" if self._stopped == EXIT["interrupted"] else "terminated"
            self._say(f"toolcrib: {how}{self._receipts()}", colour="red")
            return self._stopped
        if not found:
            complain("there are no calls in what was given", code=EXIT["usage"])
        self._summary()
        return of_calls(self._statuses)

    async def _open(self, stack: contextlib.AsyncExitStack) -> None:
        box = await stack.enter_async_context(Toolbox(self._policy))
        self._session = await stack.enter_async_context(
            box.session(self._conversation, principal=self._principal, mode=self._mode)
        )
        if self._dialect is not None:
            try:
                self._session.shown.dialect(self._dialect)
            except LookupError as error:
                complain(str(error.args[0]), code=EXIT["usage"])
        warn_of_rules(self._policy, box)
        await box.sources.settle()

    # -- being stopped -------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let SIGTERM stop the run as Ctrl-C does: each call still gets its outcome."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()

        def stop() -> None:
            self._stopped = EXIT["terminated"]
            if task is not None:
                task.cancel()

        try:
            loop.add_signal_handler(signal.SIGTERM, stop)
        except (NotImplementedError, RuntimeError, ValueError):
            yield  # Not on this system, or not in the main thread.
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    async def _unless_stopped(self, work: Any) -> None:
        try:
            await work
        except asyncio.CancelledError:
            self._stop()

    def _stop(self) -> None:
        """Note that the run was cancelled, and go on to answer what was read."""
        self._stopped = self._stopped or EXIT["interrupted"]
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()

    async def _entries(self, entries: Iterable[Entry]) -> AsyncIterator[Entry]:
        """Give entries as they arrive; once stopped, only those that are there."""
        if isinstance(entries, list):
            for entry in entries:
                yield entry
            return
        try:
            async for entry in followed(entries):
                yield entry
                if self._stopped is not None:
                    return
        except asyncio.CancelledError:
            self._stop()

    # -- one reply -----------------------------------------------------------------

    def _form(self, entry: Entry) -> str | None:
        """Return the dialect of a reply, or answer it as broken."""
        if entry.problem is not None:
            self._broken(entry, entry.problem)
            return None
        form = self._dialect or detect(entry.reply)
        if form is None:
            known = ", ".join(DIALECTS)
            self._broken(entry, f"{entry.where} is in no form known; pass --dialect ({known})")
        return form

    async def _reply(self, entry: Entry) -> None:
        session = self._session
        form = self._form(entry)
        if form is None or session is None:
            return
        view = await session.view(form)
        try:
            calls = self._told_apart(view.calls(entry.reply))
        except (ValueError, RecursionError) as error:
            self._broken(entry, f"{entry.where}: {error}")
            return
        if not len(calls):
            self._say(f"{entry.where}: no tool calls")
            return
        batch = None
        try:
            batch = await session.submit(calls)
            self._recorded = True
            await self._approve(batch)
            await self._events(batch)
        except asyncio.CancelledError:
            self._stop()
            if batch is None:
                self._unstarted(entry)
                return
        for outcome in batch.outcomes:
            self._note(outcome)
        for message in view.results(batch):
            print_line(message)

    def _told_apart(self, calls: Calls) -> Calls:
        """Make the second of two equal replies of one transcript another reply.

        A provider's ids still tell that a call is the same.
        """
        self._seen[calls.response_digest] += 1
        times = self._seen[calls.response_digest]
        if times == 1:
            return calls
        digest = canonical.digest([calls.response_digest, times])
        again = tuple(
            attrs.evolve(
                call,
                id=f"call_{canonical.digest([call.id, times])[7:31]}",
                response_digest=digest,
            )
            for call in calls
        )
        return attrs.evolve(calls, calls=again, response_digest=digest)

    async def _approve(self, batch: Batch) -> None:
        for question in batch.questions if self._approver is not None else ():
            decision = await self._approver(question) if self._approver is not None else None
            if decision is not None:
                try:
                    await batch.decide(question.id, decision)
                except AnsweredError as error:
                    note(str(error), colour="yellow")

    async def _events(self, batch: Batch) -> None:
        # Whoever chose the conversation's name can come back to its questions.
        async with batch.run(keep_questions=self._named) as events:
            async for event in events:
                if event.name == "call.progress":
                    self._say(f"  {event.tool_id}: {event.data.get('message', '')}")

    def _unstarted(self, entry: Entry) -> None:
        """Answer the calls of a reply that was not looked at any more; nothing ran."""
        form = self._form(entry)
        if form is None:
            return
        try:
            dialect = (
                self._session.shown.dialect(form) if self._session else projection.dialect(form)
            )
            wires = dialect.parse(entry.reply).calls
        except (ValueError, RecursionError, LookupError) as error:
            self._broken(entry, f"{entry.where}: {error}")
            return
        pairs = []
        for wire in wires:
            call = Call(
                id=f"call_{random_id(wire.name, wire.position)}",
                wire_name=wire.name,
                tool_id=None,
                provider_id=wire.provider_id,
                arguments=wire.arguments,
                position=wire.position,
            )
            text = "The run was stopped before this call was looked at. Nothing ran."
            refusal = refuse("call.cancelled", wire.name, text)
            outcome = Outcome.from_refusal(refusal, call_id=call.id, tool_id=wire.name)
            pairs.append((call, outcome))
            self._note(outcome)
        for message in dialect.results(tuple(pairs)):
            print_line(message)

    def _broken(self, entry: Entry, problem: str) -> None:
        """Answer a line that cannot be read; the others run all the same."""
        refusal = refuse("call.malformed", entry.where, problem)
        self._note(Outcome.from_refusal(refusal, call_id="", tool_id=entry.where))
        error = {"status": refusal.status, "code": refusal.code, "message": problem}
        print_line({"error": error, "line": entry.line})

    # -- what is told --------------------------------------------------------------

    def _note(self, outcome: Outcome) -> None:
        self._statuses.append(outcome.status)
        self._say(told(outcome), colour=_COLOURS.get(outcome.status, "red"))

    def _summary(self) -> None:
        if not self._statuses:
            return
        counts = ", ".join(f"{n} {status}" for status, n in Counter(self._statuses).items())
        self._say(f"{counts}{self._receipts()}")

    def _receipts(self) -> str:
        """Say where the receipts are, if there are any: what cannot be read has none."""
        return f"; {receipts(self._conversation)}" if self._recorded else ""

    def _say(self, text: str, *, colour: str | None = None) -> None:
        if not self._quiet:
            note(text, colour=colour)


def random_id(name: str, position: int) -> str:
    """Return an id for a call that nobody will record."""
    return canonical.digest([name, position])[7:31]


def told(outcome: Outcome) -> str:
    """Say in one line how a call ended."""
    replayed = " (recorded earlier, not run again)" if outcome.replayed else ""
    attempts = f" after {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    detail = in_ids(outcome.text or outcome.result.summary, outcome.tool_id)
    first = f": {detail.splitlines()[0]}" if detail else ""
    code = f" [{outcome.code}]" if outcome.code else ""
    return f"{outcome.status:<14} {outcome.tool_id}{attempts}{replayed}{first}{code}"


def warn_of_rules(policy: Policy, box: Toolbox) -> None:
    """Warn of denials that name no tool: somebody relies on them."""
    for finding in lint_of(policy, box.catalog):
        if finding.severity == "error" and str(finding.rule.verdict) == "deny":
            note(f"toolcrib: {finding}", colour="yellow")
