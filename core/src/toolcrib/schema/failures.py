"""What the parts of this package raise to each other; none of it gets out."""

from __future__ import annotations


__all__ = ["PatternError", "UndecidableError", "UnresolvedError"]


class PatternError(ValueError):
    """Raised when a pattern is not enforced by Python's engine.

    ``elsewhere`` tells whether another engine may still take it.
    """

    def __init__(self, text: str, *, elsewhere: bool = False) -> None:
        self.elsewhere = elsewhere
        super().__init__(text)


class UndecidableError(Exception):
    """Raised when a schema holds a pattern that only another engine can match."""


class UnresolvedError(ValueError):
    """Raised when a reference leads nowhere, or out of the document."""
