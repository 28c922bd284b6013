"""Glob patterns: their grammar, and the files of a folder that match one.

``*`` and ``?`` stay within a part of a path, ``**`` spans parts, ``[a-z]`` and
``[!a-z]`` are sets, ``{a,b}`` are choices, a backslash takes the meaning away.
"""

from __future__ import annotations

import json
import re

from collections.abc import Callable, Iterator
from typing import Literal

import attrs

from .faults import Fault
from .places import Place
from .walking import Entry, Include, Skipped, Walk, require_folder


__all__ = ["Found", "compile_glob", "find"]

LONGEST = 1024
_MOST_CHOICES = 64


def compile_glob(
    pattern: str, *, anywhere: bool = False, pointer: str = "/pattern"
) -> re.Pattern[str]:
    """Compile a glob pattern to match whole relative paths.

    Args:
        pattern: The pattern.
        anywhere: Whether a pattern without ``/`` matches at any depth.
        pointer: JSON pointer of the argument it came from.
    """
    if not pattern or len(pattern) > LONGEST or "\0" in pattern:
        text = f"A glob pattern has 1 to {LONGEST} characters. An example is src/**/*.py."
        raise Fault(text, kind="invalid", code="files.bad_glob", pointer=pointer)
    pattern = pattern.removeprefix("./")
    if anywhere and "/" not in pattern:
        pattern = f"**/{pattern}"
    if pattern.endswith("/"):
        pattern += "**"
    try:
        return re.compile(_Translator(pattern).translate(), re.DOTALL)
    except (ValueError, re.error) as error:
        text = (
            f"The glob pattern {pattern[:80]!r} cannot be read: {error}. An example is"
            " src/**/*.py."
        )
        raise Fault(text, kind="invalid", code="files.bad_glob", pointer=pointer) from None


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.choices = 0

    def translate(self) -> str:
        out: list[str] = []
        depth = 0
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            self.at += 1
            if char == "*":
                out.append(self._stars())
            elif char == "?":
                out.append("[^/]")
            elif char == "[":
                out.append(self._set())
            elif char == "{":
                depth += 1
                self.choices += 1
                out.append("(?:")
            elif char == "}" and depth:
                depth -= 1
                out.append(")")
            elif char == "," and depth:
                self.choices += 1
                out.append("|")
            else:
                out.append(self._literal(char))
        if depth:
            message = "a '{' is not closed"
            raise ValueError(message)
        if self.choices > _MOST_CHOICES:
            message = f"more than {_MOST_CHOICES} choices"
            raise ValueError(message)
        return "".join(out)

    def _literal(self, char: str) -> str:
        if char == "\\":
            if self.at == len(self.pattern):
                message = "it ends with a backslash"
                raise ValueError(message)
            char = self.pattern[self.at]
            self.at += 1
        return re.escape(char)

    def _stars(self) -> str:
        start = self.at - 1
        while self.at < len(self.pattern) and self.pattern[self.at] == "*":
            self.at += 1
        alone = start == 0 or self.pattern[start - 1] in "/{,"
        if self.at - start == 1 or not alone:
            return "[^/]*"
        if self.at == len(self.pattern) or self.pattern[self.at] in "},":
            return ".*"
        if self.pattern[self.at] == "/":
            self.at += 1
            return "(?:[^/]+/)*"
        return "[^/]*"

    def _set(self) -> str:
        close = self.pattern.find("]", self.at + 1 + (self.pattern[self.at :][:1] in "!^"))
        if close < 0:
            return r"\["
        body = self.pattern[self.at : close]
        self.at = close + 1
        negated = body[:1] in ("!", "^")
        body = (body[1:] if negated else body).replace("\\", r"\\")
        body = body.replace("[", r"\[").replace("]", r"\]").replace("^", r"\^")
        body = re.sub(r"([&~|])", r"\\\1", body)
        return f"(?!/)[{'^' if negated else ''}{body}]"


@attrs.frozen
class Found:
    """A page of what was found, and where the next one starts."""

    entries: tuple[Entry, ...]
    cursor: str | None
    skipped: Skipped


def find(
    place: Place,
    pattern: str,
    *,
    include: frozenset[Include] = frozenset(),
    folders: bool = False,
    order: Literal["name", "newest"] = "name",
    limit: int = 200,
    cursor: str | None = None,
    stop: Callable[[], None] = lambda: None,
    barred: Callable[[str], bool] = lambda _: False,
) -> Found:
    """Return the entries below a folder whose path from there matches."""
    require_folder(place)
    matches = compile_glob(pattern).fullmatch
    walk = Walk(place, include, folders=folders, stop=stop, barred=barred)
    cut = 0 if place.relative == "." else len(place.relative) + 1
    hits: Iterator[Entry] = (entry for entry in walk if matches(entry.path[cut:]))
    key = _by_name if order == "name" else _by_age
    after = _decode(cursor) if cursor is not None else None
    if order == "newest":
        hits = iter(sorted(hits, key=key))
    page: list[Entry] = []
    more = False
    for entry in hits:
        if after is not None and key(entry) <= after:
            continue
        if len(page) == limit:
            more = True
            break
        page.append(entry)
    # A page that is full still owes the whole count of what was left out on its way.
    return Found(tuple(page), _encode(key(page[-1])) if more else None, walk.skipped)


def _by_name(entry: Entry) -> tuple[object, ...]:
    return (0, *entry.key)


def _by_age(entry: Entry) -> tuple[object, ...]:
    return (-entry.modified, *entry.key)


def _encode(key: tuple[object, ...]) -> str:
    return json.dumps([key[0], "/".join(map(str, key[1:]))])


def _decode(cursor: str) -> tuple[object, ...]:
    try:
        number, path = json.loads(cursor)
        if not isinstance(number, int) or not isinstance(path, str):
            raise ValueError  # noqa: TRY301, TRY004 - one answer for every broken cursor
    except (ValueError, TypeError):
        text = "The cursor is not one that this tool gave. Leave it out to start again."
        raise Fault(text, kind="invalid", code="files.bad_cursor", pointer="/cursor") from None
    return (number, *path.split("/"))
