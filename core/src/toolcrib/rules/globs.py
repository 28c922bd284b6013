"""Globs over lists of parts: folders, host labels, words of a command, pieces of a name.

Only ``*`` and ``**`` are special, so brackets and question marks in file names stand for
themselves. Matching takes at most (parts x tokens) steps: no pattern and no value can
make it slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

import attrs

from toolcrib.resources.folding import fold


__all__ = [
    "MANY",
    "ONE",
    "Glob",
    "Token",
    "fits",
    "fold_token",
    "reaches",
    "segment",
    "split",
    "within",
]


class _Wild(Enum):
    ONE = "*"
    MANY = "**"

    def __repr__(self) -> str:
        return self.value


#: Any one part.
ONE: Final = _Wild.ONE
#: Any number of parts, none included.
MANY: Final = _Wild.MANY


@attrs.frozen
class Glob:
    """A part with stars in it; ``pieces`` are the literal texts around them."""

    pieces: tuple[str, ...]

    def fits(self, text: str) -> bool:
        """Tell whether a text fits, stars standing for any characters."""
        first, last = self.pieces[0], self.pieces[-1]
        if len(text) < len(first) + len(last):
            return False
        if not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for piece in self.pieces[1:-1]:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True


Token = str | Glob | _Wild


def split(text: str, separator: str) -> Iterator[tuple[int, str]]:
    """Cut a pattern at a character that no backslash escapes; give offsets as well."""
    start = at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == separator:
            yield start, text[start:at]
            start = at + 1
        at += 1
    yield start, text[start:]


def segment(text: str) -> Token:
    """Read one part of a pattern.

    Raises:
        ValueError: ``**`` is only a piece of the part, or a backslash ends it.
    """
    pieces = [""]
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
            if at == len(text):
                message = "a backslash needs a character to escape"
                raise ValueError(message)
            pieces[-1] += text[at]
        elif character == "*":
            pieces.append("")
        else:
            pieces[-1] += character
        at += 1
    if len(pieces) == 1:
        return pieces[0]
    if pieces == ["", ""]:
        return ONE
    if pieces == ["", "", ""]:
        return MANY
    if "" in pieces[1:-1]:
        message = "'**' stands for whole parts; write it between separators"
        raise ValueError(message)
    return Glob(tuple(pieces))


def fold_token(token: Token) -> Token:
    """Return a token for folded texts."""
    if isinstance(token, str):
        return fold(token)
    if isinstance(token, Glob):
        return Glob(tuple(fold(piece) for piece in token.pieces))
    return token


def _fits_one(token: Token, part: str) -> bool:
    if isinstance(token, str):
        return token == part
    return token is ONE or (isinstance(token, Glob) and token.fits(part))


def fits(tokens: Sequence[Token], parts: Sequence[str]) -> bool:
    """Tell whether parts fit tokens.

    Going back to the last ``**`` only is enough: an earlier one could take no more than
    the last one can.
    """
    i = j = 0
    star, mark = -1, 0
    while i < len(parts):
        if j < len(tokens) and tokens[j] is MANY:
            star, mark = j, i
            j += 1
        elif j < len(tokens) and _fits_one(tokens[j], parts[i]):
            i += 1
            j += 1
        elif star >= 0:
            mark += 1
            i, j = mark, star + 1
        else:
            return False
    return all(token is MANY for token in tokens[j:])


def reaches(tokens: Sequence[Token], parts: Sequence[str]) -> bool:
    """Tell whether some parts that begin with these, and go on, fit tokens."""
    states = {0}
    for part in parts:
        following = set()
        for state in _through(tokens, states):
            if state < len(tokens):
                token = tokens[state]
                if token is MANY:
                    following.add(state)
                elif _fits_one(token, part):
                    following.add(state + 1)
        states = following
    return any(state < len(tokens) for state in _through(tokens, states))


def _through(tokens: Sequence[Token], states: Iterable[int]) -> set[int]:
    """Return states with those behind a ``**``, which may stand for nothing."""
    found = set(states)
    for state in states:
        at = state
        while at < len(tokens) and tokens[at] is MANY:
            at += 1
            found.add(at)
    return found


def _covers(wide: Token, narrow: Token) -> bool:
    """Tell whether every part that fits one token surely fits another."""
    if wide == narrow or wide is ONE:
        return narrow is not MANY
    if not isinstance(wide, Glob) or narrow is ONE or narrow is MANY:
        return False
    if isinstance(narrow, str):
        return wide.fits(narrow)
    return (
        len(wide.pieces) == 2
        and narrow.pieces[0].startswith(wide.pieces[0])
        and narrow.pieces[-1].endswith(wide.pieces[-1])
    )


def within(narrow: Sequence[Token], wide: Sequence[Token]) -> bool:
    """Tell whether all that fits one pattern surely fits another; False where unsure."""
    reached = {0}
    for token in [*narrow, None]:
        # A '**' of the wide pattern may also stand for nothing.
        for position in sorted(reached):
            at = position
            while at < len(wide) and wide[at] is MANY:
                at += 1
                reached.add(at)
        if token is None:
            break
        following = set()
        for position in reached:
            if position == len(wide):
                continue
            if wide[position] is MANY:
                following.add(position)
            elif token is not MANY and _covers(wide[position], token):
                following.add(position + 1)
        reached = following
    return len(wide) in reached
