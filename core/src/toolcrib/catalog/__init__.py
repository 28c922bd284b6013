"""*Compose*: findings and policy become an immutable catalog."""

from __future__ import annotations

from .stage import Available, Catalog, Changes, Entry, Live, changes, compose


__all__ = [
    "Available",
    "Catalog",
    "Changes",
    "Entry",
    "Live",
    "changes",
    "compose",
]
