"""Jobs: everything that outlives a call, of every kind, behind one protocol.

A *kind* (a sub-agent, a background process, a remote task) is something with a name
and a ``run(control, arguments)`` coroutine. :class:`MemoryJobs` keeps jobs in memory;
``toolcrib.jobs.durable`` keeps them in a folder, with the same methods.
"""

from __future__ import annotations

from .control import DurableControl, JobControl
from .identity import start_of
from .kind import AdoptingKind, JobKind
from .log import JobLog
from .memory import MemoryJobs
from .owned import OwnedJobs
from .record import FINAL, JobRecord, LostError


__all__ = [
    "FINAL",
    "AdoptingKind",
    "DurableControl",
    "JobControl",
    "JobKind",
    "JobLog",
    "JobRecord",
    "LostError",
    "MemoryJobs",
    "OwnedJobs",
    "start_of",
]
