"""What the tools give back, for programs; the text for the model stands beside it."""

from __future__ import annotations

from typing import Any, Literal

import attrs


__all__ = [
    "Changed",
    "ChangedFile",
    "FoundEntry",
    "FoundFiles",
    "GrepFile",
    "GrepLine",
    "GrepResult",
    "ReadResult",
    "counted",
    "plain",
]


@attrs.frozen(kw_only=True)
class ReadResult:
    """What was read.

    Attributes:
        path: From the workspace, or absolute outside of it.
        kind: ``text``, or what the first bytes say.
        media_type: Of a file that is no text.
        size, digest: Of the whole file, SHA-256 in hexadecimal.
        start, end, total: Numbers of lines; end is below start if there is none.
        next_start: Where to go on; null at the end.
        clipped: Numbers of lines of which only a part was read.
        encoding, newline, final_newline: How the text is stored.
        lossy: Whether some bytes are no text and show as U+FFFD.
    """

    path: str
    kind: Literal["text", "image", "document", "binary"]
    media_type: str = "text/plain"
    size: int
    digest: str
    start: int = 0
    end: int = 0
    total: int = 0
    next_start: int | None = None
    clipped: tuple[int, ...] = ()
    encoding: str = ""
    newline: str = "none"
    final_newline: bool = False
    lossy: bool = False


@attrs.frozen(kw_only=True)
class ChangedFile:
    """One file that was changed.

    Attributes:
        path: From the workspace, or absolute outside of it.
        change: What became of it.
        moved_to: Where a moved file is now.
        digest: Of the new content; null for a deleted file.
        added, removed: Numbers of lines.
        replaced: For an edit: the first line of each place that was replaced.
    """

    path: str
    change: Literal["added", "updated", "deleted", "moved"]
    moved_to: str | None = None
    digest: str | None = None
    added: int = 0
    removed: int = 0
    replaced: tuple[int, ...] = ()


@attrs.frozen(kw_only=True)
class Changed:
    """Everything that a call changed; all of it, or the call failed and changed nothing."""

    files: tuple[ChangedFile, ...]


@attrs.frozen(kw_only=True)
class FoundEntry:
    """One entry of a folder; ``target`` is where a link points."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    modified: float = 0.0
    target: str | None = None


@attrs.frozen(kw_only=True)
class FoundFiles:
    """A page of entries; ``skipped`` counts what was left out, by reason."""

    entries: tuple[FoundEntry, ...]
    cursor: str | None = None
    skipped: dict[str, int] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class GrepLine:
    """A line that holds a match, and lines around it."""

    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class GrepFile:
    """A file that holds a match; ``count`` is the number of lines in mode count."""

    path: str
    count: int = 0
    lines: tuple[GrepLine, ...] = ()


@attrs.frozen(kw_only=True)
class GrepResult:
    """A page of what was found; ``skipped`` counts what was not searched, by reason."""

    files: tuple[GrepFile, ...]
    cursor: str | None = None
    searched: int = 0
    skipped: dict[str, int] = attrs.field(factory=dict)
    engine: Literal["ripgrep", "python"] = "python"


def plain(value: Any) -> Any:
    """Return an output as a JSON value."""
    return attrs.asdict(value, value_serializer=_listed)


def _listed(_: Any, __: Any, value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words: ``1 file``, ``2 files``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
