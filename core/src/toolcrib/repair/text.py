"""Mend the text around and inside JSON, where it can only be read in one way."""

from __future__ import annotations

import re

from toolcrib.call import Repair


__all__ = ["TruncatedError", "mend"]

_FENCED = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n(.*?)\s*```\s*", re.DOTALL)
_TELLING = re.compile(r'["\\\[\]{},\x00-\x1f]')
_PAIRS = {"]": "[", "}": "{"}
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


class TruncatedError(ValueError):
    """Raised when the text ends inside a string, an array or an object."""


def mend(text: str, rules: frozenset[str]) -> tuple[str, list[Repair]]:
    """Return the text with what has one reading mended, and what was mended.

    What is left may still be no JSON.

    Raises:
        TruncatedError: the text ends in the middle, so nobody knows what was meant.
        ValueError: its brackets do not match, or more than one value stands in it.
    """
    repairs: list[Repair] = []
    fenced = _FENCED.fullmatch(text)
    if fenced and "```" not in fenced[1] and "R8" in rules:
        repairs.append(Repair("R8", "", "took the JSON out of its fence"))
        text = fenced[1]
    scanner = _Scanner(text, rules)
    return scanner.run(), repairs + scanner.repairs


class _Scanner:
    def __init__(self, text: str, rules: frozenset[str]) -> None:
        self.text = text
        self.rules = rules
        self.repairs: list[Repair] = []
        self.pieces: list[str] = []
        self.copied = 0
        self.open: list[str] = []
        self.inside = False
        self.comma = -1

    def run(self) -> str:
        """Scan the text once, aware of strings."""
        escaped = -1
        for found in _TELLING.finditer(self.text):
            at, character = found.start(), found.group()
            if at == escaped:
                continue
            if self.inside:
                if character == "\\":
                    escaped = at + 1
                self.inside = character != '"'
                if character < " ":
                    self.escape(at, character)
            elif self.structure(at, character):
                return self.finish(at + 1)
        if self.inside or self.open:
            message = "the text ends in the middle"
            raise TruncatedError(message)
        return self.finish(len(self.text))

    def structure(self, at: int, character: str) -> bool:
        """Take a character outside of strings; tell whether the value is complete."""
        if character == '"':
            self.inside = True
        elif character in "[{":
            self.open.append(character)
        elif character == ",":
            self.comma = at
        elif character in "]}":
            return self.close(at, character)
        return False

    def replace(self, start: int, end: int, text: str) -> None:
        """Put something in place of a part of the text."""
        self.pieces += (self.text[self.copied : start], text)
        self.copied = end

    def note(self, rule: str, text: str) -> None:
        """Record a repair once."""
        repair = Repair(rule, "", text)
        if repair not in self.repairs:
            self.repairs.append(repair)

    def escape(self, at: int, character: str) -> None:
        """Escape a control character that stands raw in a string."""
        if "R9" in self.rules:
            self.replace(at, at + 1, _NAMED.get(character, f"\\u{ord(character):04x}"))
            self.note("R9", "escaped a control character in a string")

    def close(self, at: int, character: str) -> bool:
        """Take a closing bracket; tell whether the value is complete."""
        if not self.open or self.open.pop() != _PAIRS[character]:
            message = f"the bracket {character!r} at character {at} closes nothing"
            raise ValueError(message)
        before = self.text[: self.comma].rstrip()[-1:] if self.comma >= 0 else ""
        trailing = self.comma >= self.copied and not self.text[self.comma + 1 : at].strip()
        if trailing and before not in ("", ",", "[", "{", ":") and "R9" in self.rules:
            self.replace(self.comma, self.comma + 1, "")
            self.note("R9", "took out a trailing comma")
        return not self.open

    def finish(self, end: int) -> str:
        """Return what was scanned; after the value only closing brackets may follow."""
        rest = self.text[end:].strip()
        if rest:
            if rest.strip("]} \t\r\n") or "R8" not in self.rules:
                message = "more text follows the JSON"
                raise ValueError(message)
            self.note("R8", "cut off surplus closing brackets")
        self.pieces.append(self.text[self.copied : end])
        return "".join(self.pieces)
