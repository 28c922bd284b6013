"""From what a model says, a line and a name, to the place that a server is asked about."""

from __future__ import annotations

import re

from functools import lru_cache

import attrs

from toolcrib import Invalid, NotFound

from .texts import Snapshot


__all__ = ["Spot", "find_spot"]

_MOST_LINES = 12
_WORD = re.compile(r"\w+")


@attrs.frozen
class Spot:
    """A place in a text, from 0, and what stands there.

    ``others`` are the columns, from 1, of further places of the name on the line.
    """

    line: int
    column: int
    name: str
    others: tuple[int, ...] = ()


def find_spot(
    snapshot: Snapshot,
    shown: str,
    *,
    line: int | None,
    name: str | None,
    column: int | None,
    exact: bool = False,
) -> Spot:
    """Return the place that a call names.

    Args:
        snapshot: The file.
        shown: Its path, for messages.
        line: From 1.
        name: What stands there; ``a.b`` means the last part of it.
        column: From 1, in characters; only needed if the name stands there twice.
        exact: Whether a name that stands on the line twice is refused.

    Raises:
        Invalid: it names no place, or one that does not exist.
        NotFound: the name does not stand there.
    """
    lines = snapshot.lines
    if line is None:
        if name is None:
            text = "Say which place is meant: a line and a name, or a name that stands once."
            raise Invalid("/name", text, code="lsp.no_place")
        return _by_name(lines, name, shown)
    if not 1 <= line <= len(lines):
        text = f"{shown} has {len(lines)} lines; there is no line {line}."
        raise Invalid("/line", text, code="lsp.past_end")
    content = lines[line - 1]
    if name is None:
        return _by_column(content, line, column, shown)
    columns = _columns(content, name)
    if column is not None:
        near = [c for c in columns if c <= column - 1 <= c + len(_last(name))]
        if not near:
            text = f"{name!r} does not stand at column {column} of line {line}."
            raise NotFound(text + _where(columns), code="lsp.name_not_there")
        return Spot(line - 1, near[-1], name)
    if not columns:
        text = f"{name!r} does not stand on line {line}: {content.strip()[:200]!r}."
        raise NotFound(text + _elsewhere(lines, name), code="lsp.name_not_there")
    others = tuple(c + 1 for c in columns[1:]) if len(columns) > 1 else ()
    if others and exact:
        text = f"{name!r} stands on line {line} more than once."
        raise Invalid("/column", text + _where(columns), code="lsp.ambiguous")
    return Spot(line - 1, columns[0], name, others)


def _by_column(content: str, line: int, column: int | None, shown: str) -> Spot:
    if column is not None and not 1 <= column <= len(content) + 1:
        text = f"Line {line} has {len(content)} characters; there is no column {column}."
        raise Invalid("/column", text, code="lsp.past_end")
    if column is None:
        # The first word: what a line is about is what a model that names none means.
        found = _WORD.search(content)
        start = found.start() if found is not None else 0
    else:
        start = column - 1
    for word in _WORD.finditer(content):
        if word.start() <= start <= word.end():
            return Spot(line - 1, start, word.group())
    return Spot(line - 1, start, "")


def _last(name: str) -> str:
    words = [name] if name.isidentifier() else _WORD.findall(name)
    return words[-1] if words else name


def _columns(content: str, name: str) -> list[int]:
    """Return where a name stands on a line, as a whole word; its last part is meant."""
    if name not in content or not name.strip():
        return []
    offset = name.rfind(_last(name))
    return [found.start() + offset for found in _whole(name).finditer(content)]


@lru_cache(maxsize=128)
def _whole(name: str) -> re.Pattern[str]:
    """Return what finds a name that is no part of a longer one."""
    before = r"(?<!\w)" if _WORD.match(name[0]) else ""
    after = r"(?!\w)" if _WORD.match(name[-1]) else ""
    return re.compile(before + re.escape(name) + after)


def _by_name(lines: list[str], name: str, shown: str) -> Spot:
    found = [
        (n, columns) for n, content in enumerate(lines) if (columns := _columns(content, name))
    ]
    if not found:
        text = f"{name!r} does not stand in {shown}. Check its spelling, or name another file."
        raise NotFound(text, code="lsp.name_not_there")
    if len(found) > 1:
        text = f"{name!r} stands on several lines of {shown}; say which line is meant:"
        raise Invalid("/line", text + _listing(lines, found), code="lsp.ambiguous")
    number, columns = found[0]
    return Spot(number, columns[0], name, tuple(c + 1 for c in columns[1:]))


def _listing(lines: list[str], found: list[tuple[int, list[int]]]) -> str:
    shown = [f"\n{n + 1}: {lines[n].strip()[:120]}" for n, _ in found[:_MOST_LINES]]
    more = len(found) - len(shown)
    return "".join(shown) + (f"\n… and {more} more" if more > 0 else "")


def _elsewhere(lines: list[str], name: str) -> str:
    found = [
        (n, columns) for n, content in enumerate(lines) if (columns := _columns(content, name))
    ]
    return " It stands on:" + _listing(lines, found) if found else " It is nowhere in the file."


def _where(columns: list[int]) -> str:
    if not columns:
        return ""
    return " It stands at column " + ", ".join(str(c + 1) for c in columns) + "."
