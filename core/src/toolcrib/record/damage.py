"""What is stored and cannot be read: one way to say so, wherever it is met."""

from __future__ import annotations

import functools

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from toolcrib.errors import RecordError


__all__ = ["readable"]

P = ParamSpec("P")
T = TypeVar("T")

_ADVICE = (
    "'toolcrib ledger verify' says where; save the file, then move it aside (with its -wal "
    "and -shm files) and start again"
)


def readable(read: Callable[P, T]) -> Callable[P, T]:
    """Let a function that reads what is stored raise ``RecordError`` where it is damaged.

    Whatever writes the file checks what it writes, so a form that is wrong was changed
    afterwards: on the disk, or by somebody.
    """

    @functools.wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            text = f"the ledger is damaged: an entry cannot be read ({type(error).__name__}); "
            raise RecordError(text + _ADVICE) from error

    return reading
