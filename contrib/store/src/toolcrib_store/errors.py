"""What a store says when it cannot do what it was asked."""

from __future__ import annotations

from typing import Literal


__all__ = ["BusyError", "DatabaseError", "StoreError"]


class DatabaseError(Exception):
    """Raised when a file cannot be used; it is as it was before."""


class BusyError(DatabaseError):
    """Raised when others held a file for writing for too long; trying again may do."""


class StoreError(Exception):
    """Raised when something cannot be done as things are; the text says what would be legal.

    Attributes:
        code: Stable dotted word.
        text: What is the case, and what to do instead.
        kind: How a call that meets it ends.
        pointer: JSON pointer of the argument that is at fault, where ``kind`` is invalid.
    """

    def __init__(
        self,
        code: str,
        text: str,
        *,
        kind: Literal["invalid", "not_found", "refused", "busy"] = "refused",
        pointer: str = "",
    ) -> None:
        self.code = code
        self.text = text
        self.kind = kind
        self.pointer = pointer
        super().__init__(f"{code}: {text}")
