"""What went wrong in functions that no call waits for, so that people can be told later.

A lifecycle function that fails is left out and harms nothing else, so somebody has to
be told: the app by the news, and the operator by ``toolcrib doctor``, which runs in
another process and reads the file that is kept here.
"""

from __future__ import annotations

import contextlib
import json
import os

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs


__all__ = ["Health", "Trouble", "read"]

FILE = "troubles.json"

_MOST = 64
_LONGEST = 500
_LARGEST = 1 << 20


@attrs.frozen
class Trouble:
    """One function that failed, and when it last did."""

    tool_id: str
    function: str
    problem: str
    time: float
    count: int = 1


class Health:
    """The troubles of one toolbox; of one function only the last is kept."""

    def __init__(self) -> None:
        self._troubles: dict[tuple[str, str], Trouble] = {}
        self._mended: set[tuple[str, str]] = set()

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What failed and has not worked since, oldest first."""
        return tuple(self._troubles.values())

    def failed(self, tool_id: str, function: str, problem: str, time: float) -> None:
        """Note that a function failed."""
        key = (tool_id, function)
        before = self._troubles.pop(key, None)
        count = before.count + 1 if before is not None else 1
        self._troubles[key] = Trouble(tool_id, function, problem[:_LONGEST], time, count)
        self._mended.discard(key)
        while len(self._troubles) > _MOST:
            del self._troubles[next(iter(self._troubles))]

    def worked(self, tool_id: str, function: str) -> None:
        """Note that a function worked, so that its troubles are over."""
        self._troubles.pop((tool_id, function), None)
        self._mended.add((tool_id, function))

    def store(self, state: Path) -> None:
        """Write the file for the doctor; without troubles, old or new, there is none."""
        if not (self._troubles or self._mended):
            return
        file = state / FILE
        before = read(state)
        kept = {(t.tool_id, t.function): t for t in before}
        for key in self._mended:
            kept.pop(key, None)
        kept.update(self._troubles)
        now = tuple(kept.values())[-_MOST:]
        # What cannot be written here has been said in the news and in the log.
        with contextlib.suppress(OSError):
            if now == before:
                return
            if not now:
                file.unlink(missing_ok=True)
                return
            _replace(file, json.dumps([attrs.asdict(t) for t in now], indent=1))


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f".{FILE}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def read(state: Path) -> tuple[Trouble, ...]:
    """Return the troubles that earlier toolboxes left; what is no such file is passed over."""
    try:
        with (state / FILE).open("rb") as stream:
            data = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return ()
    return tuple(_troubles(data if isinstance(data, list) else ()))


def _troubles(items: Iterable[Any]) -> Iterable[Trouble]:
    for item in items:
        try:
            yield Trouble(
                str(item["tool_id"]),
                str(item["function"]),
                str(item["problem"])[:_LONGEST],
                float(item["time"]),
                int(item["count"]),
            )
        except (KeyError, TypeError, ValueError):
            continue
