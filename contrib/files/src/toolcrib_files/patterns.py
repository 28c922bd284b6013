r"""Search patterns: one grammar, written out for both search engines.

The grammar is what regular expressions have in common: literals, ``.``, sets, groups,
choices, repeats, ``^ $ \b \B``, ``\d \w \s`` and their opposites (ASCII), ``(?i)``.
Look-around and references to groups are understood too, but only by the Python engine.
A brace that is no repeat means itself. Each set is written out as the same ranges for
both engines, so that both find the same.
"""

from __future__ import annotations

import re

from collections.abc import Callable

import attrs

from . import charsets
from .faults import Fault
from .ranges import Ranges, merge


__all__ = ["Pattern", "compile_pattern"]

LONGEST = 2000

_REPEAT = re.compile(r"\{(\d{0,4})(,?)(\d{0,4})\}")
_GROUP = re.compile(
    r"\(\?(?:P?<([A-Za-z_]\w*)>|(<?[=!])|(:)|(>)|P=([A-Za-z_]\w*)\)|([is]+)([:)]))"
)
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_HEX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\})")
_CLASSES = {"d": charsets.DIGITS, "w": charsets.WORDS, "s": charsets.SPACES}
_NAMED: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "digit": charsets.DIGITS,
    "lower": ((0x61, 0x7A),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": charsets.SPACES,
    "upper": ((0x41, 0x5A),),
    "word": charsets.WORDS,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "v": 11, "a": 7, "e": 27, "0": 0}


@attrs.frozen
class Pattern:
    """A pattern for both engines.

    Attributes:
        python: For :mod:`re`, compiled, to search whole texts.
        rust: For ripgrep; None if only the Python engine can do it.
        plain: Whether the Python engine needs a time that grows with the text only.
    """

    python: re.Pattern[str]
    rust: str | None
    plain: bool


def compile_pattern(
    text: str, *, literal: bool = False, ignore_case: bool = False, multiline: bool = False
) -> Pattern:
    """Compile a search pattern; what is not in the grammar is refused with its column."""
    if not text or len(text) > LONGEST:
        message = f"A pattern has 1 to {LONGEST} characters."
        raise Fault(message, kind="invalid", code="files.bad_pattern", pointer="/pattern")
    if any("\ud800" <= char <= "\udfff" for char in text):
        message = "The pattern holds half of a character. Send whole characters."
        raise Fault(message, kind="invalid", code="files.bad_pattern", pointer="/pattern")
    translator = _Translator(text, ignore_case=ignore_case, multiline=multiline)
    try:
        python, rust = translator.literal() if literal else translator.translate()
        compiled = re.compile(python, re.MULTILINE)
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        message = (
            f"The pattern cannot be read: {error}. Set literal=true to search for the text"
            " as it stands."
        )
        raise Fault(
            message, kind="invalid", code="files.bad_pattern", pointer="/pattern"
        ) from None
    return Pattern(compiled, None if multiline else rust, translator.repeats == 0)


class _Translator:
    """Writes a pattern out in both syntaxes while reading it."""

    def __init__(self, text: str, *, ignore_case: bool, multiline: bool) -> None:
        self.text = text
        self.at = 0
        self.multiline = multiline
        self.flags = frozenset({"i"} if ignore_case else ())
        self.portable = True
        self.python: list[str] = []
        self.rust: list[str] = []
        self.groups: list[frozenset[str]] = []
        self.repeats = 0
        self.repeatable = False

    def literal(self) -> tuple[str, str | None]:
        for char in self.text:
            self._set(((ord(char), ord(char)),))
        return "".join(self.python), "".join(self.rust) if self.portable else None

    def translate(self) -> tuple[str, str | None]:
        while self.at < len(self.text):
            char = self.text[self.at]
            step: Callable[[], None] | None = {
                "\\": self._escape,
                "[": self._class,
                "(": self._open,
                ")": self._close,
                ".": self._dot,
                "^": lambda: self._anchor("^"),
                "$": lambda: self._anchor("$"),
                "|": lambda: self._emit("|", "|", repeatable=False),
            }.get(char)
            if char in "*+?" or (char == "{" and self._is_repeat()):
                self._repeat()
            elif step is not None:
                step()
            else:
                self.at += 1
                self._set(((ord(char), ord(char)),))
        if self.groups:
            message = "a '(' is not closed"
            raise ValueError(message)
        return "".join(self.python), "".join(self.rust) if self.portable else None

    def _fail(self, message: str) -> None:
        message = f"{message} at column {self.at + 1}"
        raise ValueError(message)

    def _emit(self, python: str, rust: str, *, repeatable: bool = True, width: int = 1) -> None:
        self.python.append(python)
        self.rust.append(rust)
        self.at += width
        self.repeatable = repeatable

    def _set(self, ranges: Ranges, *, width: int = 0) -> None:
        if "i" in self.flags:
            ranges = charsets.fold(ranges)
        if any(low <= 0x0A <= high for low, high in ranges):
            if not self.multiline:
                self._fail("a line end is found only with multiline=true,")
            if ranges == ((10, 10),):
                self._emit(r"(?:\r?\n)", "", width=width)
                return
        if any(low <= 0x0D <= high for low, high in ranges):
            self.portable = False  # the engines see the end of a line differently
        python = charsets.render(ranges, rust=False)
        self._emit(python, charsets.render(ranges, rust=True), width=width)

    def _complement(self, ranges: Ranges) -> Ranges:
        if self.multiline:
            return charsets.complement(ranges, never=((0xD800, 0xDFFF),))
        return charsets.complement(ranges)

    def _dot(self) -> None:
        if self.multiline and "s" in self.flags:
            self._set(self._complement(()), width=1)
        else:
            self._set(charsets.complement(()), width=1)

    def _anchor(self, char: str) -> None:
        if char == "^":
            self._emit("^", "^", repeatable=False)
        else:
            self._emit(r"(?=\r?$)(?<!\r(?=\n))", r"(?:\r?$)", repeatable=False)

    def _escape(self) -> None:
        char = self.text[self.at + 1 : self.at + 2]
        if not char:
            self._fail("the pattern ends with a backslash")
        if char in "AzZ":
            self._anchor("^" if char == "A" else "$")
            self.at += 1
        elif char == "b":
            self._emit(r"(?a:\b)", r"(?-u:\b)", repeatable=False, width=2)
        elif char == "B":
            self.portable = False
            self._emit(r"(?a:\B)", "", repeatable=False, width=2)
        elif char in "123456789":
            self.portable = False
            self._emit(f"(?:\\{char})", "", width=2)
        else:
            ranges, width = self._escaped(in_set=False)
            self._set(ranges, width=width)

    def _escaped(self, *, in_set: bool) -> tuple[Ranges, int]:
        """Return what an escape stands for and how long it is."""
        if found := _HEX.match(self.text, self.at):
            code = int(found[1] or found[2] or found[3], 16)
            if code > charsets.LAST:
                self._fail("no such character")
            return ((code, code),), len(found[0])
        char = self.text[self.at + 1 : self.at + 2]
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            if self.multiline and char.lower() == "s":
                ranges = merge([*ranges, (10, 10), (13, 13)])
            return self._complement(ranges) if char.isupper() else ranges, 2
        if char in _CONTROLS:
            return ((_CONTROLS[char], _CONTROLS[char]),), 2
        if in_set and char == "b":
            return ((8, 8),), 2
        if not char or char.isalnum():
            self._fail(f"the escape \\{char} is not known")
        return ((ord(char), ord(char)),), 2

    def _class(self) -> None:
        start = self.at
        self.at += 1
        negated = self.text[self.at : self.at + 1] == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or self.text[self.at : self.at + 1] != "]":
            if self.at >= len(self.text):
                self.at = start
                self._fail("a '[' is not closed")
            first = False
            ranges += self._member()
        self.at += 1
        whole = merge(ranges)
        if "i" in self.flags:
            whole = charsets.fold(whole)
        if negated:
            whole = self._complement(whole)
        elif not self.multiline and any(low <= 13 and high >= 10 for low, high in whole):
            # A set that also names line ends matches its other members.
            whole = charsets.complement(charsets.complement(whole, never=()))
        flags, self.flags = self.flags, self.flags - {"i"}
        self._set(whole)
        self.flags = flags

    def _member(self) -> Ranges:
        if named := _POSIX.match(self.text, self.at):
            if named[2] not in _NAMED:
                self._fail(f"no set is called {named[2]!r}")
            self.at = named.end()
            ranges = _NAMED[named[2]]
            return self._complement(ranges) if named[1] else ranges
        low = self._one()
        if (
            len(low) != 1
            or low[0][0] != low[0][1]
            or self.text[self.at : self.at + 1] != "-"
            or self.text[self.at + 1 : self.at + 2] in ("]", "")
        ):
            return low
        self.at += 1
        high = self._one()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            self._fail("a range in a set is the wrong way round")
        return ((low[0][0], high[0][0]),)

    def _one(self) -> Ranges:
        if self.text[self.at] == "\\":
            ranges, width = self._escaped(in_set=True)
            self.at += width
            return ranges
        code = ord(self.text[self.at])
        self.at += 1
        return ((code, code),)

    def _open(self) -> None:
        self.groups.append(self.flags)
        if self.text[self.at + 1 : self.at + 2] != "?":
            self._enter("(", "(", 1)
            return
        found = _GROUP.match(self.text, self.at)
        if not found:
            self._fail("this kind of group is not known")
            return
        name, look, plain, atomic, reference, flags, end = found.groups()
        if reference:
            self.groups.pop()
            self.portable = False
            self._emit(found[0], "", width=len(found[0]))
        elif flags:
            if end == ")":
                self.groups.pop()
                if self.at:
                    self._fail("flags for all stand at the start")
                self.flags = self.flags | frozenset(flags)
                self.at += len(found[0])
            else:
                self._enter("(?:", "(?:", len(found[0]))
                self.flags = self.flags | frozenset(flags)
        elif name:
            self._enter(f"(?P<{name}>", f"(?P<{name}>", len(found[0]))
        else:
            self.portable = self.portable and plain is not None
            assert look or atomic or plain  # noqa: S101 - the last three kinds of group
            self._enter(found[0], "(?:", len(found[0]))

    def _enter(self, python: str, rust: str, width: int) -> None:
        self._emit(python, rust, repeatable=False, width=width)

    def _close(self) -> None:
        if not self.groups:
            self._fail("a ')' without '('")
        self._emit(")", ")")
        self.flags = self.groups.pop()

    def _is_repeat(self) -> bool:
        found = _REPEAT.match(self.text, self.at)
        return found is not None and bool(found[1] or found[3])

    def _repeat(self) -> None:
        if not self.repeatable:
            self._fail(f"nothing to repeat with {self.text[self.at]!r}")
        char = self.text[self.at]
        found = _REPEAT.match(self.text, self.at) if char == "{" else None
        text = f"{{{found[1] or 0}{found[2]}{found[3]}}}" if found else char
        width = len(found[0]) if found else 1
        mark = self.text[self.at + width : self.at + width + 1]
        mark = mark if mark in ("?", "+") else ""
        if mark == "+":
            self.portable = False
        self.repeats += 1
        self._emit(text + mark, text + mark, repeatable=False, width=width + len(mark))
