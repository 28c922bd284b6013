"""What a doctor finds: one thing that was looked at, how it is, what mends it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import attrs


__all__ = ["Sign", "State"]

State = Literal["ok", "note", "warn", "fail"]


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.frozen(kw_only=True)
class Sign:
    """One thing that was looked at.

    Attributes:
        area: What it is about.
        state: ``ok``; ``note``: good to know; ``warn``: may be meant; ``fail``: wrong.
        text: What was found.
        code: The code of a refusal, or empty.
        mend: Commands or lines that mend it.
    """

    area: str
    state: State
    text: str
    code: str = ""
    mend: tuple[str, ...] = attrs.field(default=(), converter=_texts)

    def data(self) -> dict[str, Any]:
        """Return it as a JSON-safe value."""
        return attrs.asdict(self) | {"mend": list(self.mend)}
