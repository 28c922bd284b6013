"""Find the one known name that was probably meant: cheap, because refusals are common."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


__all__ = ["nearest"]

_ENOUGH = 0.55
_LONGEST = 64


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that shares most letters and letter pairs, or None.

    A name that differs in case, hyphens or underscores only always wins.
    """
    wanted, letters, pairs = _profile(name[:_LONGEST])
    best, found = _ENOUGH, None
    for candidate in known:
        folded, others, other = _profile(candidate[:_LONGEST])
        if folded == wanted:
            return candidate
        same = 2 * len(letters & others) / (len(letters) + len(others) or 1)
        # Few common letters mean few common pairs, and are found out sooner.
        if same < _ENOUGH:
            continue
        share = (same + 2 * len(pairs & other) / (len(pairs) + len(other) or 1)) / 2
        if share > best:
            best, found = share, candidate
    return found


@lru_cache(maxsize=1_024)
def _profile(name: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a name without case, hyphens and underscores, its letters and their pairs."""
    text = name.casefold().replace("_", "").replace("-", "")
    pairs = frozenset(text[at : at + 2] for at in range(len(text) - 1))
    return text, frozenset(text), pairs
