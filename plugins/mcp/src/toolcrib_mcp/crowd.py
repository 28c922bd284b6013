"""How many connections are open at once, and which of them makes room for another.

Who has shown a token is not kept out by those who have not, and no token by another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Protocol, TypeVar


__all__ = ["HOLDER", "Held", "room", "share", "to_make_room"]

HOLDER = "toolcrib.holder"
"""Key in a request's scope under which stands (principal, token), once that is known."""

_MOST = 2048
_LEAST_SHARE = 16
# Files that the process needs besides: its own, those of tools, and connections that were
# taken and are about to be refused.
_RESERVE = 320
_UNKNOWN = 1024


class Held(Protocol):
    """A connection, as far as its room is concerned.

    Attributes:
        came: When its last request was over, or it came in; seconds of the loop.
    """

    came: float

    @property
    def holder(self) -> str | None:
        """The token that was shown on it last, if one was."""

    @property
    def at_work(self) -> bool:
        """Whether a request of it is being answered."""


Connection = TypeVar("Connection", bound=Held)


@cache
def room() -> int:
    """Return how many connections may be open: what the process's limit of files leaves."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        files = _UNKNOWN
    else:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if files == resource.RLIM_INFINITY:
            files = _MOST + _RESERVE
    return min(_MOST, max(files - _RESERVE, files // 4))


def share(whole: int, holders: int) -> int:
    """Return how much of something each token may have, so that none takes another's."""
    return max(whole // max(holders, 1), _LEAST_SHARE)


def to_make_room(held: Iterable[Connection]) -> Connection | None:
    """Return the connection that makes room for a new one; None if the new one has to go.

    First goes who has shown no token, whatever they do, the one that came first before the
    others; then one of the token that has the most of them, if nothing happens on it.
    """
    found: dict[str | None, list[Connection]] = {}
    for each in held:
        found.setdefault(each.holder, []).append(each)
    for holder in sorted(found, key=lambda h: (h is not None, -len(found[h]))):
        free = [each for each in found[holder] if holder is None or not each.at_work]
        if free:
            return min(free, key=lambda each: each.came)
    return None
