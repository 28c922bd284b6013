"""Stopping a conversation: its calls in every process, and its jobs."""

# ruff: noqa: SLF001 - a method of the toolbox in a module of its own

from __future__ import annotations

import asyncio

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import attrs

from . import names
from .jobs import FINAL


if TYPE_CHECKING:
    from .conversation.session import Session
    from .toolbox import Toolbox


__all__ = ["Stopped", "stop"]


@attrs.frozen(kw_only=True)
class Stopped:
    """What an order to stop reached.

    Attributes:
        calls: How many calls of this process were cancelled.
        jobs: Ids of jobs, run by whatever process, that were running and have ended.
        left: Ids of jobs that still run: the process that runs them has not reacted.
        told: Whether other processes hear of it, for which the ledger has to be on disk.
            They cancel their calls within a moment; the outcomes say what became of them.
    """

    calls: int
    jobs: tuple[str, ...]
    left: tuple[str, ...]
    told: bool


async def stop(toolbox: Toolbox, conversation: str, *, by: str, reason: str) -> Stopped:
    """Stop a conversation and those it started; see :meth:`toolcrib.Toolbox.stop`."""
    names.check_text("a conversation's name", conversation)
    names.check_text("who orders it", by)
    names.check_text("a reason", reason)
    # It ends a sentence, which has one full stop.
    reason = reason.rstrip(". ")
    # Written down first: nobody misses it, whatever happens to this process next.
    told = _tell(toolbox, conversation, by=by, reason=reason)
    why = f"{by} stopped the conversation{f': {reason}' if reason else ''}."
    task = asyncio.current_task()
    calls = 0
    for session in _all(toolbox._sessions):
        if f"{session.conversation}/".startswith(f"{conversation}/"):
            calls += session.underway.stop(why, task)
    records = await toolbox.jobs.stop_all(conversation)
    return Stopped(
        calls=calls,
        jobs=tuple(record.id for record in records if record.status in FINAL),
        left=tuple(record.id for record in records if record.status not in FINAL),
        told=told,
    )


def _all(sessions: Iterable[Session]) -> Iterator[Session]:
    for session in list(sessions):
        yield session
        yield from _all(session._forks)


def _tell(toolbox: Toolbox, conversation: str, *, by: str, reason: str) -> bool:
    if toolbox._opened is not None:
        toolbox.ledger.stop(conversation, by=by, reason=reason)
        return toolbox.ledger.shared
    policy = toolbox.policy
    if policy.ledger is None:
        return False
    from .record import Ledger  # noqa: PLC0415 - an open toolbox has its own

    with Ledger.open(
        policy.ledger, durability=policy.durability, clock=toolbox.clock.time
    ) as ledger:
        ledger.stop(conversation, by=by, reason=reason)
    return True
