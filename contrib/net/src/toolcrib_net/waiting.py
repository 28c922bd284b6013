"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


__all__ = ["retry_after"]

_NONSENSE = 86_400.0


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that ``Retry-After`` asks for, or None if it says nothing usable.

    Args:
        value: The header's value: seconds, or a date.
        now: Seconds since the epoch.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:12])
    else:
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        seconds = max(0.0, date.timestamp() - now)
    return seconds if seconds <= _NONSENSE else None
