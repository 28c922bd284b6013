"""One call from its first attempt to its outcome."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os

from collections.abc import Callable
from typing import Any

import attrs

from toolcrib.call import AuthorizedCall
from toolcrib.context import Context
from toolcrib.errors import ToolFailure, Transient, Unavailable
from toolcrib.implementation import Implementation
from toolcrib.outcome import Outcome, Result
from toolcrib.retry import Again, Stop, is_transient, plan, tighten
from toolcrib.vocabulary import Cancellation, Status

from .afterwards import checked, late
from .cancellation import CancelToken
from .driving import AbandonedError, drive
from .failures import Ending, bounded, interrupted, of_exception, unwrapped
from .scheduler import Turn
from .terms import Runtime, Terms
from .threads import Job, ThreadsStuckError
from .values import OutputError, finish, result_of


__all__ = ["Run"]

_ENDS_EARLY = frozenset({Cancellation.COOPERATIVE, Cancellation.PROCESS})


class _LeftThreadError(BaseException):
    """Raised inside a run when it stops waiting for a thread that goes on."""


class _ArgumentsError(Exception):
    """Raised inside a run when arguments cannot be turned into the handler's types."""


class Run:
    """The state of one call while it runs."""

    __slots__ = (
        "attempts",
        "authorized",
        "implementation",
        "make_context",
        "runtime",
        "started",
        "terms",
        "token",
    )

    def __init__(
        self,
        authorized: AuthorizedCall,
        implementation: Implementation,
        make_context: Callable[[int, CancelToken], Context],
        *,
        runtime: Runtime,
        terms: Terms,
        token: CancelToken,
    ) -> None:
        self.authorized = authorized
        self.implementation = implementation
        self.make_context = make_context
        self.runtime = runtime
        self.terms = terms
        self.token = token
        self.attempts = 0
        self.started: float | None = None

    async def to_end(self, turn: Turn) -> Outcome:
        """Try until there is an outcome."""
        timeout = self.terms.timeout
        if timeout is not None:
            self.token.deadline = self.token.arm(timeout, "the call")
        while True:
            try:
                context, arguments = self._prepare()
                variables = contextvars.copy_context()
                handler = self.implementation.handler
                if self.implementation.asynchronous:
                    work = handler(context, **arguments)
                    value = await drive(work, self.token, variables)
                else:
                    value = await self._in_thread(
                        functools.partial(variables.run, handler, context, **arguments),
                        variables,
                    )
            except KeyboardInterrupt:
                raise
            except BaseException as raised:  # every ending is an outcome
                error = unwrapped(raised)
                if isinstance(error, KeyboardInterrupt):
                    raise error from None
                if isinstance(error, GeneratorExit) and self.token.closed:
                    raise
                outcome = await self._failed(error, turn)
                if outcome is not None:
                    return outcome
            else:
                outcome = self.finished(value)
                check = self.implementation.companions.check_output
                return outcome if check is None else await checked(self, outcome, check)

    def outcome(self, ending: Ending, result: Result | None = None) -> Outcome:
        """Make the outcome of a call that did not go well."""
        return Outcome(
            call_id=self.authorized.admitted.call.id,
            tool_id=self.authorized.admitted.tool.id,
            status=ending.status,
            code=ending.code,
            text=ending.text,
            result=result or Result(),
            retryable=ending.retryable,
            attempts=self.attempts,
            started=self.started,
            ended=self.runtime.clock.time() if self.started is not None else None,
            details=ending.details,
        )

    def _remaining(self) -> float | None:
        deadline = self.token.deadline
        return None if deadline is None else deadline - self.runtime.clock.monotonic()

    def _prepare(self) -> tuple[Context, dict[str, Any]]:
        """Begin an attempt: return its context and arguments."""
        implementation = self.implementation
        arguments = self.authorized.admitted.take()
        if implementation.structure is not None:
            try:
                arguments = implementation.structure(arguments)
            except Exception as error:
                raise _ArgumentsError(str(error)) from error
        if implementation.asynchronous and not self.terms.asynchronous:
            text = "policy refuses tools with asynchronous handlers"
            raise Unavailable(text)
        self.attempts += 1
        if self.started is None:
            self.started = self.runtime.clock.time()
        if self.terms.on_progress is not None:
            self.terms.tell("started", attempt=self.attempts)
        return self.make_context(self.attempts, self.token), arguments

    async def _in_thread(self, call: Callable[[], Any], variables: contextvars.Context) -> Any:
        try:
            job = self.runtime.threads.submit(call)
        except ThreadsStuckError:
            self._unstarted()
            raise
        try:
            await job.wait()
        except asyncio.CancelledError:
            self.token.delivered()
            await self._leave(job)
        except GeneratorExit:
            self.token.closed = True
            self.runtime.threads.abandon(job)
            raise
        if job.error is not None:
            raise job.error
        if inspect.isawaitable(job.value):
            return await drive(_awaited(job.value), self.token, variables)
        return job.value

    async def _leave(self, job: Job) -> None:
        """Wait for a thread as far as that can help, then go without it.

        Only a handler that looks at its cancellation can end early; for any other the
        grace would be time lost.
        """
        if job.state != "done" and self.authorized.tool.cancellation in _ENDS_EARLY:
            try:
                await job.wait()
            except asyncio.CancelledError:
                self.token.delivered()
        if job.state == "done":
            return
        if self.runtime.threads.abandon(job, self._late_job):
            self._unstarted()
            raise asyncio.CancelledError
        raise _LeftThreadError

    def _unstarted(self) -> None:
        self.attempts -= 1
        if not self.attempts:
            self.started = None

    async def _failed(self, error: BaseException, turn: Turn) -> Outcome | None:
        """Return the outcome of a failed attempt, or None if it is tried again."""
        outcome = self._final(error)
        if outcome is not None:
            return outcome
        if self.token.requested:
            # The tool's own word on what its cancellation meant.
            return self.outcome(of_exception(error, self.authorized, self.attempts))
        planned = await self._planned(error)
        if isinstance(planned, Again) and not self.token.requested:
            self.terms.tell(
                "retrying",
                attempt=self.attempts + 1,
                delay=planned.delay,
                failure=type(error).__name__,
            )
            await self._pause(planned.delay, turn)
            if not self.token.requested:
                return None
        if self.token.requested:
            return self.outcome(self.interrupted(error))
        ending = of_exception(error, self.authorized, self.attempts)
        if isinstance(planned, Stop) and is_transient(error):
            ending.details["not_retried"] = planned.reason
        return self.outcome(ending)

    async def _planned(self, error: BaseException) -> Again | Stop:
        """Ask the three yeses, then the pack, which may only tighten."""
        planned = plan(
            error,
            attempt=self.attempts,
            terms=self.terms.retry,
            idempotent=self.authorized.tool.idempotent,
            key=self.authorized.idempotency_key,
            remaining=self._remaining(),
            roll=(self.runtime.roll or _roll)(),
        )
        if isinstance(planned, Again) and self.terms.pack_retry is not None:
            answer = await self._ask_pack(self.terms.pack_retry, error)
            planned = tighten(planned, answer, self._remaining())
        return planned

    def _final(self, error: BaseException) -> Outcome | None:
        """Return the outcome of an ending that nothing can follow."""
        if isinstance(error, AbandonedError):
            self.runtime.leftovers.add(error.rest)
            error.rest.add_done_callback(self._late_task)
            return self.outcome(self.interrupted(None, running=True))
        if isinstance(error, _LeftThreadError):
            return self.outcome(self.interrupted(None, running=True))
        tool_id = self.authorized.tool.id
        if isinstance(error, _ArgumentsError):
            text = bounded(f"{tool_id} cannot take these arguments: {error}. Nothing ran.")
            return self.outcome(Ending(Status.INVALID, "arguments.invalid", text))
        if isinstance(error, ThreadsStuckError):
            text = f"{tool_id} cannot run now: {error}. Nothing was done by this attempt."
            return self.outcome(Ending(Status.BUSY, "call.busy", text, retryable=True))
        if self.token.requested and not isinstance(error, ToolFailure):
            return self.outcome(self.interrupted(error))
        return None

    def interrupted(self, error: BaseException | None, *, running: bool = False) -> Ending:
        """Return how a call ends that had to end early."""
        stopped = error is None or isinstance(error, asyncio.CancelledError)
        return interrupted(
            self.authorized,
            cause=self.token.cause or "cancelled",
            reason=self.token.reason,
            running=running or self._remote(),
            started=self.attempts > 0 and not isinstance(error, Transient),
            error=None if stopped else error,
        )

    def _remote(self) -> bool:
        # What was sent elsewhere goes on there, whatever happens here.
        return self.attempts > 0 and self.authorized.tool.cancellation is Cancellation.REMOTE

    async def _ask_pack(self, hook: Callable[..., Any], error: BaseException) -> Any:
        """Return the answer of the pack's retry hook; None if it fails or is late."""
        try:
            answer = hook(error, self.attempts)
            if inspect.isawaitable(answer):
                answer = await asyncio.wait_for(answer, self.runtime.hook_timeout)
        except asyncio.CancelledError:
            self.token.delivered()
            return None
        except Exception:  # noqa: BLE001 - a hook that fails means no
            return None
        return answer

    async def _pause(self, delay: float, turn: Turn) -> None:
        """Wait without holding a permit; returns early if the call has to end."""
        scheduler = self.runtime.scheduler
        scheduler.rest(turn)
        try:
            await self.runtime.clock.sleep(delay)
            await scheduler.resume(turn, lambda facts: self.terms.tell("queued", **facts))
        except asyncio.CancelledError:
            self.token.delivered()

    def finished(self, value: Any) -> Outcome:
        """Make the outcome of a handler that returned."""
        tool = self.implementation.tool
        typed = tool.output_schema is not None
        try:
            result = result_of(value, self.implementation.unstructure, typed=typed)
            if typed:
                finish(result, tool, self.terms.check_schema)
        except OutputError as error:
            return self.unfit("output.invalid", error)
        if self.token.requested:
            note = f"finished_after_{self.token.cause}"
            result = attrs.evolve(result, notes=(*result.notes, note))
        return Outcome(
            call_id=self.authorized.admitted.call.id,
            tool_id=tool.id,
            status=Status.OK,
            result=result,
            attempts=self.attempts,
            started=self.started,
            ended=self.runtime.clock.time(),
        )

    def unfit(self, code: str, error: OutputError) -> Outcome:
        """Make the outcome of a call that did run and gave what nobody can use."""
        tool_id = self.authorized.tool.id
        text = f"{tool_id} did run, but {error.text}. Do not repeat it for that reason."
        return self.outcome(Ending(Status.FAILED, code, bounded(text)), error.result)

    def _late_job(self, job: Job) -> None:
        late(self, job.value, job.error)

    def _late_task(self, task: asyncio.Task[Any]) -> None:
        self.runtime.leftovers.discard(task)
        if task.cancelled():
            late(self, None, asyncio.CancelledError())
        else:
            error = task.exception()
            late(self, None if error is not None else task.result(), error)


def _roll() -> float:
    # The module ``random`` costs more to import than jitter is worth.
    return int.from_bytes(os.urandom(4)) / 0xFFFFFFFF


async def _awaited(value: Any) -> Any:
    return await value
