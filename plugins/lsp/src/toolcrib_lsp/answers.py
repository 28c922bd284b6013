"""What servers answer, read leniently: one form of each, whatever form they chose."""

from __future__ import annotations

import re

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from toolcrib import Access, ToolFailure

from .outputs import Location
from .places import inside, looked_up, path_of, shown
from .positions import at_units
from .texts import Snapshot, Texts


__all__ = ["Reader", "flattened", "hover_text", "is_nothing", "nothing_barred", "order"]

_LONGEST_LINE = 300
_LONGEST_HOVER = 8000
# Pictures in the text itself; thousands of characters that say nothing to a model.
_PICTURE = re.compile(r"!\[[^\]]*\]\(data:[^)]*\)")


def is_nothing(result: Any) -> bool:
    """Tell whether an answer says nothing."""
    if isinstance(result, dict):
        return not result or not result.get("contents", True)
    return not result


def nothing_barred(path: str, access: Access = Access.READ) -> bool:
    """Tell of every path that no rule keeps a call from it: where there is no call."""
    return False


@attrs.frozen
class _File:
    """A file that answers name: how it is shown, and its lines if they may be read."""

    shown: str
    outside: bool
    lines: list[str] | None
    barred: bool = False


class Reader:
    """Turns a server's places into ours.

    Args:
        root: The workspace.
        texts: What is on the disk.
        encoding: Of the server's positions.
        seen: What the server was told of a file, if it is open; others it read from the
            disk.
        barred: Whether rules keep the call from a path that an answer names.

    """

    def __init__(
        self,
        root: str,
        texts: Texts,
        encoding: str,
        seen: Callable[[str], Snapshot | None],
        barred: Callable[[str], bool] = nothing_barred,
    ) -> None:
        self._root = root
        self._texts = texts
        self._encoding = encoding
        self._seen = seen
        self._barred = barred
        self._withheld: set[tuple[str, str]] = set()
        # Answers name the same few files many times.
        self._by_path: dict[str, _File] = {}

    @property
    def withheld(self) -> int:
        """How many places were left out because rules keep the call from their files."""
        return len(self._withheld)

    def locations(self, result: Any) -> list[Location]:
        """Return the places of a definition or the like: one, several, links, or none."""
        items = result if isinstance(result, list) else [result]
        found: dict[tuple[str, int, int], Location] = {}
        for item in items:
            location = self.location(item)
            if location is not None:
                found.setdefault((location.path, location.line, location.column), location)
        return sorted(found.values(), key=order)

    def location(self, item: Any) -> Location | None:
        """Return the place of a ``Location``, ``LocationLink`` or symbol; None if none."""
        if not isinstance(item, dict):
            return None
        path = path_of(item.get("targetUri", item.get("uri")))
        span = item.get("targetSelectionRange") or item.get("targetRange") or item.get("range")
        return None if path is None else self._in(self._file(path), span)

    def place(self, path: str, span: Any) -> Location | None:
        """Return a range in a file as a place."""
        return self._in(self._file(path), span)

    def _in(self, file: _File, span: Any) -> Location | None:
        if file.barred:
            self._withheld.add((file.shown, repr(span)))
            return None
        lines = file.lines
        try:
            start, stop = span["start"], span["end"]
            if lines is not None:
                line, column = at_units(start, lines, self._encoding)
                last, end = at_units(stop, lines, self._encoding)
            else:
                # The text is not ours to read, so units must do for characters.
                line, column = start["line"], start["character"]
                last, end = stop["line"], stop["character"]
            content = "" if lines is None else lines[line]
            return Location(
                path=file.shown,
                line=line + 1,
                column=column + 1,
                end_line=last + 1,
                end_column=end + 1,
                name=content[column : end if last == line else len(content)][:200],
                text=content.strip()[:_LONGEST_LINE],
                outside=file.outside,
            )
        except (TypeError, KeyError, ValueError):
            return None

    def _file(self, path: str) -> _File:
        file = self._by_path.get(path)
        if file is None:
            file = self._by_path[path] = self._read(path)
        return file

    def _read(self, path: str) -> _File:
        """Return a file of the workspace with its lines; what lies outside is not read."""
        seen = self._seen(path)
        real, found = (path, None) if seen is not None else looked_up(self._root, path)
        if self._barred(real):
            return _File(real, False, None, True)
        if not inside(self._root, real):
            return _File(shown(self._root, real), True, None)
        try:
            lines = (self._texts.now(real, found) if seen is None else seen).lines
        except ToolFailure:
            return _File(shown(self._root, real), False, None)
        return _File(shown(self._root, real), False, lines)


def order(location: Location) -> tuple[bool, str, int, int]:
    """Return what places are sorted by: those of the workspace first."""
    return location.outside, location.path, location.line, location.column


def hover_text(result: Any) -> str:
    """Return what a hover says, whichever of its four forms it has."""
    contents = result.get("contents") if isinstance(result, Mapping) else None
    parts = contents if isinstance(contents, list) else [contents]
    text = "\n\n".join(text for part in parts if (text := _marked(part)))
    text = _PICTURE.sub("", text)
    if len(text) > _LONGEST_HOVER:
        text = text[:_LONGEST_HOVER] + " […]"
    return text


def _marked(part: Any) -> str:
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, Mapping):
        return ""
    value = part.get("value")
    if not isinstance(value, str):
        return ""
    language = part.get("language")
    if isinstance(language, str) and language:
        return f"```{language}\n{value.strip()}\n```"
    return value.strip()


def flattened(
    symbols: Any, depth: int = 0, container: str = ""
) -> Iterator[tuple[Any, int, str]]:
    """Give each symbol of a document with its depth and what holds it."""
    if not isinstance(symbols, list) or depth > 60:
        return
    for symbol in symbols:
        if not isinstance(symbol, Mapping):
            continue
        name = str(symbol.get("name", ""))
        yield symbol, depth, str(symbol.get("containerName") or container)
        yield from flattened(symbol.get("children"), depth + 1, name)
