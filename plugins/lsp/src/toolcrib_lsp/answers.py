"""What servers answer, read leniently: one form of each, whatever form they chose."""

from __future__ import annotations

import os
import re

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from toolcrib import ToolFailure

from .outputs import Location
from .places import inside, path_of, shown
from .positions import at_units
from .texts import Snapshot, Texts


__all__ = ["Reader", "flattened", "hover_text", "is_nothing"]

_LONGEST_LINE = 300
_LONGEST_HOVER = 8000
# Pictures in the text itself; thousands of characters that say nothing to a model.
_PICTURE = re.compile(r"!\[[^\]]*\]\(data:[^)]*\)")


def is_nothing(result: Any) -> bool:
    """Tell whether an answer says nothing."""
    if isinstance(result, Mapping):
        return not result or not result.get("contents", True)
    return not result


@attrs.frozen
class _Text:
    lines: list[str]
    known: bool


class Reader:
    """Turns a server's places into ours.

    Args:
        root: The workspace.
        texts: What is on the disk.
        encoding: Of the server's positions.
        seen: What the server was told of open files; others it read from the disk.
    """

    def __init__(
        self, root: str, texts: Texts, encoding: str, seen: Mapping[str, Snapshot]
    ) -> None:
        self._root = root
        self._texts = texts
        self._encoding = encoding
        self._seen = seen
        self._lines: dict[str, _Text] = {}

    def locations(self, result: Any) -> list[Location]:
        """Return the places of a definition or the like: one, several, links, or none."""
        items = result if isinstance(result, list) else [result]
        found: dict[tuple[str, int, int], Location] = {}
        for item in items:
            location = self.location(item)
            if location is not None:
                found.setdefault((location.path, location.line, location.column), location)
        return sorted(found.values(), key=_order)

    def location(self, item: Any) -> Location | None:
        """Return the place of a ``Location``, ``LocationLink`` or symbol; None if none."""
        if not isinstance(item, Mapping):
            return None
        uri = item.get("targetUri", item.get("uri"))
        span = item.get("targetSelectionRange") or item.get("targetRange") or item.get("range")
        path = path_of(uri)
        if path is None:
            return None
        return self.place(path, span)

    def place(self, path: str, span: Any) -> Location | None:
        """Return a range in a file as a place."""
        known, real = self._text(path)
        within = inside(self._root, real)
        try:
            if known.known:
                line, column = at_units(span["start"], known.lines, self._encoding)
                last, end = at_units(span["end"], known.lines, self._encoding)
            else:
                # The text is not ours to read, so units must do for characters.
                line, column = span["start"]["line"], span["start"]["character"]
                last, end = span["end"]["line"], span["end"]["character"]
        except (TypeError, KeyError, ValueError):
            return None
        content = known.lines[line] if known.known else ""
        stop = end if last == line else len(content)
        return Location(
            path=shown(self._root, real),
            line=line + 1,
            column=column + 1,
            end_line=last + 1,
            end_column=end + 1,
            name=content[column:stop][:200],
            text=content.strip()[:_LONGEST_LINE],
            outside=not within,
        )

    def _text(self, path: str) -> tuple[_Text, str]:
        seen = self._seen.get(path)
        if seen is not None:
            return _Text(seen.lines, True), path
        real = os.path.realpath(path)
        text = self._lines.get(real)
        if text is None:
            text = self._lines[real] = self._read(real)
        return text, real

    def _read(self, path: str) -> _Text:
        """Read a file of the workspace; what lies outside is not read."""
        if not inside(self._root, path):
            return _Text([], False)
        try:
            return _Text(self._texts.now(path).lines, True)
        except ToolFailure:
            return _Text([], False)


def _order(location: Location) -> tuple[bool, str, int, int]:
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
