"""What the descriptions of programs are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import attrs

from toolcrib_shell.touched import Touched
from toolcrib_shell.words import Word


__all__ = ["Args", "Look", "Program", "short_letters"]


class Look(Protocol):
    """How a program's description tells what it found."""

    @property
    def touched(self) -> Touched:
        """What is gathered."""

    def doubt(self, text: str) -> None:
        """The command may do anything."""

    def command(self, words: Sequence[Word], env: Sequence[tuple[str, Word]] = ()) -> None:
        """The command runs another one, with variables set for it."""

    def line(self, text: str) -> None:
        """The command runs a text as a shell line."""

    def names(self, name: str, *, exported: bool = False) -> None:
        """The command sets a variable for what follows."""


Program = Callable[["Args", Look], None]


def short_letters(text: str) -> str:
    """Return the letters of a word of short options, or nothing."""
    return text[1:] if text.startswith("-") and not text.startswith("--") else ""


@attrs.frozen
class Args:
    """The words behind a program."""

    program: str
    words: tuple[Word, ...]

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    @property
    def loose(self) -> bool:
        """Whether a word may be an option that nobody can see."""
        for word in self.words:
            if word.known and word.text == "--":
                return False
            if not word.known and word.may_be_option:
                return True
        return False

    def options(self) -> list[str]:
        """Return the words that are, or may be, options, up to ``--``."""
        found = []
        for word in self.words:
            if word.known and word.text == "--":
                break
            lead = word.lead if not word.known else word.text
            if lead.startswith("-") and lead != "-":
                found.append(lead)
        return found

    def has(self, *, long: Sequence[str] = (), short: str = "") -> bool:
        """Tell whether an option is given: a long one by its beginning, a short in a row."""
        for text in self.options():
            if text.startswith("--"):
                name = text[2:].partition("=")[0]
                if name and any(each.startswith(name) for each in long):
                    return True
            elif set(text[1:]) & set(short):
                return True
        return False

    def operands(self, valued: str = "", long_valued: Sequence[str] = ()) -> list[Word]:
        """Return the words that are no options, nor values of the options named."""
        found: list[Word] = []
        ended = skip = False
        for word in self.words:
            if skip:
                skip = False
                continue
            text = word.text if word.known else word.lead
            if ended or not text.startswith("-") or text == "-":
                found.append(word)
            elif text == "--":
                ended = True
            elif text.startswith("--"):
                name = text[2:]
                skip = "=" not in name and any(each.startswith(name) for each in long_valued)
            elif any(letter in valued for letter in text[1:]):
                # The value stands behind the letter, or is the next word.
                at = min(text.index(letter, 1) for letter in set(text[1:]) & set(valued))
                skip = at == len(text) - 1
        return found
