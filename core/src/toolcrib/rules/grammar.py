"""From the text of a rule to its pieces, with the column of what is wrong."""

from __future__ import annotations

import re

from toolcrib.resources import commands

from .globs import split


__all__ = ["Piece", "SyntaxTroubleError", "escape", "exact", "pieces_of", "quote", "word"]

_VERDICT = re.compile(r"\s*(\S+)")
_BARE_TOOL = re.compile(r'(?:\\.|[^\s(),"\\])+')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_BARE_VALUE = re.compile(r'(?:\\.|[^,()"\\])+')
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"')
_BLANK = re.compile(r"\s*")
_PLAIN = re.compile(r"[^\s,()\"\\'!][^,()\"\\']*")


class SyntaxTroubleError(ValueError):
    """Raised when a text is no rule; ``column`` is where, from 0."""

    def __init__(self, text: str, column: int) -> None:
        self.column = column
        super().__init__(text)


class Piece:
    """A piece of a rule and its column."""

    __slots__ = ("column", "negated", "text")

    def __init__(self, text: str, column: int, *, negated: bool = False) -> None:
        self.text = text
        self.column = column
        self.negated = negated


def pieces_of(text: str) -> tuple[Piece, Piece, list[tuple[Piece, Piece]]]:
    """Cut a rule into verdict, tool pattern and fields.

    Raises:
        SyntaxTroubleError: it does not have the form of a rule.
    """
    verdict = _VERDICT.match(text)
    if verdict is None:
        message = "a rule reads: allow|ask|deny tool(field=pattern, …)"
        raise SyntaxTroubleError(message, 0)
    at = _skip(text, verdict.end())
    tool, at = _value(text, at, _BARE_TOOL, "a tool, such as files.read or mcp.github.*")
    at = _skip(text, at)
    fields: list[tuple[Piece, Piece]] = []
    if at < len(text) and text[at] == "(":
        fields, at = _fields(text, at)
        at = _skip(text, at)
    if at < len(text):
        message = "the rule should end here; put a pattern with ( ) or , in double quotes"
        raise SyntaxTroubleError(message, at)
    return Piece(verdict[1], verdict.start(1)), tool, fields


def _fields(text: str, at: int) -> tuple[list[tuple[Piece, Piece]], int]:
    opened = at
    fields: list[tuple[Piece, Piece]] = []
    while True:
        at = _skip(text, at + 1)
        name = _NAME.match(text, at)
        if name is None:
            message = "expected a field, such as path=src/**"
            raise SyntaxTroubleError(message, at)
        at = _skip(text, name.end())
        if at >= len(text) or text[at] != "=":
            message = f"expected '=' after {name[0]!r}"
            raise SyntaxTroubleError(message, at)
        at = _skip(text, at + 1)
        negated = text[at : at + 1] == "!"
        at = _skip(text, at + 1) if negated else at
        value, at = _value(text, at, _BARE_VALUE, f"a pattern for {name[0]}")
        value.negated = negated
        fields.append((Piece(name[0], name.start()), value))
        at = _skip(text, at)
        if at >= len(text):
            message = "the parenthesis is not closed"
            raise SyntaxTroubleError(message, opened)
        if text[at] == ")":
            return fields, at + 1
        if text[at] != ",":
            message = "expected ',' or ')'; put a pattern with ( ) \" or , in double quotes"
            raise SyntaxTroubleError(message, at)


def _value(text: str, at: int, bare: re.Pattern[str], what: str) -> tuple[Piece, int]:
    if text[at : at + 1] == '"':
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            message = "the quote is not closed"
            raise SyntaxTroubleError(message, at)
        return Piece(quoted[1], at + 1), quoted.end()
    match = bare.match(text, at)
    if match is None or not match[0].strip():
        message = f"expected {what}"
        raise SyntaxTroubleError(message, at)
    return Piece(match[0].rstrip(), at), match.end()


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def escape(text: str) -> str:
    """Return a pattern that fits exactly one text."""
    return re.sub(r"([\\*\"])", r"\\\1", text)


def exact(type: str, value: str) -> str:  # noqa: A002
    """Return the pattern that fits one resource and, for addresses, what lies below it."""
    if type == "command":
        return " ".join(word(each) for each in commands.words(value))
    if type == "url":
        value = value.partition("?")[0]
    return escape(value)


def word(text: str) -> str:
    """Return the pattern that fits exactly one word of a command."""
    escaped = escape(text).replace("'", "\\'")
    return "\\ ".join(escaped.split(" ")) if text else "''"


def quote(pattern: str) -> str:
    """Return a pattern as it stands in a rule, in double quotes where it must."""
    if _PLAIN.fullmatch(pattern) and pattern == pattern.strip():
        return pattern
    # Inside quotes only a double quote ends the pattern; one that is escaped stays so.
    return '"' + '\\"'.join(piece for _, piece in split(pattern, '"')) + '"'
