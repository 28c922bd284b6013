r"""Read ECMA-262 patterns and write the same meaning as a Python expression.

JSON Schema's ``pattern`` is ECMA-262. Python's :mod:`re` reads most of it, but not with
the same meaning: ``$`` also matches before a last newline, ``\d`` and ``\w`` take every
script, ``.`` stops at other characters. So a pattern is parsed here and written again.

Python matches by backtracking, so the parsed pattern is also weighed: see
:mod:`toolcrib.schema.backtracking`.
"""

from __future__ import annotations

import re

import attrs

from .backtracking import weigh
from .charsets import DIGIT, DOT, SPACE, WORD, Ranges, complement, emit, union
from .expression import Alt, Assert, Expression, Look, Loop, Seq, Set
from .failures import PatternError


__all__ = ["Pattern", "PatternError", "read"]

LONGEST = 2_000
_SETS = {
    "d": DIGIT,
    "D": complement(DIGIT),
    "s": SPACE,
    "S": complement(SPACE),
    "w": WORD,
    "W": complement(WORD),
}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,5})(?:(,)(\d{1,5})?)?\})(\??)")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|P?<([A-Za-z_$][\w$]*)>))?", re.ASCII)
_FIRST_LOW_SURROGATE, _LAST_LOW_SURROGATE = 0xDC00, 0xDFFF


@attrs.frozen
class Pattern:
    """A pattern for Python's engine.

    Attributes:
        python: The expression, to be used with ``search``.
        limit: Longest text on which its time stays bounded, or None.
    """

    python: str
    limit: int | None


def read(text: str) -> Pattern:
    """Parse an ECMA-262 pattern.

    Raises:
        PatternError: it is no pattern, means something that Python cannot say, or could
            take longer than polynomial time.
    """
    if len(text) > LONGEST:
        message = f"is longer than {LONGEST} characters"
        raise PatternError(message)
    parser = _Parser(text)
    expression = parser.alternatives(0)
    if parser.at < len(text):
        message = "has an unmatched ')'"
        raise PatternError(message)
    weight = weigh(expression)
    if weight.problem:
        raise PatternError(weight.problem, elsewhere=True)
    python = _write(expression)
    re.compile(python)
    return Pattern(python, weight.limit)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def alternatives(self, depth: int) -> Expression:
        if depth > 20:
            message = "is nested too deeply"
            raise PatternError(message, elsewhere=True)
        options = [self.sequence(depth)]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def sequence(self, depth: int) -> Expression:
        terms: list[Expression] = []
        while self.peek() not in ("", "|", ")"):
            terms.append(self.quantified(self.term(depth)))
        return terms[0] if len(terms) == 1 else Seq(tuple(terms))

    def quantified(self, term: Expression) -> Expression:
        found = _QUANTIFIER.match(self.text, self.at)
        if not found:
            return term
        if isinstance(term, Assert | Look):
            message = "repeats something that matches no character"
            raise PatternError(message, elsewhere=True)
        self.at = found.end()
        sign, low, comma, high, lazy = found.groups()
        if sign:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            least = int(low)
            most = int(high) if high else (None if comma else least)
        if (most is not None and most < least) or max(least, most or 0) > 10_000:
            message = f"has the bad repetition {found.group()!r}"
            raise PatternError(message)
        if _QUANTIFIER.match(self.text, self.at):
            message = "repeats a repetition"
            raise PatternError(message)
        return Loop(term, least, most, lazy=bool(lazy))

    def term(self, depth: int) -> Expression:
        character = self.peek()
        if character == "(":
            return self.group(depth)
        if character == "[":
            return self.character_class()
        if character == "\\":
            return self.escape()
        self.at += 1
        if character == ".":
            return Set(DOT)
        if character in "^$":
            return Assert(r"\A" if character == "^" else r"\Z")
        if character in "*+?" or _QUANTIFIER.match(self.text, self.at - 1):
            message = f"has nothing to repeat at character {self.at - 1}"
            raise PatternError(message)
        return Set(((ord(character), ord(character)),))

    def group(self, depth: int) -> Expression:
        found = _GROUP.match(self.text, self.at)
        if not found or self.text[found.end() : found.end() + 1] == "?":
            message = f"has an unknown group at character {self.at}"
            raise PatternError(message)
        opening = found.group()
        self.at = found.end()
        body = self.alternatives(depth + 1)
        if self.peek() != ")":
            message = "has an unmatched '('"
            raise PatternError(message)
        self.at += 1
        if opening in ("(?=", "(?!"):
            return Look(body, negative=opening == "(?!")
        if opening in ("(?<=", "(?<!"):
            message = "looks behind"
            raise PatternError(message, elsewhere=True)
        return body

    def escape(self) -> Expression:
        character = self.text[self.at + 1 : self.at + 2]
        if character in ("b", "B"):
            self.at += 2
            # Only with the ASCII flag does Python's boundary agree with ECMA's \w.
            return Assert(rf"(?a:\{character})")
        if character in ("k", *"123456789"):
            message = "refers back to a group"
            raise PatternError(message, elsewhere=True)
        return Set(self.class_escape())

    def class_escape(self) -> Ranges:
        self.at += 1
        character = self.peek()
        self.at += 1
        if character in _SETS:
            return _SETS[character]
        point = self.code_point(character)
        return ((point, point),)

    def code_point(self, character: str) -> int:
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "c" and self.peek().isascii() and self.peek().isalpha():
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        if character in ("x", "u"):
            return self.hexadecimal(character)
        if character in ("p", "P"):
            message = "names a Unicode property"
            raise PatternError(message, elsewhere=True)
        if character == "" or character.isalnum():
            message = f"has the unknown escape '\\{character}'"
            raise PatternError(message)
        return ord(character)

    def hexadecimal(self, kind: str) -> int:
        digits = {"x": r"([0-9a-fA-F]{2})", "u": r"([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\}"}
        found = re.compile(digits[kind]).match(self.text, self.at)
        point = int(next(filter(None, found.groups())), 16) if found else 0x110000
        if not found or point > 0x10FFFF:
            message = f"has a bad '\\{kind}' escape"
            raise PatternError(message)
        self.at = found.end()
        if 0xD800 <= point <= 0xDBFF:
            low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.text, self.at)
            if low:
                self.at = low.end()
                return 0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        return point

    def character_class(self) -> Expression:
        self.at += 1
        negative = self.peek() == "^"
        self.at += negative
        ranges: Ranges = ()
        while self.peek() != "]":
            low = self.class_member()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                low = self.spread(low, self.class_member())
            ranges = union(ranges, low)
        self.at += 1
        return Set(complement(ranges) if negative else ranges)

    def class_member(self) -> Ranges:
        character = self.peek()
        if character == "":
            message = "has an unmatched '['"
            raise PatternError(message)
        if character == "\\":
            if self.text[self.at + 1 : self.at + 2] == "b":
                self.at += 2
                return ((8, 8),)
            return self.class_escape()
        self.at += 1
        return ((ord(character), ord(character)),)

    def spread(self, low: Ranges, high: Ranges) -> Ranges:
        single = (
            len(low) == len(high) == 1 and low[0][0] == low[0][1] and high[0][0] == high[0][1]
        )
        if not single or low[0][0] > high[0][0]:
            message = "has a range out of order"
            raise PatternError(message)
        return ((low[0][0], high[0][0]),)


def _write(expression: Expression) -> str:
    match expression:
        case Set(ranges):
            return emit(ranges)
        case Assert(python):
            return python
        case Seq(parts):
            return "".join(
                f"(?:{_write(part)})" if isinstance(part, Alt) else _write(part)
                for part in parts
            )
        case Alt(options):
            return "|".join(_write(option) for option in options)
        case Look(body, negative):
            return f"(?{'!' if negative else '='}{_write(body)})"
        case Loop(body, least, most):
            text = _write(body)
            inner = text if isinstance(body, Set) else f"(?:{text})"
            bound = "" if most is None else str(most)
            return f"{inner}{{{least},{bound}}}" + ("?" if expression.lazy else "")
