"""Whether, and when, a failed call is tried again: arithmetic only, no clock.

Trying again needs three yeses: the tool declares that its call may be replayed
(``idempotent`` is ``yes``, or ``keyed`` and there is a key), the failure is a passing
one *raised as such*, and policy allows another attempt. Anything unclear is a no.
"""

from __future__ import annotations

import errno
import math

from typing import Any, Protocol

import attrs

from .errors import Transient
from .vocabulary import Idempotence


__all__ = [
    "Again",
    "RetryTerms",
    "Stop",
    "asked_delay",
    "backoff",
    "is_transient",
    "plan",
    "replayable",
    "tighten",
    "within",
]

# A remote that asks for longer than this is not waited for: the call ends and says so.
LONGEST_WAIT = 300.0
# Beyond a day the number is taken for nonsense, and back-off decides.
_NONSENSE = 86_400.0

_PASSING = frozenset({errno.EAGAIN, errno.EBUSY, errno.EMFILE, errno.ENFILE})


class RetryTerms(Protocol):
    """What policy says about trying again.

    ``attempts`` counts the first one; ``base`` and ``cap`` are seconds of back-off.
    """

    @property
    def attempts(self) -> int:
        """Most attempts of one call, the first included."""

    @property
    def base(self) -> float:
        """Back-off before the second attempt, in seconds."""

    @property
    def cap(self) -> float:
        """Longest back-off, in seconds."""


@attrs.frozen
class Again:
    """Try again after ``delay`` seconds."""

    delay: float


@attrs.frozen
class Stop:
    """Do not try again; ``reason`` is a clause that completes a sentence."""

    reason: str


def is_transient(failure: BaseException) -> bool:
    """Whether a failure says of itself that it may pass.

    Only the exception that was raised counts, never its cause or its message: a tool
    that wraps a failure has decided what it means.
    """
    if isinstance(failure, Transient | ConnectionError | TimeoutError):
        return True
    return isinstance(failure, OSError) and failure.errno in _PASSING


def replayable(idempotent: Idempotence, key: str) -> bool:
    """Whether a tool's declaration allows the same call to be sent twice."""
    if idempotent is Idempotence.YES:
        return True
    return idempotent is Idempotence.KEYED and bool(key)


def asked_delay(failure: BaseException) -> float | None:
    """Return the seconds that a failure asks to wait, or None if it says nothing usable."""
    asked = getattr(failure, "retry_after", None)
    if isinstance(asked, bool) or not isinstance(asked, int | float):
        return None
    if not math.isfinite(asked) or not 0 <= asked <= _NONSENSE:
        return None
    return float(asked)


def backoff(attempt: int, terms: RetryTerms, roll: float) -> float:
    """Return the pause after an attempt: doubled each time, capped, half of it jitter."""
    # 2**60 already exceeds any cap; without the bound a large count would overflow.
    whole = min(terms.cap, terms.base * 2.0 ** min(attempt - 1, 60))
    return max(0.0, whole) * (0.5 + 0.5 * roll)


def plan(
    failure: BaseException,
    *,
    attempt: int,
    terms: RetryTerms,
    idempotent: Idempotence,
    key: str = "",
    remaining: float | None = None,
    roll: float = 1.0,
) -> Again | Stop:
    """Say whether a failed attempt is followed by another one, and after which pause.

    Args:
        failure: What the handler raised.
        attempt: Number of the attempt that failed, from 1.
        terms: What policy says.
        idempotent: What the tool declares.
        key: The call's idempotency key, or nothing.
        remaining: Seconds until the deadline, or None without one.
        roll: A random number from 0 to 1, which sets the jitter.
    """
    if not is_transient(failure):
        return Stop("the failure is not a passing one")
    if not replayable(idempotent, key):
        return Stop("the tool does not declare that it may be called twice")
    if attempt >= terms.attempts:
        return Stop(f"policy allows {terms.attempts} attempts")
    asked = asked_delay(failure)
    delay = backoff(attempt, terms, roll) if asked is None else asked
    return within(Again(delay), remaining)


def within(planned: Again, remaining: float | None) -> Again | Stop:
    """Give up at once where a pause is too long for the deadline or for anybody."""
    if remaining is not None and planned.delay >= remaining:
        left = max(remaining, 0.0)
        return Stop(f"waiting {planned.delay:.3g} s would pass the deadline in {left:.3g} s")
    if planned.delay > LONGEST_WAIT:
        return Stop(f"waiting {planned.delay:.3g} s is longer than {LONGEST_WAIT:.0f} s")
    return planned


def tighten(planned: Again, answer: Any, remaining: float | None = None) -> Again | Stop:
    """Apply the answer of a pack's own retry hook, which may only make it stricter.

    ``True`` keeps the plan, a number adds that many seconds; anything else forbids.
    """
    if answer is True:
        return planned
    if (
        isinstance(answer, int | float)
        and not isinstance(answer, bool)
        and math.isfinite(answer)
        and answer >= 0
    ):
        return within(Again(planned.delay + answer), remaining)
    return Stop("the pack's retry hook does not agree")
