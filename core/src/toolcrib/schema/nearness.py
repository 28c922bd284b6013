"""Find the one known name that was probably meant: cheap, because refusals are common."""

from __future__ import annotations

from collections.abc import Iterable


__all__ = ["nearest"]

_ENOUGH = 0.55
_LONGEST = 64


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that shares most letters and letter pairs, or None.

    A name that differs in case, hyphens or underscores only always wins.
    """
    wanted = _fold(name)
    letters, pairs = set(wanted), _pairs(wanted)
    best, found = _ENOUGH, None
    for candidate in known:
        folded = _fold(candidate)
        if folded == wanted:
            return candidate
        others = set(folded)
        same = 2 * len(letters & others) / (len(letters) + len(others) or 1)
        # Few common letters mean few common pairs, and are found out sooner.
        if same < _ENOUGH:
            continue
        other = _pairs(folded)
        share = (same + 2 * len(pairs & other) / (len(pairs) + len(other) or 1)) / 2
        if share > best:
            best, found = share, candidate
    return found


def _fold(name: str) -> str:
    return name[:_LONGEST].casefold().replace("_", "").replace("-", "")


def _pairs(text: str) -> set[str]:
    return {text[at : at + 2] for at in range(len(text) - 1)}
