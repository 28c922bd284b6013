"""The stage *record*: a ledger with a hash chain for each conversation."""

from __future__ import annotations

from .approvals import Batch, Inquiry
from .chain import Anchor, Entry, Fault, check_export
from .facts import Replay
from .ledger import Ledger
from .queries import Event, Tail
from .replays import Unfinished
from .retention import Pruned
from .stage import begin, end


__all__ = [
    "Anchor",
    "Batch",
    "Entry",
    "Event",
    "Fault",
    "Inquiry",
    "Ledger",
    "Pruned",
    "Replay",
    "Tail",
    "Unfinished",
    "begin",
    "check_export",
    "end",
]
