"""One thing that is wrong with a value, told so that a model can mend it."""

from __future__ import annotations

import attrs


__all__ = ["MOST_ALLOWED", "Problem"]

MOST_ALLOWED = 20


@attrs.frozen
class Problem:
    """One thing that is wrong with a value; every text is short.

    Attributes:
        pointer: JSON pointer of the value.
        keyword: The keyword of the schema that refuses it.
        expected: What would be right, such as ``an integer``.
        sent: What was sent, shortened; empty where nothing was.
        allowed: The values or names that are allowed, at most 20 of them.
        hint: What was probably meant.
    """

    pointer: str
    keyword: str
    expected: str
    sent: str = ""
    allowed: tuple[str, ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.pointer or '/'}: {self.expected}"
        if self.sent:
            text += f", got {self.sent}"
        if self.allowed:
            text += f". Allowed: {', '.join(self.allowed)}"
        return f"{text}. {self.hint}" if self.hint else text
