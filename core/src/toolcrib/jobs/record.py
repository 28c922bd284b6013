"""What is known of a job."""

from __future__ import annotations

from typing import Any, Literal

import attrs


__all__ = ["FINAL", "JobRecord", "JobStatus", "LostError"]

JobStatus = Literal["running", "done", "failed", "stopped", "lost"]

FINAL = frozenset({"done", "failed", "stopped", "lost"})
"""States that never change again."""


class LostError(Exception):
    """Raised by a kind that cannot take a job up again; the text says what is known."""


@attrs.frozen(kw_only=True)
class JobRecord:
    """A job as it is at one moment.

    Attributes:
        owner: The conversation that started it; nobody else sees it.
        size: Bytes of output written so far.
        kept_from: Offset of the oldest byte of output that is still kept.
        result: JSON-safe value of a job that is done.
        error: Why it failed.
        started, ended: Seconds since the epoch.
    """

    id: str
    kind: str
    owner: str
    status: JobStatus = "running"
    size: int = 0
    kept_from: int = 0
    result: Any = attrs.field(default=None, hash=False)
    error: str | None = None
    started: float
    ended: float | None = None
