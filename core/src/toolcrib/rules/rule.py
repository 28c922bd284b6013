"""One permission rule as a value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import attrs

from toolcrib.errors import RuleSyntaxError
from toolcrib.names import closest

from .globs import Token, fits, segment
from .grammar import Piece, SyntaxTroubleError, pieces_of, quote
from .patterns import CONDITIONS, TYPES, Pattern, PatternError, is_type, read


__all__ = ["Field", "Rule", "Verdict", "parse", "parse_lines"]


class Verdict(StrEnum):
    """What a rule says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@attrs.frozen
class Field:
    """``name=pattern`` or ``name=!pattern`` of a rule."""

    name: str
    text: str
    negated: bool
    pattern: Pattern = attrs.field(repr=False)

    def __str__(self) -> str:
        return f"{self.name}={'!' if self.negated else ''}{quote(self.text)}"


# Slots are off because what is derived from the fields is kept.
@attrs.frozen(slots=False)
class Rule:
    """``allow|ask|deny tool-pattern(field=pattern, …)``; make one with :func:`parse`.

    Patterns of one field are alternatives, except that all with ``!`` must hold. Two
    rules are equal if they say the same, wherever they stand.

    Attributes:
        verdict: ``allow``, ``ask`` or ``deny``.
        tool_pattern: A tool id, ``*`` standing for any characters.
        fields: Its fields, in order.
        text: The rule in its standard form.
        file, line: Where it stands.
    """

    verdict: Verdict
    tool_pattern: str
    fields: tuple[Field, ...]
    text: str
    file: Path | str | None = attrs.field(default=None, eq=False)
    line: int | None = attrs.field(default=None, eq=False)

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """How explanations and receipts call it: where it stands, and its text."""
        if self.file is None:
            return f"rule '{self.text}'"
        where = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        return f"rule '{self.text}' ({where})"

    @cached_property
    def _tool(self) -> Token:
        return segment(self.tool_pattern)

    @cached_property
    def exact_tool(self) -> str | None:
        """The one tool id that it names, or None for a pattern."""
        return self._tool if isinstance(self._tool, str) else None

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The resource types that it has patterns for, in order."""
        return tuple(dict.fromkeys(f.name for f in self.fields if f.name not in CONDITIONS))

    def names_tool(self, tool_id: str) -> bool:
        """Tell whether the tool pattern fits a tool's id."""
        return fits((self._tool,), (tool_id,))

    def holds(self, name: str, value: str | None) -> bool | None:
        """Tell whether conditions of a name hold for a value; None: it has none."""
        found = [f for f in self.fields if f.name == name]
        if not found:
            return None
        if value is None:
            return False
        matched = [(f.negated, fits(f.pattern.tokens, (value,))) for f in found]
        positive = [hit for negated, hit in matched if not negated]
        return (any(positive) or not positive) and not any(
            hit for negated, hit in matched if negated
        )


def parse(text: str, *, file: Path | str | None = None, line: int | None = None) -> Rule:
    """Read one rule.

    Raises:
        RuleSyntaxError: it points at what cannot be read, and says what could.
    """
    try:
        if not text.isprintable():
            at = next(i for i, c in enumerate(text) if not c.isprintable())
            raise SyntaxTroubleError("a rule holds no invisible characters", at)  # noqa: EM101, TRY301
        verdict, tool, fields = pieces_of(text)
        rule_verdict = _verdict(verdict)
        _check_tool(tool)
        read_fields = tuple(_field(name, value) for name, value in fields)
    except SyntaxTroubleError as error:
        raise RuleSyntaxError(
            str(error), rule=text, column=error.column, file=file, line=line
        ) from error
    body = f"({', '.join(map(str, read_fields))})" if read_fields else ""
    return Rule(
        rule_verdict,
        tool.text,
        read_fields,
        f"{rule_verdict} {quote(tool.text)}{body}",
        file,
        line,
    )


def parse_lines(text: str, *, file: Path | str | None = None) -> tuple[Rule, ...]:
    """Read one rule a line; empty lines and lines that start with ``#`` are passed over."""
    lines: Iterable[tuple[int, str]] = enumerate(text.splitlines(), 1)
    return tuple(
        parse(content, file=file, line=number)
        for number, content in lines
        if content.strip() and not content.lstrip().startswith("#")
    )


def _verdict(piece: Piece) -> Verdict:
    try:
        return Verdict(piece.text)
    except ValueError as error:
        message = f"a rule starts with allow, ask or deny, not {piece.text!r}"
        raise SyntaxTroubleError(message, piece.column) from error


def _check_tool(piece: Piece) -> None:
    try:
        token = segment(piece.text)
    except ValueError as error:
        raise SyntaxTroubleError(str(error), piece.column) from error
    if isinstance(token, str) and "." not in token.strip("."):
        message = (
            f"{piece.text!r} names no tool: an id is pack.name, or pack.source.name; "
            f"{piece.text}.* means all tools of a pack"
        )
        raise SyntaxTroubleError(message, piece.column)


def _field(name: Piece, value: Piece) -> Field:
    if not is_type(name.text) and name.text not in CONDITIONS:
        known = [*TYPES, *CONDITIONS]
        near = closest(name.text, known, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(known)}"
        message = f"there is no field {name.text!r}; {hint} (a pack's own has a hyphen)"
        raise SyntaxTroubleError(message, name.column)
    try:
        pattern = read(name.text, value.text)
    except PatternError as error:
        raise SyntaxTroubleError(str(error), value.column + error.offset) from error
    return Field(name.text, value.text, value.negated, pattern)
