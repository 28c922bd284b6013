"""The names of the rules."""

from __future__ import annotations


__all__ = ["LOSSLESS", "OPTIONAL"]

LOSSLESS = frozenset(f"R{number}" for number in range(1, 12))
# Not lossless in every case, and used only for those who ask.
OPTIONAL = frozenset({"R12", "R13"})
