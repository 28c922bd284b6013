"""Exit codes: one table, shown by ``toolcrib --help``; 0 only where all is well."""

from __future__ import annotations

from collections.abc import Iterable


__all__ = ["EXIT", "MEANINGS", "of_calls", "table"]

MEANINGS = {
    "ok": (0, "everything is as it should be; every call ended ok"),
    "not_ok": (1, "something is wrong; calls failed in different ways"),
    "usage": (2, "wrong use, or input that cannot be read"),
    "policy": (3, "a policy or lock file cannot be used"),
    "ledger": (4, "the ledger cannot be used"),
    "invalid": (10, "the arguments are wrong"),
    "unknown_tool": (11, "there is no such tool"),
    "refused": (12, "a rule, guard or person said no"),
    "needs_approval": (13, "a person must decide, and nobody answered"),
    "unavailable": (14, "the tool is not available"),
    "busy": (15, "too much is asked at once"),
    "not_found": (16, "what the call names does not exist"),
    "failed": (17, "the tool failed"),
    "timeout": (18, "the deadline passed"),
    "cancelled": (19, "the call was cancelled"),
    "uncertain": (20, "the effect may have happened"),
    "crash": (70, "a fault of toolcrib itself"),
    "interrupted": (130, "interrupted by Ctrl-C"),
    "closed": (141, "nobody reads standard output any more"),
    "terminated": (143, "ended by SIGTERM"),
}
"""Name → exit code and what it says. Statuses of calls have their own."""

EXIT = {name: code for name, (code, _) in MEANINGS.items()}


def of_calls(statuses: Iterable[str]) -> int:
    """Return the exit code of calls: of the status that all failures share, or 1."""
    failed = set(statuses) - {"ok"}
    if len(failed) > 1:
        return EXIT["not_ok"]
    return EXIT[failed.pop()] if failed else EXIT["ok"]


def table() -> str:
    """Return the codes as lines of text."""
    lines = [f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.values()]
    return "\n".join(["Exit codes:", *lines])
