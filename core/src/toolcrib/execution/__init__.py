"""Execute: run an authorised call under limits, locks, deadlines and honest statuses."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .cancellation import CancelToken
from .locks import Locks, claims_of
from .loop_guard import LoopGuard
from .scheduler import Scheduler
from .stage import execute
from .terms import Runtime, Terms
from .threads import Threads


if TYPE_CHECKING:
    from .budget import bound, bound_all, shown_size


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
    "shown_size",
]

# Most results are short, and need none of these.
_LAZY = frozenset({"bound", "bound_all", "shown_size"})


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"{__name__}.budget"), name)
