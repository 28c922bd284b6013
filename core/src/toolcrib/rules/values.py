"""Values taken apart for matching: narrowly for what allows, widely for the rest.

Narrow: exactly the canonical value. Wide: everything that somebody could take for it,
such as another letter case, the name of a link, or a command inside another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.resources import commands, urls
from toolcrib.resources.folding import fold

from .globs import MANY, ONE, Glob, Token, fits


__all__ = ["BORDER", "command_hits", "narrow", "wide"]

#: Stands between the host and the path of an address; no part of either can equal it.
BORDER = "\0"
# A path that a server may take apart differently fits no pattern that names a path.
_UNCLEAR = ["\1"]


def narrow(type: str, value: str) -> list[str]:  # noqa: A002
    """Return the parts of a value for what allows."""
    if type == "path":
        return _folders(value)
    if type == "host":
        return [value] if ":" in value else value.split(".")
    if type == "url":
        return _address(value, exact=True)
    if type == "command":
        return commands.words(value)
    if type == "table":
        return value.split(".")
    if type == "state":
        return [] if value == "." else value.split("/")
    return [value]


def wide(type: str, value: str, spelling: str = "") -> list[list[str]]:  # noqa: A002
    """Return every list of parts that what denies or asks looks at."""
    if type == "command":
        return commands.forms(commands.words(value))
    if type == "url":
        return _addresses(value)
    found = [narrow(type, fold(value))]
    if spelling:
        found.append(narrow(type, fold(spelling)))
    return found


def _folders(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _addresses(value: str) -> list[list[str]]:
    """Return an address, and what a server makes of it that decodes before it looks."""
    found = _address(value, exact=False)
    start = found.index(BORDER) + 1
    plain: list[str] = []
    for segment in found[start:]:
        # What follows a semicolon is a parameter of the folder to some, and no name.
        name = segment.partition(";")[0]
        if name == "..":
            del plain[-1:]
        elif name not in {"", "."}:
            plain.append(name)
    return [found] if plain == found[start:] else [found, [*found[:start], *plain]]


def _address(value: str, *, exact: bool) -> list[str]:
    scheme, host, port, target = urls.parts(value)
    path = target.partition("?")[0]
    if not exact:
        for encoded in ("%2F", "%2f", "%5C", "%5c"):
            path = path.replace(encoded, "/")
        segments = [part for part in fold(path).split("/") if part]
    elif "%2F" in path or "%5C" in path or "/.;" in path or "/..;" in path:
        segments = _UNCLEAR
    else:
        segments = path.split("/")[1:]
    return [scheme, port, *narrow("host", host), BORDER, *segments]


def command_hits(tokens: Sequence[Token], forms: Sequence[Sequence[str]]) -> bool:
    """Tell whether a pattern that denies or asks names one of a command's forms.

    The program counts by its own name, wherever it lies. Options count in any order and
    spelling; one that takes a value is passed over with it.
    """
    if not tokens or tokens[0] is MANY:
        return True
    options = [t for t in tokens[1:] if _is_option(t)]
    operands = [t for t in tokens[1:] if not _is_option(t)]
    return any(
        _names(tokens[0], form)
        and all(_has_option(option, form) for option in options)
        and _has_operands(operands, form)
        for form in forms
    )


def _is_option(token: Token) -> bool:
    text = token.pieces[0] if isinstance(token, Glob) else token
    return isinstance(text, str) and len(text) > 1 and text.startswith("-") and text != "--"


def _names(token: Token, form: Sequence[str]) -> bool:
    own, full = commands.program(form), fold(form[0])
    if isinstance(token, str):
        return token in {own, full} or commands.program([token]) == own
    return fits((token,), (own,)) or fits((token,), (full,))


def _given(form: Sequence[str]) -> list[str]:
    options = []
    for word in form[1:]:
        if word == "--":
            break
        if word.startswith("-") and len(word) > 1:
            options.append(fold(word))
    return options


def _has_option(token: Token, form: Sequence[str]) -> bool:
    given = _given(form)
    if not isinstance(token, str):
        return any(fits((token,), (word,)) for word in given)
    if token in given:
        return True
    name = token.partition("=")[0]
    longs = [word.partition("=")[0] for word in given if word.startswith("--")]
    shorts = {letter for word in given if not word.startswith("--") for letter in word[1:]}
    if token.startswith("--"):
        # Programs take a long option by its beginning, and often by one letter.
        return name[2:3] in shorts or any(len(w) > 2 and name.startswith(w) for w in longs)
    letters = token[1:]
    return len(letters) <= 3 and all(
        letter in shorts or any(word[2:].startswith(letter) for word in longs)
        for letter in letters
    )


def _has_operands(tokens: Sequence[Token], form: Sequence[str]) -> bool:
    reached = _closed(tokens, {0})
    after_option = ended = False
    for raw in form[1:]:
        if not ended and raw.startswith("-") and len(raw) > 1:
            ended = raw == "--"
            after_option = not ended
            continue
        word = fold(raw)
        following = {
            position if tokens[position] is MANY else position + 1
            for position in reached
            if position < len(tokens) and _takes(tokens[position], word)
        }
        if after_option:
            # The word may be the option's value.
            following |= reached
        reached = _closed(tokens, following)
        after_option = False
    return len(tokens) in reached


def _takes(token: Token, word: str) -> bool:
    return token is MANY or token is ONE or fits((token,), (word,))


def _closed(tokens: Sequence[Token], reached: set[int]) -> set[int]:
    for position in sorted(reached):
        at = position
        while at < len(tokens) and tokens[at] is MANY:
            at += 1
            reached.add(at)
    return reached
