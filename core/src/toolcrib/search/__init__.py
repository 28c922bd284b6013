"""Find tools by words, without a model and without a server."""

from __future__ import annotations

from .index import Hit, SearchIndex
from .lexicon import words


__all__ = ["Hit", "SearchIndex", "words"]
