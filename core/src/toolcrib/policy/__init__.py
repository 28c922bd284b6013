"""What a user decided: the value, its file, and what a workspace may say."""

from __future__ import annotations

from .value import Hide, Limits, Notice, Policy, RetryPolicy, SecretBinding


__all__ = [
    "Hide",
    "Limits",
    "Notice",
    "Policy",
    "RetryPolicy",
    "SecretBinding",
]
