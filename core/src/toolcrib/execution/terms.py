"""What *execute* is given besides the call: shared machinery, and the terms of one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import attrs

from toolcrib.context import Clock
from toolcrib.outcome import Outcome
from toolcrib.retry import RetryTerms

from .deadlines import Deadlines, Later
from .loop_guard import LoopGuard
from .scheduler import Scheduler
from .threads import Threads


__all__ = ["SMALLEST", "SUMMARY", "Once", "Runtime", "Terms"]

# The least that is shown of a result: below this a note would say more than what is left.
SMALLEST = 200
# The most that is kept of a summary.
SUMMARY = 500


@attrs.frozen
class Once:
    """Retry terms of a call that is tried once."""

    attempts: int = 1
    base: float = 0.0
    cap: float = 0.0


@attrs.frozen(kw_only=True, eq=False)
class Runtime:
    """What all calls of one toolbox share.

    Attributes:
        scheduler: Hands out turns.
        threads: Runs synchronous handlers.
        clock: Time of receipts, deadlines and pauses.
        later: ``later(seconds, callback) -> handle`` with ``cancel()``; None: the loop's.
        grace: Seconds that a cancelled handler has to end, before it is left behind.
        hook_timeout: Seconds that a pack's retry hook has to answer.
        roll: Random numbers from 0 to 1, for jitter; None: the system's.
        leftovers: Tasks of handlers that were left behind; :meth:`close` ends them.
        deadlines: The one timer of all deadlines.
    """

    scheduler: Scheduler
    threads: Threads
    clock: Clock
    later: Later | None = None
    grace: float = 2.0
    hook_timeout: float = 2.0
    roll: Callable[[], float] | None = None
    leftovers: set[Any] = attrs.field(factory=set, init=False)
    deadlines: Deadlines = attrs.field(init=False)

    @deadlines.default
    def _deadlines(self) -> Deadlines:
        return Deadlines(self.clock, self.later)

    def close(self) -> None:
        """Cancel what was left behind and let idle threads end; never waits."""
        for task in tuple(self.leftovers):
            task.cancel()
        self.threads.close()


async def _at_once(function: Callable[[], Any]) -> None:
    try:
        function()
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # it must not end the task that called it
        text = f"{type(error).__name__}: {error}"
        raise RuntimeError(text) from error


@attrs.frozen(kw_only=True, eq=False)
class Terms:
    """On what terms calls of one session and tool run; may be kept and used again.

    Attributes:
        session: Key of the session, for limits and fairness.
        timeout: Seconds from the handler's first start, all attempts and pauses
            included; None: no limit.
        patience: Seconds to wait for locks and permits; None: no limit.
        retry: What policy says about trying again.
        pack_retry: The pack's retry hook, ``(failure, attempt) -> answer``, perhaps
            awaitable; None where the pack has none.
        check_schema: Problems of structured output under the tool's output schema.
        verify: Calls the tool's own check of its output, where it may take its time;
            ``TimeoutError`` says that it was late. By default it is called at once.
        guard: The session's loop guard.
        on_progress: Told what happens meanwhile, as mappings with an ``event``.
        on_late: Told the outcome of work that went on after the call had ended.
        asynchronous: False where policy refuses asynchronous handlers.
    """

    session: str
    timeout: float | None = None
    patience: float | None = None
    retry: RetryTerms = Once()
    pack_retry: Callable[[BaseException, int], Any] | None = None
    check_schema: Callable[[Any], Iterable[Any]] | None = None
    verify: Callable[[Callable[[], Any]], Awaitable[Any]] = _at_once
    guard: LoopGuard | None = None
    on_progress: Callable[[Mapping[str, Any]], None] | None = None
    on_late: Callable[[Outcome], None] | None = None
    asynchronous: bool = True

    def tell(self, event: str, **facts: Any) -> None:
        """Report progress; a listener that fails cannot hurt the call."""
        if self.on_progress is None:
            return
        try:
            self.on_progress({"event": event, **facts})
        except Exception:  # noqa: BLE001 - progress is not worth a call
            return
