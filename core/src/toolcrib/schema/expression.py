"""The parts of a parsed pattern."""

from __future__ import annotations

import attrs

from .charsets import Ranges


__all__ = ["Alt", "Assert", "Expression", "Look", "Loop", "Seq", "Set"]


@attrs.frozen
class Set:
    """One character of a set."""

    ranges: Ranges


@attrs.frozen
class Assert:
    """Something that matches no character: a start, an end or a word boundary."""

    python: str


@attrs.frozen
class Seq:
    """One part after another."""

    parts: tuple[Expression, ...]


@attrs.frozen
class Alt:
    """One of several."""

    options: tuple[Expression, ...]


@attrs.frozen
class Look:
    """A look ahead."""

    body: Expression
    negative: bool


@attrs.frozen
class Loop:
    """A repetition; ``most`` is None without an upper bound."""

    body: Expression
    least: int
    most: int | None
    lazy: bool = attrs.field(kw_only=True, default=False)


Expression = Set | Assert | Seq | Alt | Look | Loop
