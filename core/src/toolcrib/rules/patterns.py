"""Patterns of fields: read by type, then bound to a workspace and a width."""

from __future__ import annotations

import re

import attrs

from toolcrib.resources import hosts
from toolcrib.vocabulary import Access, Effect, Mode

from .globs import MANY, ONE, Token, segment, split
from .values import BORDER


__all__ = ["CONDITIONS", "TYPES", "Pattern", "PatternError", "is_type", "read"]

#: Fields that match resources of the type of the same name.
TYPES = ("path", "host", "url", "command", "server", "table", "state")
#: Fields that look at the call or at who makes it, and what may stand there.
CONDITIONS: dict[str, frozenset[str] | None] = {
    "effect": frozenset(Effect),
    "access": frozenset(Access),
    "mode": frozenset(Mode),
    "agent": None,
    "principal": None,
}
_CUSTOM = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", re.ASCII)
_SCHEMES = ("http", "https", "ws", "wss", "ftp")
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
_URL = re.compile(r"([^/:]*)://([^/?#]*)([^?#]*)(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)")


class PatternError(ValueError):
    """Raised when a pattern cannot be read; ``offset`` is where."""

    def __init__(self, text: str, offset: int = 0) -> None:
        self.offset = offset
        super().__init__(text)


@attrs.frozen
class Pattern:
    """One field's pattern: tokens, and for paths where they start.

    ``start`` is ``/`` (the root), ``~`` (home), ``.`` (the workspace) or ``*`` (a path
    that begins with ``**``).
    """

    type: str
    tokens: tuple[Token, ...]
    start: str = ""


def is_type(name: str) -> bool:
    """Tell whether a field's name is a resource type, a pack's own included."""
    return name in TYPES or _CUSTOM.fullmatch(name) is not None


def read(type: str, text: str) -> Pattern:  # noqa: A002
    """Read a pattern.

    Raises:
        PatternError: it could match nothing, or not what it seems to.
    """
    if not text:
        message = "a pattern cannot be empty"
        raise PatternError(message)
    reader = _READERS.get(type)
    if reader is not None:
        return reader(text)
    if type in CONDITIONS:
        return _condition(type, text)
    return Pattern(type, (_token(text, 0),))


def _token(text: str, offset: int) -> Token:
    try:
        return segment(text)
    except ValueError as error:
        raise PatternError(str(error), offset) from error


def _condition(type: str, text: str) -> Pattern:  # noqa: A002
    allowed = CONDITIONS[type]
    if allowed is not None and text not in allowed:
        message = f"{text!r} is no {type}; one of {', '.join(sorted(allowed))}"
        raise PatternError(message)
    return Pattern(type, (_token(text, 0),))


def _path(text: str) -> Pattern:
    slip = next((m for m in _ESCAPED.finditer(text) if m[1].isalnum()), None)
    if slip is not None:
        message = "write '/' between folders; a backslash escapes what follows it"
        raise PatternError(message, slip.start())
    start = "."
    pieces = [(offset, piece) for offset, piece in split(text, "/") if piece]
    if text.startswith("/") or re.match(r"[A-Za-z]:/", text):
        start = "/"
    elif pieces and pieces[0][1] == "~":
        start = "~"
        pieces = pieces[1:]
    tokens: list[Token] = []
    for offset, piece in pieces:
        if piece == ".":
            continue
        if piece == ".." and (start != "." or any(known != ".." for known in tokens)):
            message = "'..' may only stand at the start of a relative path"
            raise PatternError(message, offset)
        tokens.append(_token(piece, offset))
    if text.endswith("/") and not (tokens and tokens[-1] is MANY):
        tokens.append(MANY)
    if start == "." and tokens and tokens[0] is MANY:
        start = "*"
    return Pattern("path", tuple(tokens), start)


def _host(text: str, base: int = 0) -> Pattern:
    if "*" not in text:
        try:
            name = hosts.canonical(text)
        except ValueError as error:
            message = f"{error} (give the name alone: no scheme, port or path)"
            raise PatternError(message, base) from error
        return Pattern("host", tuple([name] if ":" in name else name.split(".")))
    tokens: list[Token] = []
    for position, (offset, label) in enumerate(split(text.removesuffix("."), ".")):
        if label in {"*", "**"}:
            tokens.append(MANY if text in {"*", "**"} else ONE)
            if position == 0 and len(text) > 2:
                tokens.append(MANY)
            continue
        if "*" in label:
            message = "'*' stands for whole labels of a host, such as in *.example.com"
            raise PatternError(message, base + offset)
        try:
            tokens.append(hosts._encoded(label))  # noqa: SLF001 - one label, not a host
        except ValueError as error:
            raise PatternError(str(error), base + offset) from error
        if not re.fullmatch(r"[a-z0-9_-]+", str(tokens[-1])):
            message = f"{label!r} is not a label of a host"
            raise PatternError(message, base + offset)
    return Pattern("host", tuple(tokens))


def _url(text: str) -> Pattern:
    match = _URL.fullmatch(text)
    if match is None:
        message = "write scheme and host, such as https://example.com/docs, or use host="
        raise PatternError(message)
    scheme, authority, path, rest = match.groups()
    if scheme != "*" and scheme.lower() not in _SCHEMES:
        message = f"the scheme is one of {', '.join(_SCHEMES)} or *"
        raise PatternError(message)
    if rest:
        message = "the pattern of an address ends before its query"
        raise PatternError(message, match.start(4))
    bracket = authority.rfind("]")
    colon = authority.find(":", bracket + 1)
    name, port = (authority, "") if colon < 0 else (authority[:colon], authority[colon + 1 :])
    host = _host(name, match.start(2))
    if port and port != "*" and not port.isdecimal():
        message = f"{port!r} is no port"
        raise PatternError(message, match.start(2) + colon + 1)
    port = "" if port == _PORTS.get(scheme.lower()) else port
    tokens: list[Token] = [
        ONE if scheme == "*" else scheme.lower(),
        ONE if port == "*" else port,
    ]
    tokens += [*host.tokens, BORDER]
    tokens += [
        _token(piece, match.start(3) + offset) for offset, piece in split(path, "/") if piece
    ]
    if tokens[-1] is not MANY:
        tokens.append(MANY)
    return Pattern("url", tuple(tokens))


def _command(text: str) -> Pattern:
    tokens = [_token(word, offset) for offset, word in _words(text)]
    if not tokens:
        message = "a command pattern names a program"
        raise PatternError(message)
    if tokens[-1] is ONE:
        tokens[-1] = MANY
    return Pattern("command", tuple(tokens))


def _words(text: str) -> list[tuple[int, str]]:
    """Cut a command pattern at blanks; in single quotes everything is literal."""
    words: list[tuple[int, str]] = []
    word, start, at = "", -1, 0
    while at < len(text):
        character = text[at]
        if character == "'":
            end = text.find("'", at + 1)
            if end < 0:
                message = "a single quote is not closed; write \\' for the character"
                raise PatternError(message, at)
            word += re.sub(r"([*\\])", r"\\\1", text[at + 1 : end])
            start, at = (at if start < 0 else start), end + 1
            continue
        if character == " ":
            if start >= 0:
                words.append((start, word))
            word, start, at = "", -1, at + 1
            continue
        step = 2 if character == "\\" else 1
        word += text[at : at + step]
        start, at = (at if start < 0 else start), at + step
    if start >= 0:
        words.append((start, word))
    return words


def _table(text: str) -> Pattern:
    return Pattern("table", tuple(_token(part, offset) for offset, part in split(text, ".")))


def _state(text: str) -> Pattern:
    pieces = [(offset, piece) for offset, piece in split(text, "/") if piece not in {"", "."}]
    return Pattern("state", tuple(_token(piece, offset) for offset, piece in pieces))


_READERS = {
    "path": _path,
    "host": _host,
    "url": _url,
    "command": _command,
    "table": _table,
    "state": _state,
}
