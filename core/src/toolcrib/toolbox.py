"""The façade that threads one value through the seven stages; it alone knows them all."""

from __future__ import annotations

import asyncio
import logging
import secrets as random

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import crib, permission, projection
from .activation import Activator
from .artifacts import ArtifactStore
from .catalog import compose
from .discovery import discover
from .errors import StageError
from .events import Event, EventLog
from .execution import Scheduler, Threads
from .host import Folder, Host, NobodyAsks, SystemClock
from .jobs import MemoryJobs
from .lifetimes import Lifetimes
from .names import closest
from .codes import refuse
from .outcome import Refusal
from .policy import Policy
from .record import Ledger
from .session import Session
from .validator import Validators
from .view import View
from .vocabulary import Audience, Mode


if TYPE_CHECKING:
    from .activation import ActivePack
    from .call import Call
    from .catalog import Catalog
    from .context import Agents, Ask, Clock, Jobs
    from .tool import Tool


__all__ = ["Toolbox"]


class Toolbox:
    """The tools that a policy allows, ready for sessions.

    Args:
        policy: What is enabled and what is allowed; nothing at all by default.
        clock, ask, jobs, agents: Parts of the host; small real defaults without them.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        clock: Clock | None = None,
        ask: Ask | None = None,
        jobs: Jobs | None = None,
        agents: Agents | None = None,
    ) -> None:
        self.policy = policy if policy is not None else Policy()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.ask: Ask = ask if ask is not None else NobodyAsks()
        self.jobs: Jobs = jobs if jobs is not None else MemoryJobs(self.clock)
        self.agents = agents
        self.validators = Validators()
        self.lifetimes = Lifetimes("toolbox")
        self.news = EventLog()
        self._sessions: set[Session] = set()
        self._open = False
