"""Read a shell line with a real grammar, and trust no more of the tree than is sure.

The parser recovers from what it cannot read, and then the tree lacks something. So a
tree with an error in it is refused as a whole, every kind of node and token must be one
that is known here, and between the tokens of the tree there may be nothing but blanks.
"""

from __future__ import annotations

import re

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from .line import Line, Redirect, Simple
from .words import UnclearError, Word, ansi_text, double_text, joined


if TYPE_CHECKING:
    from tree_sitter import Node, Parser


__all__ = ["read"]

_LONGEST = 200_000
_BLANK = re.compile(rb"(?:[ \t\n]|(?<=[ \t\n])\\\n|\\\n(?=[ \t\n]))*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_QUIET = re.compile(r"/dev/(?:null|stdin|stdout|stderr|fd/[0-9]+)")
# Words that the shell takes for syntax where a command begins, and the parser does not.
_RESERVED = frozenset({
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "until", "while", "{", "}",
})  # fmt: skip
_TOKENS = frozenset({
    "\n", "&", "&&", "(", ")", ";", ";&", ";;", ";;&", "case", "do", "done", "elif", "else",
    "esac", "fi", "for", "if", "in", "select", "then", "until", "while", "{", "|", "|&", "||",
    "}", "!",
})  # fmt: skip
_READS = frozenset({"<"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>"})


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
            _unclear(f"it is longer than {_LONGEST:,} characters")
        found = _CONTROL.search(text)
        if found:
            _unclear(f"it holds the control character {found[0]!r}")
        source = text.encode("utf-8")
        root = _parser().parse(source).root_node
        if root.has_error:
            _unclear("it is not complete, or no shell text that can be read for certain")
        Reader(source, line).statements(root)
    except UnclearError as error:
        line.doubt(str(error))
    except UnicodeEncodeError:
        line.doubt("it holds what is no character")
    except RecursionError:
        line.doubt("it is nested too deeply")
    return line


def _unclear(text: str) -> None:
    raise UnclearError(text)


class Reader:
    """Walks one tree."""

    def __init__(self, source: bytes, line: Line) -> None:
        self._source = source
        self._line = line
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
            "file_redirect": self._redirect,
            "heredoc_redirect": self._heredoc,
            "herestring_redirect": self._herestring,
        }

    # -- structure -------------------------------------------------------------------

    def _children(self, node: Node, *, loose: bool = True) -> Iterator[Node]:
        """Give a node's children, certain that nothing stands between them."""
        at = node.start_byte
        for child in node.children:
            gap = self._source[at : child.start_byte]
            if gap and not (loose and _BLANK.fullmatch(gap)):
                _unclear(f"{self._text(gap)!r} is no blank between words")
            at = max(at, child.end_byte)
            yield child
        gap = self._source[at : node.end_byte]
        if node.children and gap and not (loose and _BLANK.fullmatch(gap)):
            _unclear(f"{self._text(gap)!r} is no blank between words")

    @staticmethod
    def _text(raw: bytes) -> str:
        return raw.decode("utf-8", "replace")

    def _of(self, node: Node) -> str:
        return self._text(self._source[node.start_byte : node.end_byte])

    def statements(self, node: Node) -> None:
        """Read all statements of a node."""
        for child in self._children(node):
            self._statement(child)

    def _statement(self, node: Node) -> None:
        if not node.is_named:
            if node.type not in _TOKENS:
                _unclear(f"what {node.type!r} does there is not known")
            return
        reader = self._kinds.get(node.type)
        if reader is None:
            _unclear(f"{_said(node.type)} is not looked into")
        else:
            reader(node)

    def _compound(self, node: Node) -> None:
        if node.children and node.children[0].type != "{":
            _unclear("arithmetic as a command may run what a variable holds")
        self.statements(node)

    def _for(self, node: Node) -> None:
        for child in self._children(node):
            if child.type == "variable_name":
                self._line.assigned.append((self._of(child), None))
            elif child.type == "do_group" or not child.is_named:
                self._statement(child)
            else:
                self.word(child)

    def _case(self, node: Node) -> None:
        for child in self._children(node):
            if child.type == "case_item" or not child.is_named:
                self._statement(child)
            else:
                self.word(child)

    def _case_item(self, node: Node) -> None:
        patterns = True
        for child in self._children(node):
            if child.type == ")":
                patterns = False
            elif child.type == "extglob_pattern":
                # Brackets in there would be a pattern list; a substitution hides as text.
                if re.search(r"[$`()<>]", self._of(child)):
                    _unclear("a pattern of case is more than a plain one")
            elif patterns and child.is_named:
                self.word(child)
            else:
                self._statement(child)

    def _test(self, node: Node) -> None:
        opened = self._of(node)[:2]
        if opened == "((":
            _unclear("arithmetic as a command may run what a variable holds")
        if opened != "[[":
            # ``[ … ]`` is a builtin like test; its words decide what it does.
            self._single_test(node)
            return
        for child in node.children:
            self._test_part(child)
        for _ in self._children(node):
            pass

    def _single_test(self, node: Node) -> None:
        text = self._of(node)
        inner = Line()
        source = ("test" + text[1:-1]).encode()
        if not text.startswith("[") or not text.endswith("]"):
            _unclear("a test is written in an unknown way")
        root = _parser().parse(source).root_node
        if root.has_error or [c.type for c in root.children] != ["command"]:
            _unclear("a test is not plain words")
        Reader(source, inner).statements(root)
        if len(inner.commands) < 1:
            _unclear("a test is not plain words")
        self._line.commands += inner.commands
        self._line.redirects += inner.redirects
        for doubt in inner.unclear:
            self._line.doubt(doubt)

    def _test_part(self, node: Node) -> None:
        if node.type in {"binary_expression", "unary_expression", "parenthesized_expression"}:
            operators = {self._of(c) for c in node.children if c.type == "test_operator"}
            operators |= {c.type for c in node.children if not c.is_named}
            odd = operators - _SAFE_TESTS
            if odd:
                _unclear(f"{min(odd)!r} in [[ … ]] may run what a variable or text holds")
            for child in self._children(node):
                self._test_part(child)
        elif node.type in {"test_operator", "comment"}:
            return
        elif node.type in {"regex", "extglob_pattern"}:
            if re.search(r"[$`<>]", self._of(node)):
                _unclear("a pattern in [[ … ]] is more than a plain one")
        elif node.is_named:
            self.word(node)

    # -- commands --------------------------------------------------------------------

    def _command(self, node: Node) -> None:
        words: list[Word] = []
        env: list[tuple[str, Word]] = []
        for child in self._children(node):
            if child.type == "variable_assignment":
                env.append(self._set(child))
            elif child.type in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
                self._statement(child)
            elif child.type == "command_name":
                words.append(self._program(child))
            elif child.is_named:
                words.append(self.word(child))
            else:
                _unclear(f"what {child.type!r} does there is not known")
        if not words:
            _unclear("a command has no program")
        self._line.commands.append(Simple(tuple(words), tuple(env)))

    def _program(self, node: Node) -> Word:
        inner = list(self._children(node, loose=False))
        if len(inner) != 1:
            _unclear("the name of a program is written in an unknown way")
        if self._of(node) in _RESERVED:
            _unclear(f"{self._of(node)!r} is a word of the shell's own there")
        return self.word(inner[0])

    def _set(self, node: Node) -> tuple[str, Word]:
        """Read an assignment: the name, and the value."""
        name, value = "", Word("", lead="")
        for child in self._children(node, loose=False):
            if child.type == "variable_name":
                name = self._of(child)
            elif child.type == "subscript":
                _unclear("the place in a list is arithmetic, which may run what it names")
            elif child.type == "array":
                for each in self._children(child):
                    if each.is_named:
                        self.word(each)
                value = Word("(…)", known=False)
            elif child.is_named:
                value = self.word(child)
            elif child.type == "+=":
                value = Word("", known=False)
        if "+=" in [c.type for c in node.children]:
            value = Word(value.text, known=False)
        return name, value

    def _assignment(self, node: Node) -> None:
        self._line.assigned.append(self._set(node))

    def _declaration(self, node: Node) -> None:
        children = list(self._children(node))
        words = [Word(children[0].type, lead=children[0].type)]
        for child in children[1:]:
            if child.type == "variable_assignment":
                name, value = self._set(child)
                self._line.assigned.append((name, value))
                text = f"{name}={value.text}"
                words.append(Word(text, known=value.known, lead=f"{name}="))
            elif child.type == "variable_name":
                words.append(Word(self._of(child), lead=self._of(child)))
            elif child.is_named:
                words.append(self.word(child))
            else:
                _unclear(f"what {child.type!r} does there is not known")
        self._line.commands.append(Simple(tuple(words)))

    def _unset(self, node: Node) -> None:
        children = list(self._children(node))
        words = [Word("unset", lead="unset")]
        for child in children[1:]:
            if child.type == "variable_name":
                words.append(Word(self._of(child), lead=self._of(child)))
            else:
                words.append(self.word(child))
        self._line.commands.append(Simple(tuple(words)))

    # -- redirections ------------------------------------------------------------------

    def _redirect(self, node: Node) -> None:
        operator, target = "", None
        for child in self._children(node):
            if child.type == "file_descriptor":
                continue
            if not child.is_named:
                operator = child.type
                continue
            if target is not None:
                # The parser takes words behind the file for more files; the shell takes
                # them for arguments.
                _unclear("words stand behind a redirection")
            target = self.word(child)
        if operator in {"<&-", ">&-"} and target is None:
            return
        if target is None:
            _unclear("a redirection has no target")
            return
        if operator in {">&", "<&"}:
            if target.known and re.fullmatch(r"[0-9]+-?|-", target.text):
                return
            if operator == "<&":
                _unclear("a descriptor is copied from what is not a number")
            operator = "&>"
        if operator not in _READS | _WRITES:
            _unclear(f"the redirection {operator!r} is not known")
        if target.known and not target.tilde and _QUIET.fullmatch(target.text):
            return
        self._line.redirects.append(
            Redirect(target, writes=operator in _WRITES, reads=operator in _READS)
        )

    def _herestring(self, node: Node) -> None:
        for child in self._children(node):
            if child.is_named and child.type != "file_descriptor":
                self.word(child)
            elif child.type not in {"<<<", "file_descriptor"}:
                _unclear(f"what {child.type!r} does there is not known")

    def _heredoc(self, node: Node) -> None:
        start = next((c for c in node.children if c.type == "heredoc_start"), None)
        if start is None:
            _unclear("a here-document has no end word")
            return
        quoted = re.search(r"[\"'\\$]", self._of(start)) is not None
        if not re.fullmatch(r"\w+|'\w+'|\"\w+\"", self._of(start)):
            _unclear("the end word of a here-document is not plain")
        for child in self._children(node):
            if child.type == "heredoc_body":
                self._body(child, quoted=quoted)
            elif child.type in {"heredoc_start", "heredoc_end", "file_descriptor"}:
                continue
            elif child.type in {"<<", "<<-"}:
                continue
            elif child.is_named and child.type not in self._kinds:
                # Words behind the end word are arguments of the command.
                _unclear("words stand behind a here-document")
            else:
                self._statement(child)

    def _body(self, node: Node, *, quoted: bool) -> None:
        if quoted:
            return
        text = self._of(node)
        if "`" in text:
            _unclear("a here-document holds a backquote")
        seen = text.count("$")
        held = 0
        for child in node.children:
            if child.type in _EXPANSIONS:
                held += self._of(child).count("$")
                self.word(child)
        literal = sum(text.count(form) for form in ("\\$", "$ ", "$\n"))
        if seen > held + literal:
            _unclear("a here-document holds a dollar sign that is not understood")

    # -- words -----------------------------------------------------------------------

    def word(self, node: Node) -> Word:
        """Return a word, and note every command in it."""
        source = self._of(node)
        if node.type in {"word", "number", "regex", "extglob_pattern"} and not node.children:
            return joined([source], source)
        if node.type == "concatenation":
            pieces: list[Word | str] = []
            for child in self._children(node, loose=False):
                pieces.append(self._piece(child))
            return joined(pieces, source)
        return joined([self._piece(node)], source)

    def _piece(self, node: Node) -> Word | str:
        """Return a piece of a word: unquoted text as it is, or what is known of it."""
        source = self._of(node)
        kind = node.type
        if kind in {"word", "number", "brace_expression"}:
            if any(c.is_named and c.type != "number" for c in node.children):
                _unclear(f"{source!r} is written in an unknown way")
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
        _unclear(f"{_said(kind)} in a word is not looked into")
        return ""

    def _string(self, node: Node) -> Word:
        source = self._of(node)
        if not (source.startswith('"') and source.endswith('"') and len(source) > 1):
            _unclear("a text in quotes is written in an unknown way")
        base, at = node.start_byte, 1
        raw = self._source[node.start_byte : node.end_byte]
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
            many |= "@" in self._of(child) and child.type in {"expansion", "simple_expansion"}
            text += piece.text
            at = child.end_byte - base
        value = self._literal(raw[at:-1])
        text += value
        lead = lead + value if known else lead
        return Word(text, known=known, lead=lead, many=many)

    def _literal(self, raw: bytes) -> str:
        text = self._text(raw)
        bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
        if "`" in bare or re.search(r"\$[\w({\[@*#?$!-]", bare):
            _unclear("a text in quotes holds an expansion that is not understood")
        return double_text(text)

    def _expansion(self, node: Node) -> Word:
        source = self._of(node)
        if node.type == "command_substitution":
            if source.startswith("`") and "\\" in source:
                _unclear("a backslash between backquotes is not looked into")
            if source.startswith("$(("):
                _unclear("a substitution that starts like arithmetic is not looked into")
            for child in self._children(node):
                if child.is_named:
                    self._statement(child)
                elif child.type not in {"$(", "`", ")", *_TOKENS}:
                    _unclear(f"what {child.type!r} does there is not known")
            return Word(source, known=False, many=True)
        if node.type == "process_substitution":
            for child in self._children(node):
                if child.is_named:
                    self._statement(child)
                elif child.type not in {"<(", ">(", ")", *_TOKENS}:
                    _unclear(f"what {child.type!r} does there is not known")
            # It becomes the name of a pipe, one word.
            return Word(source, known=False, lead="/dev/fd/")
        if node.type == "simple_expansion":
            name = source[1:]
            return Word(source, known=False, many=not re.fullmatch(r"[#?$!]", name))
        if node.type == "arithmetic_expansion":
            return self._arithmetic(node)
        return self._parameter(node)

    def _arithmetic(self, node: Node) -> Word:
        source = self._of(node)
        if re.search(r"[A-Za-z_`$\[]", source[1:]):
            _unclear("arithmetic with a name in it may run what the variable holds")
        return Word(source, known=False, lead="")

    def _parameter(self, node: Node) -> Word:
        source = self._of(node)
        head = re.match(r"\$\{(#?)(\w+|[@*#?$!-])(\[[@*0-9]+\])?", source)
        if head is None:
            _unclear(f"{source!r} looks a variable up by a name that it holds")
            raise AssertionError
        rest = source[head.end() : -1]
        if re.match(r"\w", head[2]) is None and rest[:1] not in _AFTER_NAME:
            # ``${!x}`` is no ``$!``: it takes what x holds for a name, or for arithmetic.
            _unclear(f"{source!r} looks a variable up by a name that it holds")
        if rest.startswith("@"):
            _unclear(f"{source!r} may run what the variable holds")
        if rest.startswith(":") and not re.match(r":[-=?+]", rest):
            if not re.fullmatch(r":[0-9]+(:[0-9]+)?|: -[0-9]+", rest):
                _unclear("the part of a variable is arithmetic that is not understood")
        if re.match(r":?=", rest):
            self._line.assigned.append((head[2], None))
        for child in node.children:
            if child.type in _EXPANSIONS | {"string", "concatenation", "array"}:
                self.word(child)
            elif child.type in {"raw_string", "ansi_c_string"}:
                continue
            elif child.type == "subscript":
                continue
            elif re.search(r"[`]|\$[({]", self._of(child)) and child.type != "${":
                _unclear(f"{source!r} is not looked into")
        dollars = rest.count("$(") + rest.count("`") + rest.count("${") + rest.count("<(")
        seen = sum(
            self._of(c).count(form)
            for c in node.children
            if c.type in _EXPANSIONS | {"string", "concatenation"}
            for form in ("$(", "`", "${", "<(")
        )
        if dollars != seen:
            _unclear(f"{source!r} is not looked into")
        return Word(source, known=False, many=not head[1])


_AFTER_NAME = ("", ":", "-", "+", "=", "?", "%", "/")
_EXPANSIONS = frozenset({
    "arithmetic_expansion", "command_substitution", "expansion", "process_substitution",
    "simple_expansion",
})  # fmt: skip
# What [[ … ]] may compare without arithmetic and without looking variables up.
_SAFE_TESTS = frozenset({
    "!", "!=", "&&", "(", ")", "-L", "-S", "-b", "-c", "-d", "-e", "-ef", "-f", "-g", "-h",
    "-k", "-n", "-nt", "-ot", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z", "<", "=", "==",
    "=~", ">", "||", "[[", "]]",
})  # fmt: skip


def _said(kind: str) -> str:
    return "a " + kind.replace("_", " ")
