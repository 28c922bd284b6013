"""What a toolbox works out once, when it is opened: what is its own, and what is locked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from . import places
from .errors import PolicyError
from .vocabulary import Idempotence


if TYPE_CHECKING:
    from .catalog.stage import Catalog
    from .context import Clock
    from .jobs import MemoryJobs
    from .jobs.durable import DurableJobs
    from .lock import Gate
    from .policy.value import Policy
    from .record.replays import Unfinished


__all__ = ["gate_of", "jobs_of", "may_resume", "own_paths"]


def jobs_of(policy: Policy, clock: Clock, state: Path) -> MemoryJobs | DurableJobs:
    """Return where jobs are kept: what is recorded on disk has jobs that outlive us too."""
    if policy.ledger is None:
        from .jobs import MemoryJobs  # noqa: PLC0415 - one of the two is needed

        return MemoryJobs(clock)
    from .jobs.durable import DurableJobs  # noqa: PLC0415 - as above

    return DurableJobs(clock, state / "jobs")


def may_resume(catalog: Catalog, call: Unfinished) -> bool:
    """Tell whether a call that a dead process began may be taken over when it comes."""
    entry = catalog.tools.get(call.tool_id)
    return (
        entry is not None
        and entry.tool.idempotent is not Idempotence.NO
        and entry.tool.definition_digest == call.definition_digest
    )


def own_paths(policy: Policy, root: Path, state: Path) -> list[Path]:
    """Return what no tool may change: policy, trust, lock, ledger, artifacts, jobs.

    Args:
        policy: What is enabled and allowed.
        root: The workspace.
        state: The folder of toolcrib's own state.
    """
    own = [
        places.config_folder(),
        root / places.POLICY_FILE,
        root / places.LOCK_FILE,
        state / "trusted.json",
        state / "artifacts",
        state / "jobs",
    ]
    if policy.file is not None:
        own += [policy.file, policy.file.with_name(places.LOCK_FILE)]
    if policy.ledger is not None:
        ledger = policy.ledger
        own += [ledger.with_name(ledger.name + end) for end in ("", "-wal", "-shm", ".runs")]
    return own


def gate_of(policy: Policy) -> Gate | None:
    """Return what lets only locked packs be activated, where there is a lock.

    Raises:
        PolicyError: packs that may change and a lock exclude each other.
    """
    file = policy.file
    place = file.with_name(places.LOCK_FILE) if file is not None else None
    if place is None or not place.exists():
        return None
    from . import lock  # noqa: PLC0415 - only with a lock

    if policy.develop:
        text = f"develop and a lock exclude each other; remove {place} or --develop"
        raise PolicyError(text, file=file, key="develop")
    approved = lock.read(place)
    return lock.Gate(approved) if approved is not None else None
