"""Read a shell line with a real grammar, and trust no more of the tree than is sure.

The parser recovers from what it cannot read, and then the tree lacks something. So a
tree with an error in it is refused as a whole, every kind of node and token must be one
that is known here, and between the tokens of the tree there may be nothing but blanks.
"""

from __future__ import annotations

import re

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from .expansions import WordReader
from .line import Line, Simple
from .redirections import RedirectionReader
from .tree import TOKENS, Source, said, unclear
from .words import UnclearError, Word


if TYPE_CHECKING:
    from tree_sitter import Node, Parser


__all__ = ["read"]

_LONGEST = 200_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that the shell takes for syntax where a command begins, and the parser does not.
_RESERVED = frozenset({
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while", "{", "}",
})  # fmt: skip


@cache
def _parser() -> Parser:
    import tree_sitter  # noqa: PLC0415 - the first line that is read pays for it
    import tree_sitter_bash  # noqa: PLC0415 - as above

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read(text: str) -> Line:
    """Return what a line says. It never raises for a text: doubts are part of the answer."""
    line = Line()
    try:
        if len(text) > _LONGEST:
            unclear(f"it is longer than {_LONGEST:,} characters")
        found = _CONTROL.search(text)
        if found:
            unclear(f"it holds the control character {found[0]!r}")
        source = text.encode("utf-8")
        root = _parser().parse(source).root_node
        if root.has_error:
            unclear("it is not complete, or no shell text that can be read for certain")
        tree = Source(source)
        tree.around(root)
        Reader(tree, line).statements(root)
    except UnclearError as error:
        line.doubt(str(error))
    except UnicodeEncodeError:
        line.doubt("it holds what is no character")
    except RecursionError:
        line.doubt("it is nested too deeply")
    return line


class Reader:
    """Walks one tree, and notes in a line what it says."""

    def __init__(self, source: Source, line: Line) -> None:
        self._source = source
        self._line = line
        self._words = WordReader(source, line, self._statement)
        redirections = RedirectionReader(source, line, self._words, self._statement)
        self._kinds: dict[str, Callable[[Node], object]] = {
            "program": self.statements,
            "list": self.statements,
            "pipeline": self.statements,
            "subshell": self.statements,
            "negated_command": self.statements,
            "if_statement": self.statements,
            "elif_clause": self.statements,
            "else_clause": self.statements,
            "while_statement": self.statements,
            "do_group": self.statements,
            "comment": lambda _: None,
            "compound_statement": self._compound,
            "redirected_statement": self.statements,
            "command": self._command,
            "variable_assignment": self._assignment,
            "variable_assignments": self.statements,
            "declaration_command": self._declaration,
            "unset_command": self._unset,
            "for_statement": self._for,
            "case_statement": self._case,
            "case_item": self._case_item,
            "test_command": self._test,
            "file_redirect": redirections.file,
            "heredoc_redirect": redirections.here_document,
            "herestring_redirect": redirections.here_string,
        }

    def statements(self, node: Node) -> None:
        """Read all statements of a node."""
        for child in self._source.children(node):
            self._statement(child)

    def _statement(self, node: Node) -> None:
        if not node.is_named:
            if node.type not in TOKENS:
                unclear(f"what {node.type!r} does there is not known")
            return
        reader = self._kinds.get(node.type)
        if reader is None:
            unclear(f"{said(node.type)} is not looked into")
        else:
            reader(node)

    def _compound(self, node: Node) -> None:
        if node.children and node.children[0].type != "{":
            unclear("arithmetic as a command may run what a variable holds")
        self.statements(node)

    def _for(self, node: Node) -> None:
        for child in self._source.children(node):
            if child.type == "variable_name":
                self._line.assigned.append((self._name(child), None))
            elif child.type == "do_group" or not child.is_named:
                self._statement(child)
            else:
                self._words.word(child)

    def _case(self, node: Node) -> None:
        for child in self._source.children(node):
            if child.type == "case_item" or not child.is_named:
                self._statement(child)
            else:
                self._words.word(child)

    def _case_item(self, node: Node) -> None:
        patterns = True
        for child in self._source.children(node):
            if child.type == ")":
                patterns = False
            elif child.type == "extglob_pattern":
                # Brackets in there would be a pattern list; a substitution hides as text.
                if re.search(r"[$`()<>]", self._source.of(child)):
                    unclear("a pattern of case is more than a plain one")
            elif patterns and child.is_named:
                self._words.word(child)
            else:
                self._statement(child)

    def _test(self, node: Node) -> None:
        opened = self._source.of(node)[:2]
        if opened == "((":
            unclear("arithmetic as a command may run what a variable holds")
        if opened != "[[":
            # ``[ … ]`` is a builtin like test; its words decide what it does.
            self._single_test(node)
            return
        for child in node.children:
            self._test_part(child)
        for _ in self._source.children(node):
            pass

    def _single_test(self, node: Node) -> None:
        text = self._source.of(node)
        inner = Line()
        source = ("test" + text[1:-1]).encode()
        if not text.startswith("[") or not text.endswith("]"):
            unclear("a test is written in an unknown way")
        root = _parser().parse(source).root_node
        if root.has_error or [c.type for c in root.children] != ["command"]:
            unclear("a test is not plain words")
        Reader(Source(source), inner).statements(root)
        if len(inner.commands) < 1:
            unclear("a test is not plain words")
        self._line.commands += inner.commands
        self._line.redirects += inner.redirects
        for doubt in inner.unclear:
            self._line.doubt(doubt)

    def _test_part(self, node: Node) -> None:
        if node.type in {"binary_expression", "unary_expression", "parenthesized_expression"}:
            operators = {self._source.of(c) for c in node.children if c.type == "test_operator"}
            operators |= {c.type for c in node.children if not c.is_named}
            odd = operators - _SAFE_TESTS
            if odd:
                unclear(f"{min(odd)!r} in [[ … ]] may run what a variable or text holds")
            for child in self._source.children(node):
                self._test_part(child)
        elif node.type in {"test_operator", "comment"}:
            return
        elif node.type in {"regex", "extglob_pattern"}:
            if re.search(r"[$`<>]", self._source.of(node)):
                unclear("a pattern in [[ … ]] is more than a plain one")
        elif node.is_named:
            self._words.word(node)

    # -- commands --------------------------------------------------------------------

    def _command(self, node: Node) -> None:
        words: list[Word] = []
        env: list[tuple[str, Word]] = []
        for child in self._source.children(node):
            if child.type == "variable_assignment":
                env.append(self._set(child))
            elif child.type in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
                self._statement(child)
            elif child.type == "command_name":
                words.append(self._program(child))
            elif child.is_named:
                words.append(self._words.word(child))
            else:
                unclear(f"what {child.type!r} does there is not known")
        if not words:
            unclear("a command has no program")
        self._line.commands.append(Simple(tuple(words), tuple(env)))

    def _program(self, node: Node) -> Word:
        inner = list(self._source.children(node, loose=False))
        if len(inner) != 1:
            unclear("the name of a program is written in an unknown way")
        if self._source.of(node) in _RESERVED:
            unclear(f"{self._source.of(node)!r} is a word of the shell's own there")
        return self._words.word(inner[0])

    def _name(self, node: Node) -> str:
        """Return a variable's name; the parser takes other words for one as well."""
        name = self._source.of(node)
        if not _NAME.fullmatch(name):
            unclear(f"{name!r} is no name of a variable")
        return name

    def _set(self, node: Node) -> tuple[str, Word]:
        """Read an assignment: the name, and the value."""
        name, value = "", Word("", lead="")
        for child in self._source.children(node, loose=False):
            if child.type == "variable_name":
                name = self._name(child)
            elif child.type == "subscript":
                unclear("the place in a list is arithmetic, which may run what it names")
            elif child.type == "array":
                for each in self._source.children(child):
                    if each.is_named:
                        self._words.word(each)
                value = Word("(…)", known=False)
            elif child.is_named:
                value = self._words.word(child)
            elif child.type == "+=":
                value = Word("", known=False)
        if "+=" in [c.type for c in node.children]:
            value = Word(value.text, known=False)
        return name, value

    def _assignment(self, node: Node) -> None:
        self._line.assigned.append(self._set(node))

    def _declaration(self, node: Node) -> None:
        children = list(self._source.children(node))
        words = [Word(children[0].type, lead=children[0].type)]
        for child in children[1:]:
            if child.type == "variable_assignment":
                name, value = self._set(child)
                self._line.assigned.append((name, value))
                text = f"{name}={value.text}"
                words.append(Word(text, known=value.known, lead=f"{name}="))
            elif child.type == "variable_name":
                words.append(Word(self._source.of(child), lead=self._source.of(child)))
            elif child.is_named:
                words.append(self._words.word(child))
            else:
                unclear(f"what {child.type!r} does there is not known")
        self._line.commands.append(Simple(tuple(words)))

    def _unset(self, node: Node) -> None:
        children = list(self._source.children(node))
        words = [Word("unset", lead="unset")]
        for child in children[1:]:
            if child.type == "variable_name":
                words.append(Word(self._source.of(child), lead=self._source.of(child)))
            else:
                words.append(self._words.word(child))
        self._line.commands.append(Simple(tuple(words)))


# What [[ … ]] may compare without arithmetic and without looking variables up.
_SAFE_TESTS = frozenset({
    "!", "!=", "&&", "(", ")", "-L", "-S", "-b", "-c", "-d", "-e", "-ef", "-f", "-g", "-h",
    "-k", "-n", "-nt", "-ot", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z", "<", "=", "==",
    "=~", ">", "||", "[[", "]]",
})  # fmt: skip
