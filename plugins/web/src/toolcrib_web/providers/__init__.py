"""Search providers behind one small interface."""

from __future__ import annotations

from .base import Asking, Found, Provider, ProviderError, Query
from .registry import DESTINATIONS, make


__all__ = ["DESTINATIONS", "Asking", "Found", "Provider", "ProviderError", "Query", "make"]
