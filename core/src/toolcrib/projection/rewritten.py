"""What became of a schema in one form of a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs


if TYPE_CHECKING:
    from .inverse import Inverse
    from .losses import Loss


__all__ = ["Rewritten"]


# Not frozen: it lives a moment, and frozen ones take twice as long to make.
@attrs.define(kw_only=True)
class Rewritten:
    """A schema as one form of a dialect says it.

    Attributes:
        schema: What is sent.
        inverse: How to undo it, or None when nothing was rewritten.
        losses: What it does not carry.
        notes: Sentences for the tool's description.
        strict: Whether the form is strict.
        optional, unions: What it takes of a request's budget.
    """

    schema: dict[str, Any]
    inverse: Inverse | None
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]
    strict: bool
    optional: int = 0
    unions: int = 0
