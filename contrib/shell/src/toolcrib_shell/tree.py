"""The parser's tree, and the certainty that it leaves nothing of the line out."""

from __future__ import annotations

import re

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .words import UnclearError


if TYPE_CHECKING:
    from tree_sitter import Node


__all__ = ["GLUE", "TOKENS", "Source", "said", "unclear"]

_BLANK = re.compile(rb"(?:[ \t\n]|(?<=[ \t\n])\\\n|\\\n(?=[ \t\n]))*")
TOKENS = frozenset({
    "\n", "&", "&&", "(", ")", ";", ";&", ";;", ";;&", "case", "do", "done", "elif", "else",
    "esac", "fi", "for", "if", "in", "select", "then", "until", "while", "{", "|", "|&", "||",
    "}", "!",
})  # fmt: skip
# Words of syntax, which count as such only if they stand alone.
_WORDS = frozenset({
    "!", "[[", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "select",
    "then", "until", "while", "{", "}",
})  # fmt: skip
# What is one word if nothing stands between.
GLUE = frozenset({
    "ansi_c_string", "arithmetic_expansion", "brace_expression", "command_name",
    "command_substitution", "concatenation", "expansion", "extglob_pattern", "number",
    "process_substitution", "raw_string", "regex", "simple_expansion", "string", "word",
    "variable_assignment", "variable_name",
})  # fmt: skip
_ENDS = re.compile(rb"[ \t\n;&|()<>]|\Z")


def unclear(text: str) -> None:
    """Give up on the line, for a reason."""
    raise UnclearError(text)


def said(kind: str) -> str:
    """Return a kind of node in words."""
    return "a " + kind.replace("_", " ")


class Source:
    """The bytes that a tree was made from."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        return _text(self.raw(node))

    def raw(self, node: Node) -> bytes:
        """Return the bytes of a node."""
        return self._source[node.start_byte : node.end_byte]

    def children(self, node: Node, *, loose: bool = True) -> Iterator[Node]:
        """Give a node's children, certain that nothing stands between them."""
        at, before = node.start_byte, ""
        for child in node.children:
            gap = self._source[at : child.start_byte]
            if loose and not gap and before in GLUE and child.type in GLUE:
                unclear(f"{self.of(child)!r} is glued to the word before it")
            before = child.type
            if gap and not (loose and _BLANK.fullmatch(gap)):
                unclear(f"{_text(gap)!r} is no blank between words")
            at = max(at, child.end_byte)
            if child.type in _WORDS and not _ENDS.match(self._source, child.end_byte):
                unclear(f"{child.type!r} is glued to what follows, and so no word of syntax")
            yield child
        gap = self._source[at : node.end_byte]
        if node.children and gap and not (loose and _BLANK.fullmatch(gap)):
            unclear(f"{_text(gap)!r} is no blank between words")

    def around(self, root: Node) -> None:
        """Make certain that nothing stands before or behind the whole tree."""
        for gap in (self._source[: root.start_byte], self._source[root.end_byte :]):
            if not _BLANK.fullmatch(gap):
                unclear(f"{_text(gap)!r} is no blank between words")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
