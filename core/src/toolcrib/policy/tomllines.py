"""On which line of a TOML text each key and array item stands.

``tomllib`` reads values and forgets where they were. This scan runs over a text that
``tomllib`` has accepted already, so it may take the grammar for granted: it finds keys,
skips values, and counts lines.
"""

from __future__ import annotations

import bisect
import re
import tomllib


__all__ = ["lines_of"]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(
    r"""[A-Za-z0-9_-]+ | "(?:[^"\\]|\\.)*" | '[^']*' """,
    re.VERBOSE | re.ASCII,
)
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_TEXT = re.compile(
    r'''
    """ (?:[^\\]|\\.)*? "{3,5} (?!")
    | \'{3} .*? \'{3,5} (?!\')
    | " (?:[^"\\]|\\.)* "
    | \' [^']* \'
    ''',
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\n]*")

Path = tuple[str | int, ...]


def lines_of(text: str) -> dict[Path, int]:
    """Return the line, from 1, of each key and item of a valid TOML text.

    A path is made of keys and array positions: ``("rules", 2)``. A table is where its
    header or its first dotted key stands.
    """
    scan = _Scan(text)
    scan.document()
    return scan.found


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self._breaks = [i for i, c in enumerate(text) if c == "\n"]
        # How many tables each array of tables has so far.
        self._tables: dict[Path, int] = {}

    def document(self) -> None:
        prefix: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self._take("["):
                prefix = self._header()
            else:
                self._pair(prefix)
            self._skip(_BLANK)

    def _header(self) -> Path:
        array = self._take("[")
        self._blank()
        start = self.at
        keys = self._keys()
        self._blank()
        self.at += 2 if array else 1
        prefix: Path = ()
        for position, key in enumerate(keys):
            prefix = (*prefix, key)
            self._note(prefix, start)
            last = position == len(keys) - 1
            if last and array:
                self._tables[prefix] = self._tables.get(prefix, 0) + 1
            if prefix in self._tables:
                prefix = (*prefix, self._tables[prefix] - 1)
        self._note(prefix, start)
        return prefix

    def _pair(self, prefix: Path) -> None:
        start = self.at
        for key in self._keys():
            prefix = (*prefix, key)
            self._note(prefix, start)
        self._blank()
        self._take("=")
        self._blank()
        self._value(prefix)

    def _value(self, path: Path) -> None:
        if self._take("["):
            self._items(path)
        elif self._take("{"):
            self._inline(path)
        elif self.text[self.at] in "\"'":
            self._skip(_TEXT)
        else:
            self._skip(_BARE)

    def _items(self, path: Path) -> None:
        index = 0
        self._skip(_BLANK)
        while not self._take("]"):
            self._note((*path, index), self.at)
            self._value((*path, index))
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)
            index += 1

    def _inline(self, path: Path) -> None:
        self._skip(_BLANK)
        while not self._take("}"):
            self._pair(path)
            self._skip(_BLANK)
            self._take(",")
            self._skip(_BLANK)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            raw = self._skip(_KEY)
            if "\\" in raw:
                raw = next(iter(tomllib.loads(f"{raw} = 0")))
            elif raw[:1] in {'"', "'"}:
                raw = raw[1:-1]
            keys.append(raw)
            if not self._skip(_DOT):
                return keys

    def _note(self, path: Path, start: int) -> None:
        self.found.setdefault(path, bisect.bisect_left(self._breaks, start) + 1)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def _blank(self) -> None:
        while self.text[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1

    def _take(self, character: str) -> bool:
        taken = self.text.startswith(character, self.at)
        self.at += taken
        return taken
