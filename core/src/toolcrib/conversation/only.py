"""The tools that a sub-agent is given."""

from __future__ import annotations

import fnmatch

from collections.abc import Collection, Iterable, Iterator


__all__ = ["Only"]


class Only(Collection[str]):
    """Tool ids that some patterns name and another collection holds.

    Tools of live sources come and go, so the patterns are kept, not what they name now.
    """

    def __init__(self, patterns: Iterable[str], within: Collection[str] | None) -> None:
        self._patterns = frozenset(patterns)
        self._loose = tuple(p for p in self._patterns if "*" in p)
        self._within = within

    def __contains__(self, tool_id: object) -> bool:
        if self._within is not None and tool_id not in self._within:
            return False
        return tool_id in self._patterns or any(
            fnmatch.fnmatchcase(str(tool_id), pattern) for pattern in self._loose
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._patterns)

    def __len__(self) -> int:
        return len(self._patterns)
