"""What is remembered of a sub-agent beside its job: its line, and its worktree."""

from __future__ import annotations

import attrs


__all__ = ["Run"]


@attrs.frozen(kw_only=True)
class Run:
    """One run of a sub-agent.

    Attributes:
        root: Job of the first run of its line.
        resumed_from: Job that it goes on from.
        depth: How often it was resumed.
        worktree, branch, base: Its own copy of the repository, if it has one.
        settled: What became of that.
    """

    job: str
    owner: str
    type: str
    description: str
    root: str
    resumed_from: str | None = None
    depth: int = 0
    worktree: str | None = None
    branch: str | None = None
    base: str | None = None
    settled: str | None = None
    created: float = 0.0
