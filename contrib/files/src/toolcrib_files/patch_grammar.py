"""The text of a patch over several files, read into operations.

::

    *** Begin Patch
    *** Add File: src/new.py
    +every line starts with a plus
    *** Update File: src/old.py
    *** Move to: src/renamed.py
    @@ def the_line_to_look_behind():
     a line that stays
    -a line that goes
    +a line that comes
    *** End of File
    *** Delete File: src/gone.py
    *** End Patch
"""

from __future__ import annotations

from typing import Literal

import attrs

from .faults import Fault


__all__ = ["Hunk", "Operation", "parse"]

LARGEST = 1024 * 1024
MOST_OPERATIONS = 100
MOST_HUNKS = 1000
MOST_LINES = 50_000

_BEGIN, _END, _EOF = "*** Begin Patch", "*** End Patch", "*** End of File"
_MOVE = "*** Move to: "
_SECTIONS: dict[str, Literal["add", "delete", "update"]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}


@attrs.frozen(kw_only=True)
class Hunk:
    """One change of an update.

    Attributes:
        locators: Lines to look behind, one after the other.
        lines: ``(sign, text)`` where the sign is a space, ``-`` or ``+``.
        at_end: Whether the hunk ends at the end of the file.
        number: Line of the patch where it starts, from 1.
    """

    locators: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool
    number: int


@attrs.frozen(kw_only=True)
class Operation:
    """What a patch does to one file.

    Attributes:
        kind: ``add``, ``delete`` or ``update``.
        path, move_to: As written.
        content: Lines of a file to add.
        hunks: Changes of an update, in the order of the file.
        number: Line of the patch where it starts, from 1.
    """

    kind: Literal["add", "delete", "update"]
    path: str
    number: int
    move_to: str | None = None
    content: tuple[str, ...] = ()
    hunks: tuple[Hunk, ...] = ()


def _wrong(number: int, text: str) -> Fault:
    message = f"Patch line {number}: {text} Nothing was changed."
    return Fault(message, kind="invalid", code="files.patch_syntax", pointer="/patch")


def parse(text: str) -> tuple[Operation, ...]:
    """Read a patch; what is not in its grammar is refused with the line's number."""
    if len(text) > LARGEST:
        raise _wrong(1, f"the patch has more than {LARGEST:,} characters; split it.")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) > MOST_LINES:
        raise _wrong(MOST_LINES, f"more than {MOST_LINES:,} lines; split the patch.")
    return _Reader(lines).patch()


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.hunks = 0

    @property
    def here(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def patch(self) -> tuple[Operation, ...]:
        while self.here is not None and not self.here.strip():
            self.at += 1
        if self.here is None or self.here.rstrip() != _BEGIN:
            raise _wrong(self.at + 1, f"a patch starts with the line {_BEGIN!r}.")
        self.at += 1
        operations: list[Operation] = []
        while self.here is not None and self.here.rstrip() != _END:
            operations.append(self.section())
            if len(operations) > MOST_OPERATIONS:
                text = f"more than {MOST_OPERATIONS} files; split the patch."
                raise _wrong(self.at, text)
        if self.here is None:
            raise _wrong(len(self.lines), f"the line {_END!r} is missing at the end.")
        if self.at + 1 != len(self.lines):
            raise _wrong(self.at + 2, f"there is text after the line {_END!r}.")
        if not operations:
            raise _wrong(self.at + 1, "the patch names no file.")
        return tuple(operations)

    def section(self) -> Operation:
        line, number = self.here or "", self.at + 1
        for prefix, kind in _SECTIONS.items():
            if line.startswith(prefix):
                path = self.path(line[len(prefix) :])
                self.at += 1
                if kind == "add":
                    return self.add(path, number)
                if kind == "update":
                    return self.update(path, number)
                return Operation(kind=kind, path=path, number=number)
        known = ", ".join(repr(prefix.strip()) for prefix in _SECTIONS)
        raise _wrong(number, f"expected one of {known} or {_END!r}, got {line[:80]!r}.")

    def path(self, text: str) -> str:
        path = text.strip()
        if not path:
            raise _wrong(self.at + 1, "the path is empty.")
        return path

    def add(self, path: str, number: int) -> Operation:
        content: list[str] = []
        while self.here is not None and not self.here.startswith("*** "):
            if not self.here.startswith("+"):
                raise _wrong(self.at + 1, "every line of an added file starts with '+'.")
            content.append(self.here[1:])
            self.at += 1
        if not content:
            raise _wrong(number, "an added file needs at least one line that starts with '+'.")
        return Operation(kind="add", path=path, number=number, content=tuple(content))

    def update(self, path: str, number: int) -> Operation:
        move_to = None
        if self.here is not None and self.here.startswith(_MOVE):
            move_to = self.path(self.here[len(_MOVE) :])
            self.at += 1
        hunks: list[Hunk] = []
        while self.here is not None and not self.here.startswith("*** "):
            hunks.append(self.hunk())
            self.hunks += 1
            if self.hunks > MOST_HUNKS:
                raise _wrong(self.at, f"more than {MOST_HUNKS} hunks; split the patch.")
        if not hunks and move_to is None:
            raise _wrong(number, "an update needs a hunk (a line '@@') or a '*** Move to:'.")
        return Operation(
            kind="update", path=path, number=number, move_to=move_to, hunks=tuple(hunks)
        )

    def hunk(self) -> Hunk:
        number = self.at + 1
        locators: list[str] = []
        if not (self.here or "").startswith("@@"):
            raise _wrong(number, "a hunk starts with a line '@@' or '@@ a line of the file'.")
        while self.here is not None and self.here.startswith("@@"):
            if locator := self.here[2:].removeprefix(" ").removesuffix(" @@"):
                locators.append(locator)
            self.at += 1
        lines: list[tuple[str, str]] = []
        while self.here is not None and not self.here.startswith(("@@", "*** ")):
            if self.here and self.here[0] not in " +-":
                text = (
                    "a line of a hunk starts with a space (stays), '-' (goes) or '+' (comes)."
                )
                raise _wrong(self.at + 1, text)
            # An empty line is an empty line that stays: editors strip the space.
            lines.append((self.here[:1] or " ", self.here[1:]))
            self.at += 1
        at_end = self.here is not None and self.here.rstrip() == _EOF
        self.at += at_end
        if not lines and not locators:
            raise _wrong(number, "the hunk is empty.")
        return Hunk(locators=tuple(locators), lines=tuple(lines), at_end=at_end, number=number)
