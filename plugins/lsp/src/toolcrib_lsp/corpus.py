"""Which files of the workspace mention a name.

Many servers know a file only once it is open, or once they have found it by themselves,
which for one that is new may be never. Before a question whose answer lies in all files,
those that mention the name are opened, so that the answer is whole.
"""

from __future__ import annotations

import os

from collections.abc import Callable, Iterable

from toolcrib import ToolFailure

from .texts import read_bytes
from .watching import Change


__all__ = ["Corpus"]

# With more files than this, servers are trusted to find the old ones by themselves.
_SMALL = 300
_LARGEST = 256 * 1024
_MOST_ANSWERS = 256
_KEPT_BYTES = 32 * 1024 * 1024


class Corpus:
    """The files of a workspace by language.

    Args:
        language: Tells the language of a file.
    """

    def __init__(self, language: Callable[[str], str | None]) -> None:
        self._language = language
        self._paths: dict[str, set[str]] = {}
        self._born: dict[str, float] = {}
        self._texts: dict[str, bytes] = {}
        self._size = 0
        self._answers: dict[tuple[str, tuple[str, ...], float, int], list[str]] = {}

    def start(self, files: Iterable[str]) -> None:
        """Take the files as they are."""
        self._answers.clear()
        for path in files:
            self._add(path)

    def update(self, changes: Iterable[Change], now: float) -> None:
        """Take changes; *now* is when they were noticed."""
        self._answers.clear()
        for change in changes:
            self._size -= len(self._texts.pop(change.path, b""))
            if change.kind == "created":
                self._add(change.path)
                self._born[change.path] = now
            elif change.kind == "deleted":
                language = self._language(change.path)
                self._paths.get(language or "", set()).discard(change.path)
                self._born.pop(change.path, None)

    def languages(self) -> list[tuple[str, str]]:
        """Return each language and one file of it, the most common language first."""
        found = sorted(self._paths.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        return [(language, min(paths)) for language, paths in found if paths]

    def mentioning(
        self, name: str, languages: Iterable[str], *, since: float, most: int
    ) -> list[str]:
        """Return files that mention a name, by path.

        Args:
            name: The name.
            languages: In which they are.
            since: Files that are older are left to the server if there are many.
            most: How many are returned at most; new ones come first.
        """
        key = (name, tuple(languages), since, most)
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            found = self._answers[key] = self._search(*key)
        return found

    def _search(
        self, name: str, languages: tuple[str, ...], since: float, most: int
    ) -> list[str]:
        paths = set().union(*(self._paths.get(each, set()) for each in languages))
        new = {path for path in paths if self._born.get(path, 0.0) >= since}
        if len(paths) > _SMALL:
            paths = new
        word = name.encode()
        found = [path for path in paths if word in self._text(path)]
        found.sort(key=lambda path: (path not in new, path))
        return found[:most]

    def _add(self, path: str) -> None:
        language = self._language(path)
        if language is not None:
            self._paths.setdefault(language, set()).add(path)

    def _text(self, path: str) -> bytes:
        known = self._texts.get(path)
        if known is not None:
            return known
        try:
            data = read_bytes(path) if os.path.getsize(path) <= _LARGEST else b""
        except (ToolFailure, OSError):
            data = b""
        if self._size + len(data) <= _KEPT_BYTES:
            self._texts[path] = data
            self._size += len(data)
        return data
