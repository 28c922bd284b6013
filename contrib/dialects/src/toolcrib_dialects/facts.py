"""What several providers have in common."""

from __future__ import annotations

import hashlib
import re

from toolcrib import Call
from toolcrib.projection import Profile, made_id


__all__ = ["PLAIN", "hashed_id"]

# Every keyword is taken as advice, but definitions are often not looked at, so they are
# written out; only what is recursive is still referred to.
PLAIN = Profile(name="lax", refs="inline", merges=True)


def hashed_id(call: Call, accepted: re.Pattern[str], prefix: str, length: int) -> str:
    """Return an id that the provider accepts; a foreign one is hashed, the same always."""
    known = made_id(call)
    if accepted.fullmatch(known):
        return known
    digest = hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()
    return prefix + digest[: length - len(prefix)]
