"""*Discover*: read what is installed, import nothing."""

from __future__ import annotations

from .findings import Finding, Findings
from .stage import discover, local_finding


__all__ = [
    "Finding",
    "Findings",
    "discover",
    "local_finding",
]
