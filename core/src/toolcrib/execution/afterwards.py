"""What comes after a handler: the check of its output, and results that come late."""

from __future__ import annotations

import asyncio
import functools

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolcrib.errors import ToolFailure
from toolcrib.outcome import Outcome

from .failures import of_exception
from .values import OutputError, unstructured, unverified


if TYPE_CHECKING:
    from .running import Run


__all__ = ["checked", "late"]


async def checked(run: Run, outcome: Outcome, check: Callable[[Any], Any]) -> Outcome:
    """Have the tool's own function look at the output; what goes wrong is a failure."""
    if not outcome.ok:
        return outcome
    look = functools.partial(check, outcome.result.structured)
    task = asyncio.ensure_future(run.terms.verify(look))
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            # The call did run; its check has a deadline of its own.
            run.token.delivered()
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is None:
        return outcome
    code, text = unverified(error)
    return run.unfit(code, OutputError(text, unstructured(outcome.result)))


def late(run: Run, value: Any, error: BaseException | None) -> None:
    """Tell how work ended that went on after its call had an outcome."""
    if run.terms.on_late is None:
        return
    if error is None:
        outcome = run.finished(value)
        check = run.implementation.companions.check_output
        if check is not None:
            work = asyncio.get_running_loop().create_task(_later(run, outcome, check))
            run.runtime.leftovers.add(work)
            work.add_done_callback(run.runtime.leftovers.discard)
            return
    elif isinstance(error, ToolFailure):
        outcome = run.outcome(of_exception(error, run.authorized, run.attempts))
    else:
        outcome = run.outcome(run.interrupted(error))
    _tell(run, outcome)


async def _later(run: Run, outcome: Outcome, check: Callable[[Any], Any]) -> None:
    _tell(run, await checked(run, outcome, check))


def _tell(run: Run, outcome: Outcome) -> None:
    if run.terms.on_late is None:  # pragma: no cover - asked before
        return
    try:
        run.terms.on_late(outcome)
    except Exception:  # noqa: BLE001 - nobody is left to be told
        return
