"""Change the list of packs in a policy file, and not one byte beside it."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import tomllib

from pathlib import Path

from toolcrib.errors import PolicyError
from toolcrib.names import normalize_distribution


__all__ = ["with_pack", "without_pack", "write"]

# What may stand in an array of texts: blanks and comments, commas, texts.
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'")
_KEY = re.compile(r"^[ \t]*(?:packs|\"packs\"|'packs')[ \t]*=[ \t]*\[", re.MULTILINE)
# What may follow an item that has its line to itself.
_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?\r?\n")
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def with_pack(text: str, name: str, *, file: Path) -> str:
    """Return the text of a policy file in which a distribution is enabled.

    Raises:
        PolicyError: the file cannot be changed safely; it says what to write by hand.
    """
    enabled = _enabled(text, file)
    if normalize_distribution(name) in map(normalize_distribution, enabled):
        return text
    array = _Array.find(text)
    # At the top: below a table's header it would be a key of that table.
    new = array.with_item(name) if array else _at_the_top(text, f'packs = ["{name}"]')
    return _checked(text, new, [*enabled, name], file)


def without_pack(text: str, name: str, *, file: Path) -> str:
    """Return the text of a policy file in which a distribution is not enabled.

    Raises:
        PolicyError: as above.
    """
    enabled = _enabled(text, file)
    gone = normalize_distribution(name)
    kept = [one for one in enabled if normalize_distribution(one) != gone]
    if kept == enabled:
        return text
    array = _Array.find(text)
    new = array.without_item(gone) if array is not None else text
    return _checked(text, new, kept, file)


def write(file: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all; links and modes stay.

    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    file = file.resolve()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if file.exists():
            Path(name).chmod(file.stat().st_mode & 0o777)
        Path(name).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _enabled(text: str, file: Path) -> list[str]:
    """Read the list as it is; nothing else of the file needs to be right."""
    try:
        packs = tomllib.loads(text).get("packs", [])
    except tomllib.TOMLDecodeError as error:
        reason = f"is not TOML: {error}"
        raise PolicyError(reason, file=file) from None
    if not isinstance(packs, list) or not all(isinstance(one, str) for one in packs):
        reason = "must be an array of distribution names"
        raise PolicyError(reason, file=file, key="packs")
    return packs


def _checked(old: str, new: str, wanted: list[str], file: Path) -> str:
    """Give the new text only if it says what it should, and all else as before."""
    before = tomllib.loads(old)
    try:
        after = tomllib.loads(new)
    except tomllib.TOMLDecodeError:
        after = {}
    if after.pop("packs", None) == wanted:
        before.pop("packs", None)
        if before == after:
            return new
    line = ", ".join(f'"{name}"' for name in wanted)
    reason = f"cannot be changed without touching more; write by hand: packs = [{line}]"
    raise PolicyError(reason, file=file, key="packs")


def _at_the_top(text: str, line: str) -> str:
    """Insert a line after the comments that a file begins with."""
    newline = "\r\n" if "\r\n" in text else "\n"
    table = _TABLE.search(text)
    head = re.compile(r"(?:[ \t]*#[^\n]*\n)*").match(text)
    end = head.end() if head is not None else 0
    # A comment right above the first table belongs to that table.
    if table is not None and end == table.start():
        end = 0
    return f"{text[:end]}{line}{newline}{text[end:]}"


class _Array:
    """The array of packs as it stands in the text."""

    def __init__(self, text: str, start: int, items: list[tuple[int, int]], end: int) -> None:
        self._text = text
        self._start = start  # Just after the bracket that opens it.
        self._items = items
        self._end = end  # At the bracket that closes it.

    @classmethod
    def find(cls, text: str) -> _Array | None:
        """Return the array, or None where it is not written plainly."""
        table = _TABLE.search(text)
        key = _KEY.search(text, 0, table.start() if table is not None else len(text))
        if key is None:
            return None
        at = key.end()
        items: list[tuple[int, int]] = []
        while True:
            at = _skip(text, at)
            if at >= len(text):
                return None
            if text[at] == "]":
                return cls(text, key.end(), items, at)
            item = _TEXT.match(text, at)
            if item is None:
                return None
            items.append(item.span())
            at = _skip(text, item.end())
            if text[at : at + 1] == ",":
                at += 1

    def with_item(self, name: str) -> str:
        """Return the text with one more item, written as the others are."""
        text = self._text
        if not self._items:
            return f'{text[: self._start]}"{name}"{text[self._start :]}'
        start, end = self._items[-1]
        newline = text.rfind("\n", 0, start)
        lead = text[newline + 1 : start]
        alone = newline >= self._start and not lead.strip()
        after = _skip(text, end)
        comma = text[after : after + 1] == ","
        if not alone:
            return f'{text[:end]}, "{name}"{text[end:]}'
        # Each item has a line of its own: so has this one, below the last one's comment.
        line_end = text.find("\n", after if comma else end)
        line_end = self._end if line_end == -1 or line_end > self._end else line_end
        eol = "\r\n" if text[line_end - 1 : line_end] == "\r" else "\n"
        line_end -= len(eol) - 1
        head = text[:line_end] if comma else f"{text[:end]},{text[end:line_end]}"
        return f'{head}{eol}{lead}"{name}"{"," if comma else ""}{text[line_end:]}'

    def without_item(self, name: str) -> str:
        """Return the text without an item, its comma, and a line that was all its own."""
        text = self._text
        for index in reversed(range(len(self._items))):
            start, end = self._items[index]
            value = tomllib.loads(f"v = {self._text[start:end]}")["v"]
            if normalize_distribution(value) == name:
                text = self._cut(text, index)
        return text

    def _cut(self, text: str, index: int) -> str:
        """Take one item out; the items after it are as they were in the text."""
        start, end = self._items[index]
        after = _skip(text, end)
        comma = after + 1 if text[after : after + 1] == "," else end
        line = text.rfind("\n", 0, start) + 1
        rest = _REST.match(text, comma)
        if line > self._start and not text[line:start].strip() and rest is not None:
            return text[:line] + text[rest.end() :]
        before = self._items[index - 1][1] if index else start
        if comma == end and "#" not in text[before:start]:
            return text[:before] + text[end:]
        if text[comma : comma + 1] == " ":
            comma += 1
        return text[:start] + text[comma:]


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found is not None else at
