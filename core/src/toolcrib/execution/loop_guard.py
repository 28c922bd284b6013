"""Stops a call that a model repeats although it fails the same way each time."""

from __future__ import annotations

import re

from collections import OrderedDict

from toolcrib.outcome import Outcome
from toolcrib.vocabulary import Status


__all__ = ["LoopGuard"]

# Failures that say nothing about the call itself.
_IGNORED = frozenset({Status.CANCELLED, Status.NEEDS_APPROVAL, Status.BUSY})
_DIGITS = re.compile(r"0x[0-9a-f]+|\d+")


class _Count:
    __slots__ = ("failures", "refusals", "step", "way")

    def __init__(self, way: tuple[str, str]) -> None:
        self.way = way
        self.failures = 0
        self.refusals = 0
        self.step = 1


class LoopGuard:
    """Counts, per call of one session, how often it failed the same way in a row.

    Other calls in between change nothing; a success of the call, or another kind of
    failure, starts the count anew. After ``limit`` failures the call is refused; then
    it may be tried once more after one refusal, after two, after four and so on, because
    what it depends on may have been mended.

    Args:
        limit: Equal failures in a row that are let through; 0 switches the guard off.
        remembered: Calls that are remembered, the latest ones.
    """

    def __init__(self, limit: int = 3, *, remembered: int = 512) -> None:
        self._limit = limit
        self._remembered = remembered
        self._counts: OrderedDict[tuple[str, str], _Count] = OrderedDict()

    def refuses(self, tool_id: str, arguments_digest: str) -> int:
        """Return 0 if the call may run, else how often it failed the same way."""
        if not self._counts:
            return 0
        count = self._counts.get((tool_id, arguments_digest))
        if count is None or count.failures < self._limit:
            return 0
        if count.refusals >= count.step:
            count.refusals = 0
            count.step *= 2
            return 0
        count.refusals += 1
        return count.failures

    def note(self, arguments_digest: str, outcome: Outcome) -> None:
        """Learn how a call ended."""
        if outcome.status is Status.OK and not self._counts:
            return
        key = (outcome.tool_id, arguments_digest)
        if outcome.status is Status.OK:
            self._counts.pop(key, None)
            return
        if not self._limit or outcome.status in _IGNORED:
            return
        # Counters, times and addresses in a text do not make another failure of it.
        way = (outcome.code or "", _DIGITS.sub("0", outcome.text[:500]))
        count = self._counts.get(key)
        if count is None or count.way != way:
            count = self._counts[key] = _Count(way)
        count.failures += 1
        self._counts.move_to_end(key)
        if len(self._counts) > self._remembered:
            self._counts.popitem(last=False)
