"""What two texts have in common that somebody could take for one another."""

from __future__ import annotations

import unicodedata


__all__ = ["fold"]


def fold(text: str) -> str:
    """Return what texts that somebody could take for one another have in common.

    Letter case, width, composition and invisible characters are gone. Two texts with
    one folded form may still be two things: only what denies or asks looks at it.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", text.casefold())
