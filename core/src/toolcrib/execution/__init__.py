"""Execute: run an authorised call under limits, locks, deadlines and honest statuses."""

from __future__ import annotations

from .budget import bound, bound_all, shown_size
from .cancellation import CancelToken, honour_cancellation
from .locks import Locks, claims_of
from .loop_guard import LoopGuard
from .scheduler import Scheduler
from .stage import execute
from .terms import Runtime, Terms
from .threads import Threads


__all__ = [
    "CancelToken",
    "Locks",
    "LoopGuard",
    "Runtime",
    "Scheduler",
    "Terms",
    "Threads",
    "bound",
    "bound_all",
    "claims_of",
    "execute",
    "honour_cancellation",
    "shown_size",
]
