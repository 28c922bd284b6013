"""Words as the parser gives them, with every command that an expansion in them runs."""

from __future__ import annotations

import re

from collections.abc import Callable
from typing import TYPE_CHECKING

from .line import Line
from .tree import TOKENS, Source, said, unclear
from .words import Word, ansi_text, double_text, joined


if TYPE_CHECKING:
    from tree_sitter import Node


__all__ = ["WordReader"]

_EXPANSIONS = frozenset({
    "arithmetic_expansion", "command_substitution", "expansion", "process_substitution",
    "simple_expansion",
})  # fmt: skip
_AFTER_NAME = ("", ":", "-", "+", "=", "?", "%", "/")


class WordReader:
    """Reads words.

    Args:
        source: What they are made from.
        line: Where the commands and assignments in them are noted.
        statement: Reads a statement inside of a substitution.
    """

    def __init__(self, source: Source, line: Line, statement: Callable[[Node], None]) -> None:
        self._source = source
        self._line = line
        self._statement = statement

    def word(self, node: Node) -> Word:
        """Return a word, and note every command in it."""
        source = self._source.of(node)
        if node.type in {"word", "number", "regex", "extglob_pattern"} and not node.children:
            return joined([source], source)
        if node.type == "concatenation":
            children = self._source.children(node, loose=False)
            return joined([self._piece(child) for child in children], source)
        return joined([self._piece(node)], source)

    def _piece(self, node: Node) -> Word | str:
        """Return a piece of a word: unquoted text as it is, or what is known of it."""
        source = self._source.of(node)
        kind = node.type
        if kind in {"word", "number", "brace_expression"}:
            if any(c.is_named and c.type != "number" for c in node.children):
                unclear(f"{source!r} is written in an unknown way")
            return source
        if kind == "raw_string":
            return Word(source[1:-1], lead=source[1:-1])
        if kind == "ansi_c_string":
            text = ansi_text(source[2:-1])
            return Word(text, lead=text)
        if kind == "string":
            return self._string(node)
        if kind in _EXPANSIONS:
            return self._expansion(node)
        if not node.is_named and re.fullmatch(r"[\w.,:%@+=/^~!-]+|[{}\[\]]", source):
            return source
        unclear(f"{said(kind)} in a word is not looked into")
        return ""

    def _string(self, node: Node) -> Word:
        source = self._source.of(node)
        if not (source.startswith('"') and source.endswith('"') and len(source) > 1):
            unclear("a text in quotes is written in an unknown way")
        base, at = node.start_byte, 1
        raw = self._source.raw(node)
        text, lead, known, many = "", "", True, False
        for child in node.children:
            if child.type not in _EXPANSIONS:
                continue
            before = raw[at : child.start_byte - base]
            piece = self._expansion(child)
            value = self._literal(before)
            text += value
            lead = lead + value if known else lead
            known = False
            # "$@" and "${list[@]}" are several words even in quotes.
            many |= "@" in self._source.of(child) and child.type in {
                "expansion",
                "simple_expansion",
            }
            text += piece.text
            at = child.end_byte - base
        value = self._literal(raw[at:-1])
        text += value
        lead = lead + value if known else lead
        return Word(text, known=known, lead=lead, many=many)

    def _literal(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace")
        bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
        if "`" in bare or re.search(r"\$[\w({\[@*#?$!-]", bare):
            unclear("a text in quotes holds an expansion that is not understood")
        return double_text(text)

    def _expansion(self, node: Node) -> Word:
        source = self._source.of(node)
        if node.type in {"command_substitution", "process_substitution"}:
            return self._substitution(node)
        if node.type == "simple_expansion":
            name = source[1:]
            return Word(source, known=False, many=not re.fullmatch(r"[#?$!]", name))
        if node.type == "arithmetic_expansion":
            return self._arithmetic(node)
        return self._parameter(node)

    def _substitution(self, node: Node) -> Word:
        """Note the commands of a substitution."""
        source = self._source.of(node)
        if node.type == "command_substitution":
            if source.startswith("`") and "\\" in source:
                unclear("a backslash between backquotes is not looked into")
            if source.startswith("$(("):
                unclear("a substitution that starts like arithmetic is not looked into")
        for child in self._source.children(node):
            if child.is_named:
                self._statement(child)
            elif child.type not in {"$(", "`", "<(", ">(", ")"} | TOKENS:
                unclear(f"what {child.type!r} does there is not known")
        if node.type == "process_substitution":
            # It becomes the name of a pipe, one word.
            return Word(source, known=False, lead="/dev/fd/")
        return Word(source, known=False, many=True)

    def _arithmetic(self, node: Node) -> Word:
        source = self._source.of(node)
        if re.search(r"[A-Za-z_`$\[]", source[1:]):
            unclear("arithmetic with a name in it may run what the variable holds")
        return Word(source, known=False, lead="")

    def _parameter(self, node: Node) -> Word:
        source = self._source.of(node)
        head = re.match(r"\$\{(#?)(\w+|[@*#?$!-])(\[[@*0-9]+\])?", source)
        if head is None:
            unclear(f"{source!r} looks a variable up by a name that it holds")
            raise AssertionError
        rest = source[head.end() : -1]
        if re.match(r"\w", head[2]) is None and rest[:1] not in _AFTER_NAME:
            # ``${!x}`` is no ``$!``: it takes what x holds for a name, or for arithmetic.
            unclear(f"{source!r} looks a variable up by a name that it holds")
        if rest.startswith("@"):
            unclear(f"{source!r} may run what the variable holds")
        part = rest.startswith(":") and not re.match(r":[-=?+]", rest)
        if part and not re.fullmatch(r":[0-9]+(:[0-9]+)?|: -[0-9]+", rest):
            unclear("the part of a variable is arithmetic that is not understood")
        if re.match(r":?=", rest):
            self._line.assigned.append((head[2], None))
        self._inside(node, rest)
        return Word(source, known=False, many=not head[1])

    def _inside(self, node: Node, rest: str) -> None:
        """Note what stands inside of ``${…}``, certain that nothing else does."""
        source = self._source.of(node)
        for child in node.children:
            if child.type in _EXPANSIONS | {"string", "concatenation", "array"}:
                self.word(child)
            elif child.type in {"raw_string", "ansi_c_string"} or child.type == "subscript":
                continue
            elif re.search(r"[`]|\$[({]", self._source.of(child)) and child.type != "${":
                unclear(f"{source!r} is not looked into")
        dollars = rest.count("$(") + rest.count("`") + rest.count("${") + rest.count("<(")
        seen = sum(
            self._source.of(c).count(form)
            for c in node.children
            if c.type in _EXPANSIONS | {"string", "concatenation"}
            for form in ("$(", "`", "${", "<(")
        )
        if dollars != seen:
            unclear(f"{source!r} is not looked into")

    def body(self, node: Node, *, quoted: bool) -> None:
        """Note the commands in the body of a here-document."""
        if quoted:
            return
        text = self._source.of(node)
        if "`" in text:
            unclear("a here-document holds a backquote")
        seen = text.count("$")
        held = 0
        for child in node.children:
            if child.type in _EXPANSIONS:
                held += self._source.of(child).count("$")
                self.word(child)
        literal = sum(text.count(form) for form in ("\\$", "$ ", "$\n"))
        if seen > held + literal:
            unclear("a here-document holds a dollar sign that is not understood")
