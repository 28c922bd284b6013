"""Redirections: to and from files, here-strings and here-documents."""

from __future__ import annotations

import re

from collections.abc import Callable
from typing import TYPE_CHECKING

from .expansions import WordReader
from .line import Line, Redirect
from .tree import GLUE, Source, unclear
from .words import Word


if TYPE_CHECKING:
    from tree_sitter import Node


__all__ = ["RedirectionReader"]

_QUIET = re.compile(r"/dev/(?:null|stdin|stdout|stderr|fd/[0-9]+)")
_READS = frozenset({"<"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>"})


class RedirectionReader:
    """Reads redirections.

    Args:
        source: What they are made from.
        line: Where they are noted.
        words: Reads their targets.
        statement: Reads what else stands beside a here-document.
    """

    def __init__(
        self, source: Source, line: Line, words: WordReader, statement: Callable[[Node], None]
    ) -> None:
        self._source = source
        self._line = line
        self._words = words
        self._statement = statement

    def file(self, node: Node) -> None:
        """Read ``< file``, ``> file`` and copies of descriptors."""
        operator, target = self._redirected(node)
        if target is None:
            if operator not in {"<&-", ">&-"}:
                unclear("a redirection has no target")
            return
        if operator in {">&", "<&"}:
            if target.known and re.fullmatch(r"[0-9]+-?|-", target.text):
                return
            if operator == "<&":
                unclear("a descriptor is copied from what is not a number")
            operator = "&>"
        if operator not in _READS | _WRITES:
            unclear(f"the redirection {operator!r} is not known")
        if target.known and not target.tilde and _QUIET.fullmatch(target.text):
            return
        self._line.redirects.append(
            Redirect(target, writes=operator in _WRITES, reads=operator in _READS)
        )

    def _redirected(self, node: Node) -> tuple[str, Word | None]:
        operator, target = "", None
        for child in self._source.children(node):
            if child.type == "file_descriptor":
                continue
            if not child.is_named:
                operator = child.type
                continue
            if target is not None:
                # The parser takes words behind the file for more files; the shell takes
                # them for arguments.
                unclear("words stand behind a redirection")
            target = self._words.word(child)
        return operator, target

    def here_string(self, node: Node) -> None:
        """Read ``<<< word``."""
        for child in self._source.children(node):
            if child.is_named and child.type != "file_descriptor":
                self._words.word(child)
            elif child.type not in {"<<<", "file_descriptor"}:
                unclear(f"what {child.type!r} does there is not known")

    def here_document(self, node: Node) -> None:
        """Read ``<< END``, and what its body runs."""
        start = next((c for c in node.children if c.type == "heredoc_start"), None)
        if start is None:
            unclear("a here-document has no end word")
            return
        quoted = re.search(r"[\"'\\$]", self._source.of(start)) is not None
        if not re.fullmatch(r"\w+|'\w+'|\"\w+\"", self._source.of(start)):
            unclear("the end word of a here-document is not plain")
        for child in self._source.children(node):
            if child.type == "heredoc_body":
                self._words.body(child, quoted=quoted)
            elif child.type in {
                "heredoc_start",
                "heredoc_end",
                "file_descriptor",
            } or child.type in {"<<", "<<-"}:
                continue
            elif child.type in GLUE:
                # Words behind the end word are arguments of the command.
                unclear("words stand behind a here-document")
            else:
                self._statement(child)
