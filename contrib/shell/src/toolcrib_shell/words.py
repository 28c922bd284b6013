"""Words of a shell line: what is known of the text that the shell will make of them."""

from __future__ import annotations

import os
import re

from collections.abc import Iterable

import attrs


__all__ = ["UnclearError", "Word", "ansi_text", "double_text", "joined", "plain", "plain_text"]


class UnclearError(Exception):
    """Raised when a line, or a part of it, is not understood; the text says why."""


@attrs.frozen
class Word:
    """One word as written, and what is known of its value.

    Attributes:
        text: The value of a word that is known; else what the line says, in a form that
            no pattern fits but ``*``.
        known: Whether ``text`` is the value, exactly.
        lead: The part of the value, from its start, that is certain.
        many: Whether it may become no word, or several.
        glob: Whether it names files by a pattern, and is certain otherwise.
        tilde: Whether it starts with a home folder.
    """

    text: str
    known: bool = True
    lead: str = ""
    many: bool = False
    glob: bool = False
    tilde: bool = False

    @property
    def may_be_option(self) -> bool:
        """Whether the value may start with a dash."""
        return self.lead.startswith("-") if self.lead else not (self.known and self.text == "")

    def path(self, home: str | None) -> str | None:
        """Return the file that it names; None if that is not known."""
        if not self.known or not self.text:
            return None
        if not self.tilde:
            return self.text
        user, slash, rest = self.text.partition("/")
        if user != "~" or not home:
            return None
        return os.path.join(home, rest) if slash else home


def plain(text: str) -> Word:
    """Return a word whose value is known."""
    return Word(text, lead=text)


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_GLOB = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


def plain_text(source: str) -> tuple[str, bool]:
    """Return the value of unquoted text, and whether it holds a pattern of files."""
    if "\\\n" in source:
        text = "a word goes on over the end of a line"
        raise UnclearError(text)
    return _ESCAPE.sub(r"\1", source), _GLOB.search(source) is not None


_IN_QUOTES = re.compile(r"\\([$`\"\\]|\n)")


def double_text(source: str) -> str:
    """Return the value of text between double quotes."""
    return _IN_QUOTES.sub(lambda m: "" if m[1] == "\n" else m[1], source)


_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)
_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def ansi_text(source: str) -> str:
    """Return the value of ``$'…'``, given what stands between the quotes."""

    def one(match: re.Match[str]) -> str:
        for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
            if match[group]:
                code = int(match[group], base)
                # Bytes above ASCII are pieces of characters; a null ends the word.
                if code == 0 or code > 0x10FFFF or (group in {1, 4} and code > 0x7F):
                    break
                return chr(code)
        else:
            if match[5] in _LETTERS:
                return _LETTERS[match[5]]
        text = f"what {match[0]!r} means in $'…' is not certain"
        raise UnclearError(text)

    return _ANSI.sub(one, source)


_BRACES = re.compile(r"(?<!\\)\{(?:[^{}]*(?:,|\.\.)|[^}]*\{)")


def joined(pieces: Iterable[Word | str], source: str) -> Word:
    """Make one word of its pieces.

    Args:
        pieces: Unquoted text as it stands in the line, and words for all that is quoted
            or expanded.
        source: The whole as it stands in the line.
    """
    text, lead = "", ""
    certain, unknown, many, glob = True, False, False, False
    parts = list(pieces)
    loose = "".join(p if isinstance(p, str) else "_" for p in parts)
    tilde = loose.startswith("~")
    for part in parts:
        if isinstance(part, str):
            value, patterned = plain_text(part)
            piece = Word(value, known=not patterned, lead=_before_pattern(part))
            glob |= patterned
        else:
            piece = part
            unknown |= not piece.known
            many |= piece.many
        text += piece.text
        if certain:
            lead += piece.lead
            certain = piece.known
    if _BRACES.search(loose):
        lead = "" if "_" in loose else plain_text(loose.partition("{")[0])[0]
        return Word(_shown(source), known=False, lead=lead, many=True)
    if unknown:
        return Word(_shown(source), known=False, lead=lead, many=many or glob, tilde=tilde)
    if glob:
        return Word(text, known=False, lead=lead, many=True, glob=True, tilde=tilde)
    return Word(text, lead=text, tilde=tilde)


def _before_pattern(source: str) -> str:
    match = re.search(r"(?<!\\)(?:\\\\)*(?=[*?\[])", source)
    return plain_text(source[: match.end()] if match else source)[0]


def _shown(source: str) -> str:
    """Return what stands for a value that is not known.

    It starts and ends like a text that a shell looks up, so that a pattern which fits
    ``build/*`` or ``*.c`` does not fit ``build/$X`` or ``$X.c``.
    """
    quoted = len(source) > 1 and source[0] == source[-1] == '"' and '"' not in source[1:-1]
    return f"${source}" if quoted else f'$"{source}"'
